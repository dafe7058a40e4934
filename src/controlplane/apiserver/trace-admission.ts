import type { KubeObject } from "../../apimachinery/api/meta.js";
import { StatusError } from "../../apimachinery/errors.js";
import type { Trace } from "../../trace/trace.js";
import { isRecord } from "../../util/records.js";
import type { AdmissionAttributes, AdmissionPlugin } from "../auth/contracts.js";

const UPSTREAM = { file: "staging/src/k8s.io/apiserver/pkg/admission/chain.go", func: "chainAdmissionHandler.Admit" };
/** The `-v` level from which a terminal shows the API server's decision on each request. */
const LEVEL = 3;
const MAX_PATHS = 5;

/** Wraps admission plugins to report what they change and refuse. */
export function traceAdmission(plugins: readonly AdmissionPlugin[], trace: Trace): AdmissionPlugin[] {
  return plugins.map((plugin) => tracePlugin(plugin, trace));
}

function tracePlugin(plugin: AdmissionPlugin, trace: Trace): AdmissionPlugin {
  const report = (what: string, why: string, { auditId }: AdmissionAttributes) =>
    trace.emit(
      { kind: "decision", what, why, upstream: UPSTREAM, ...(auditId === undefined ? {} : { auditId }) },
      { actor: "apiserver", level: LEVEL },
    );
  const refused = (error: unknown, attributes: AdmissionAttributes): never => {
    if (error instanceof StatusError)
      report(`refuse ${subject(attributes)}`, `${plugin.name}: ${error.message}`, attributes);
    throw error;
  };
  const changed = (attributes: AdmissionAttributes, before: KubeObject | undefined, after: KubeObject | undefined) => {
    const paths = after === undefined || after === before ? [] : changedPaths(before, after);
    if (paths.length > 0) report(`change ${subject(attributes)}`, `${plugin.name}: ${list(paths)}`, attributes);
    return after;
  };
  const { admit, validate } = plugin;
  const traced: AdmissionPlugin = { name: plugin.name };
  if (plugin.handles !== undefined) traced.handles = plugin.handles.bind(plugin);
  // Every write passes here, so plugins are not wrapped unless the trace listens.
  if (admit !== undefined) {
    const trail = async (attributes: AdmissionAttributes) => {
      const { object } = attributes;
      try {
        return changed(attributes, object, await admit.call(plugin, attributes));
      } catch (error) {
        return refused(error, attributes);
      }
    };
    traced.admit = (attributes) => (trace.wants(LEVEL) ? trail(attributes) : admit.call(plugin, attributes));
  }
  if (validate !== undefined) {
    traced.validate = (attributes) => {
      const asked = validate.call(plugin, attributes);
      return trace.wants(LEVEL) ? asked.catch((error: unknown) => refused(error, attributes)) : asked;
    };
  }
  return traced;
}

/** `create of pods default/web` */
function subject({ operation, resource, subresource, namespace, name }: AdmissionAttributes): string {
  const what = subresource === "" ? resource : `${resource}/${subresource}`;
  return `${operation.toLowerCase()} of ${what} ${namespace === "" ? name : `${namespace}/${name}`}`;
}

function list(paths: readonly string[]): string {
  const shown = paths.slice(0, MAX_PATHS).join(", ");
  return paths.length > MAX_PATHS ? `${shown} and ${paths.length - MAX_PATHS} more` : shown;
}

/** Names of the fields that differ, two levels deep: `spec.tolerations`. Values are not reported. */
function changedPaths(before: KubeObject | undefined, after: KubeObject): string[] {
  const paths: string[] = [];
  for (const [section, value] of Object.entries(after)) {
    const old = before?.[section];
    if (value === old) continue;
    if (!isRecord(value) || !isRecord(old)) paths.push(section);
    else for (const key of Object.keys(value)) if (value[key] !== old[key]) paths.push(`${section}.${key}`);
  }
  return paths;
}
