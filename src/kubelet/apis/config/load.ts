import { dirname, isAbsolute, join } from "node:path";
import { decodeText, strictDecodingError } from "../../../staging/apimachinery/scheme/request.js";
import { LabError, messageOf } from "../../../util/errors.js";
import { readRegularFile } from "../../../util/os/read-at-most.js";
import { isRecord } from "../../../util/records.js";
import { isAtLeast } from "../../../util/release/facts.js";
import {
  CONFIG_FIELDS,
  type ConfigField,
  canonicalDurations,
  FIELD_SINCE,
  type KubeletConfigurationFields,
} from "./fields.js";

export const CONFIG_API_VERSION = "kubelet.config.k8s.io/v1beta1";
export const CONFIG_KIND = "KubeletConfiguration";
const SCHEME = "k8s.io/kubernetes/pkg/kubelet/apis/config/scheme/scheme.go:33";

/** A configuration file, decoded. */
export interface ConfigFile {
  /** absolute */
  readonly path: string;
  /** what the file sets, without what equals Go's zero value; durations as Go prints them */
  readonly fields: KubeletConfigurationFields;
  /** the fields that the file names, in the order of the type */
  readonly named: readonly ConfigField[];
  /** unknown and duplicate fields, in upstream's words; upstream warns and ignores them, as this kubelet does */
  readonly warning: string | undefined;
}

/**
 * Reads a file of the kubelet's --config. Relative paths in it become absolute, from the file's folder.
 *
 * Mirrors loadConfigFile in cmd/kubelet/app/server.go, Load in pkg/kubelet/kubeletconfig/configfiles/configfiles.go and
 * DecodeKubeletConfiguration in pkg/kubelet/kubeletconfig/util/codec/codec.go.
 * @throws LabError BAD_FILE
 */
export async function loadConfigFile(path: string, kubeVersion: string): Promise<ConfigFile> {
  const fail = (why: string, cause?: unknown) => {
    const message = `failed to load kubelet config file, error: ${why}, path: ${path}`;
    const hint = "`kubelab node config` prints a file with the defaults.";
    return new LabError("BAD_FILE", message, hint, cause === undefined ? {} : { cause });
  };
  let text: string;
  try {
    text = await readRegularFile(path);
  } catch (cause) {
    throw fail(`failed to read kubelet config file ${JSON.stringify(path)}, error: ${goReadError(path, cause)}`, cause);
  }
  if (text === "") throw fail(`kubelet config file ${JSON.stringify(path)} was empty`);
  try {
    const { fields, named, warnings } = await decodeKubeletConfiguration(text, kubeVersion);
    const warning =
      warnings.length === 0
        ? undefined
        : `using lenient decoding as strict decoding failed: ${strictDecodingError(warnings)}`;
    return { path, fields: withAbsolutePaths(fields, dirname(path)), named, warning };
  } catch (error) {
    throw fail(`failed to decode: ${messageOf(error)}`, error);
  }
}

/** `open /x: no such file or directory`, as Go says it. */
function goReadError(path: string, cause: unknown): string {
  const { code } = cause as NodeJS.ErrnoException;
  if (code === "ENOENT") return `open ${path}: no such file or directory`;
  if (code === "EACCES") return `open ${path}: permission denied`;
  return code === "EISDIR" ? `read ${path}: is a directory` : messageOf(cause);
}

async function decodeKubeletConfiguration(text: string, kubeVersion: string) {
  const { yamlToJson } = await import("../../../staging/apimachinery/yaml.js");
  const { json, strictErrors } = yamlToJson(text);
  const value: unknown = JSON.parse(json);
  checkKind(value, text);
  const { known, unknown } = knownIn(value, kubeVersion);
  const { object, warnings } = decodeText(
    JSON.stringify(known),
    known,
    CONFIG_KIND,
    "Warn",
    (problem) => new Error(problem),
  );
  const { kind: _kind, apiVersion: _version, ...fields } = object as Record<string, unknown>;
  return {
    fields: canonicalDurations(fields as KubeletConfigurationFields),
    named: CONFIG_FIELDS.filter((name) => Object.hasOwn(known, name)),
    warnings: [...strictErrors, ...warnings, ...unknown.map((name) => `unknown field ${JSON.stringify(name)}`)],
  };
}

/** Mirrors the errors of runtime.NewMissingKindErr, NewMissingVersionErr and NewNotRegisteredErrForKind. */
function checkKind(value: unknown, text: string): asserts value is Record<string, unknown> {
  if (!isRecord(value)) {
    const kind = Array.isArray(value) ? "array" : typeof value;
    throw new Error(`couldn't get version/kind; json parse error: json: cannot unmarshal ${kind} into Go value`);
  }
  const { kind = "", apiVersion = "" } = value;
  if (kind === "") throw new Error(`Object 'Kind' is missing in '${shortened(text)}'`);
  if (apiVersion === "") throw new Error(`Object 'apiVersion' is missing in '${shortened(text)}'`);
  if (kind === CONFIG_KIND && apiVersion === CONFIG_API_VERSION) return;
  throw new Error(`no kind "${String(kind)}" is registered for version "${String(apiVersion)}" in scheme "${SCHEME}"`);
}

/** How much of a file a message quotes. Upstream quotes it all. */
const MAX_QUOTED_CHARS = 80;

function shortened(text: string): string {
  return text.length <= MAX_QUOTED_CHARS ? text : `${text.slice(0, MAX_QUOTED_CHARS)}…`;
}

/** Sets apart the fields that only later releases know. */
function knownIn(value: Readonly<Record<string, unknown>>, kubeVersion: string) {
  const isLater = (name: string) => !isAtLeast(kubeVersion, FIELD_SINCE[name as ConfigField] ?? "1.0");
  const unknown = Object.keys(value).filter(isLater);
  return { known: Object.fromEntries(Object.entries(value).filter(([name]) => !isLater(name))), unknown };
}

/** Mirrors KubeletConfigurationPathRefs in pkg/kubelet/apis/config/helpers.go. */
function withAbsolutePaths(fields: KubeletConfigurationFields, root: string): KubeletConfigurationFields {
  const resolve = (path: string) => (isAbsolute(path) ? path : join(root, path));
  const out: Record<string, unknown> = { ...fields };
  for (const name of ["staticPodPath", "tlsCertFile", "tlsPrivateKeyFile", "resolvConf"] as const) {
    const path = fields[name];
    if (path !== undefined && path !== "") out[name] = resolve(path);
  }
  const { authentication } = fields;
  const clientCAFile = authentication?.x509?.clientCAFile;
  if (clientCAFile !== undefined)
    out["authentication"] = { ...authentication, x509: { clientCAFile: resolve(clientCAFile) } };
  return out;
}
