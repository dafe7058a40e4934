import type { V1Container, V1EnvVar, V1PodSpec } from "@kubernetes/client-node";
import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { threeWayMergePatch } from "../../../staging/apimachinery/patch/three-way-merge-patch.js";
import { typeNameOf } from "../../../staging/apimachinery/scheme/scheme.js";
import type { Wire } from "../../../staging/apimachinery/wire.js";
import { MessageError } from "../../../util/i18n/message-error.js";
import { type Info, namedBy, visit } from "../builder.js";
import { type KubectlLine, text } from "../flags.js";
import { lineError } from "../line-error.js";
import type { Session } from "../session.js";
import { pairsOf } from "./create.js";
import { sendPatch } from "./patch.js";

type PodSpec = Wire<V1PodSpec>;
type Container = Wire<V1Container>;

const NO_IMAGE = "at least one image update is required";
/** kubectl prints nothing then. */
const NO_ENV = "at least one environment variable must be provided";
const NO_AMOUNT = "you must specify an update to requests or limits (in the form of --requests/--limits)";

/**
 * `kubectl set image deployment/web main=nginx:1.25`; `*` is every container.
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/set/set_image.go (Run).
 */
export async function setImage(session: Session, line: KubectlLine): Promise<void> {
  const images = new Map(pairsOf(line.words.filter(isPair), "set image"));
  await setInTemplate(session, line, "image updated", images.size > 0 || NO_IMAGE, (spec) => {
    const all = [...spec.containers, ...(spec.initContainers ?? [])];
    const missing = [...images.keys()].find((name) => name !== "*" && !all.some((one) => one.name === name));
    if (missing !== undefined) {
      throw failed(`unable to find container named "${missing}"`, all);
    }
    const changed = (one: Container): Container => {
      const image = images.get(one.name) ?? images.get("*");
      return image === undefined ? one : { ...one, image };
    };
    const initContainers = spec.initContainers?.map(changed);
    return {
      ...spec,
      containers: spec.containers.map(changed),
      ...(initContainers === undefined ? {} : { initContainers }),
    };
  });
}

/**
 * `kubectl set env deployment web KEY=value OTHER-`, for every container or that of `-c`.
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/set/set_env.go (RunEnv).
 */
export async function setEnv(session: Session, line: KubectlLine): Promise<void> {
  const removed = line.words.filter((word) => word.endsWith("-")).map((word) => word.slice(0, -1));
  const given = pairsOf(line.words.filter(isPair), "set env").map(([name, value]) => ({ name, value }));
  const isGiven = removed.length + given.length > 0;
  await setInContainers(session, line, "env updated", isGiven || NO_ENV, (container) => {
    const before: readonly Wire<V1EnvVar>[] = container.env ?? [];
    const kept = before.filter(({ name }) => !removed.includes(name));
    const added = given.filter(({ name }) => !kept.some((one) => one.name === name));
    return { ...container, env: [...kept.map((one) => given.find(({ name }) => name === one.name) ?? one), ...added] };
  });
}

/**
 * `kubectl set resources deployment web --requests memory=1Gi --limits cpu=1`.
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/set/set_resources.go (Run).
 */
export async function setResources(session: Session, line: KubectlLine): Promise<void> {
  const amounts = (flag: "limits" | "requests") =>
    Object.fromEntries(pairsOf(text(line, flag)?.split(",") ?? [], `--${flag}`));
  const [limits, requests] = [amounts("limits"), amounts("requests")];
  const isGiven = Object.keys({ ...limits, ...requests }).length > 0;
  await setInContainers(session, line, "resource requirements updated", isGiven || NO_AMOUNT, (container) => {
    const { resources } = container;
    const merged = {
      ...resources,
      limits: { ...resources?.limits, ...limits },
      requests: { ...resources?.requests, ...requests },
    };
    return { ...container, resources: merged };
  });
}

/**
 * `kubectl set selector service web app=web,tier=front`: the whole selector.
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/set/set_selector.go (RunSelector).
 */
export async function setSelector(session: Session, line: KubectlLine): Promise<void> {
  const last = line.words.at(-1) ?? "";
  if (!isPair(last)) throw lineError(line.verb, "one selector is required");
  const selector = Object.fromEntries(pairsOf(last.split(","), "set selector"));
  const body = [{ op: "add", path: "/spec/selector", value: selector }];
  await visit(session, line, line.words.slice(0, -1), async (info) => {
    if (info.known.kind !== "Service") throw lineError(line.verb, "setting a selector is only supported for Services");
    await sendPatch(session, line, info, body, "application/json-patch+json", () => "selector updated");
  });
}

/** Changes all containers, or those of `-c`. */
function setInContainers(
  session: Session,
  line: KubectlLine,
  done: string,
  update: true | string,
  change: (container: Container) => Container,
): Promise<void> {
  const wanted = text(line, "containers") ?? "*";
  return setInTemplate(session, line, done, update, (spec) => {
    const isMeant = ({ name }: Container) => wanted === "*" || name === wanted;
    if (!spec.containers.some(isMeant)) throw failed(`no containers match ${wanted}`, spec.containers);
    return { ...spec, containers: spec.containers.map((one) => (isMeant(one) ? change(one) : one)) };
  });
}

/**
 * Changes the pod, or the pod's template, of each object of the line, and sends the difference.
 * @param update returns true, or the error of the line
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/set/helper.go (CalculatePatches) and UpdatePodSpecForObject.
 */
async function setInTemplate(
  session: Session,
  line: KubectlLine,
  done: string,
  update: true | string,
  change: (spec: PodSpec) => PodSpec,
): Promise<void> {
  // Its settings follow the objects: NAME=VALUE, NAME-.
  const words = line.words.filter((word) => !isPair(word) && !word.endsWith("-"));
  // Errors of the resources are reported first, as kubectl does.
  if (update !== true && (await namedBy(session, line, words)).length > 0) throw lineError(line.verb, update);
  await visit(session, line, words, async (info) => {
    const current = info.object;
    const modified = withPodSpec(info, change);
    const body = threeWayMergePatch(
      { original: current, modified, current },
      typeNameOf(current.apiVersion, current.kind),
    );
    if (Object.keys(body).length === 0) return;
    await sendPatch(session, line, info, body, "application/strategic-merge-patch+json", () => done);
  });
}

const isPair = (word: string): boolean => word.includes("=");

function withPodSpec({ object, known, name }: Info, change: (spec: PodSpec) => PodSpec): KubeObject {
  if (object.kind === "Pod") return { ...object, spec: change(object["spec"] as PodSpec) };
  const spec = object["spec"] as { template?: { spec?: PodSpec } } | undefined;
  if (spec?.template?.spec === undefined) {
    const shown = `${known.resource}/${name} the object is not a pod or does not have a pod template`;
    throw lineError("set", `${shown}: *${known.apiVersion.split("/").at(-1)}.${known.kind}`);
  }
  return { ...object, spec: { ...spec, template: { ...spec.template, spec: change(spec.template.spec) } } };
}

function failed(problem: string, containers: readonly Container[]): MessageError {
  const names = containers.map(({ name }) => name).join(", ");
  return new MessageError("FAILED", { verbatim: problem }, ["itHas", { names }]);
}
