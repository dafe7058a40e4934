import type { V1Container, V1PodSpec } from "@kubernetes/client-node";
import type { KubeObject } from "../../apimachinery/api/meta.js";
import type { Wire } from "../../apimachinery/wire.js";
import { MessageError } from "../../i18n/message-error.js";
import { type Info, visit } from "../builder.js";
import { type KubectlLine, text, unknown } from "../flags.js";
import type { Session } from "../session.js";
import { pairsOf } from "./create.js";
import { sendPatch } from "./patch.js";

type PodSpec = Wire<V1PodSpec>;
type Container = Wire<V1Container>;

const STRATEGIC = "application/strategic-merge-patch+json";

/**
 * `kubectl set image deployment/web main=nginx:1.25`; `*` is every container.
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/set/set_image.go (Run).
 */
export async function setImage(session: Session, line: KubectlLine): Promise<void> {
  const images = new Map(
    pairsOf(
      line.words.filter((word) => word.includes("=")),
      "set image",
    ),
  );
  await setInTemplate(session, line, "image updated", ({ containers, initContainers = [] }) => {
    const all = [...containers, ...initContainers];
    const missing = [...images.keys()].find((name) => name !== "*" && !all.some((one) => one.name === name));
    if (missing !== undefined) throw failed(`unable to find container named "${missing}"`);
    const changed = (list: readonly Container[]) =>
      list.flatMap(({ name }) =>
        images.has(name) || images.has("*") ? [{ name, image: images.get(name) ?? images.get("*") }] : [],
      );
    const inits = changed(initContainers);
    return { containers: changed(containers), ...(inits.length === 0 ? {} : { initContainers: inits }) };
  });
}

/**
 * `kubectl set env deployment web KEY=value OTHER-`, for every container or that of `-c`.
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/set/set_env.go (RunEnv).
 */
export async function setEnv(session: Session, line: KubectlLine): Promise<void> {
  const removed = line.words.filter((word) => word.endsWith("-")).map((word) => word.slice(0, -1));
  const given = pairsOf(
    line.words.filter((word) => word.includes("=")),
    "set env",
  );
  const env = [
    ...given.map(([name, value]) => ({ name, value })),
    ...removed.map((name) => ({ name, $patch: "delete" })),
  ];
  await setInTemplate(session, line, "env updated", (spec) => ({
    containers: chosen(spec, text(line, "containers")).map(({ name }) => ({ name, env })),
  }));
}

/**
 * `kubectl set resources deployment web --requests memory=1Gi --limits cpu=1`.
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/set/set_resources.go (Run).
 */
export async function setResources(session: Session, line: KubectlLine): Promise<void> {
  const amounts = (flag: "limits" | "requests") => {
    const list = text(line, flag);
    return list === undefined ? {} : { [flag]: Object.fromEntries(pairsOf(list.split(","), `--${flag}`)) };
  };
  const resources = { ...amounts("limits"), ...amounts("requests") };
  await setInTemplate(session, line, "resource requirements updated", (spec) => ({
    containers: chosen(spec, text(line, "containers")).map(({ name }) => ({ name, resources })),
  }));
}

function chosen({ containers }: PodSpec, name = "*"): readonly Container[] {
  const found = containers.filter((one) => name === "*" || one.name === name);
  if (found.length === 0) throw failed(`no containers match ${name}`);
  return found;
}

/**
 * `kubectl set selector service web app=web,tier=front`: the whole selector.
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/set/set_selector.go (RunSelector).
 */
export async function setSelector(session: Session, line: KubectlLine): Promise<void> {
  const selector = Object.fromEntries(pairsOf((line.words.at(-1) ?? "").split(","), "set selector"));
  await visit(session, line, line.words.slice(0, -1), async (info) => {
    if (info.known.kind !== "Service") throw unknown(`set selector ${info.known.resource}`);
    await sendPatch(
      session,
      info,
      [{ op: "add", path: "/spec/selector", value: selector }],
      "application/json-patch+json",
      "selector updated",
    );
  });
}

/** Patches the pod, or the pod's template, of each object of the line. Mirrors UpdatePodSpecForObject. */
async function setInTemplate(
  session: Session,
  line: KubectlLine,
  done: string,
  change: (spec: PodSpec) => Readonly<Record<string, unknown>>,
): Promise<void> {
  // What it sets comes after the objects: NAME=VALUE, NAME-.
  const words = line.words.filter((word) => !/=|-$/.test(word));
  await visit(session, line, words, async (info: Info) => {
    const { spec, wrap } = podSpecOf(info.object);
    await sendPatch(session, info, wrap(change(spec)), STRATEGIC, done);
  });
}

function podSpecOf({ kind, spec }: KubeObject): { spec: PodSpec; wrap: (spec: unknown) => unknown } {
  if (kind === "Pod") return { spec: spec as PodSpec, wrap: (spec) => ({ spec }) };
  const template = (spec as { template?: { spec?: PodSpec } } | undefined)?.template?.spec;
  if (template === undefined) throw unknown(`set on ${kind}`);
  return { spec: template, wrap: (spec) => ({ spec: { template: { spec } } }) };
}

function failed(problem: string): MessageError {
  return new MessageError("FAILED", { verbatim: problem }, ["seeAbove"]);
}
