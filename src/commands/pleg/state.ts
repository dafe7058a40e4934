import type { Pleg } from "../../testbed/pleg/pleg.js";
import type { LabAction, LabRuntime, LabTarget } from "../../testbed/runtime/lab-runtime.js";
import { messageOf } from "../../util/errors.js";

/** The displayed state, and the answer of `GET /state`. */
export interface PageState {
  readonly runtime: string;
  /** empty for a real runtime, which is observed only */
  readonly actions: readonly LabAction[];
  readonly healthy: boolean;
  readonly health: string;
  readonly summary: Pleg["summary"];
  /** Unix ms; null until there is one */
  readonly cacheTimestampMs: number | null;
  readonly pods: readonly PagePod[];
  readonly omittedPods: number;
  readonly faults: readonly string[];
}

export interface PagePod {
  readonly uid: string;
  readonly name: string;
  readonly cache: string;
  readonly entries: readonly PageEntry[];
}

export interface PageEntry {
  readonly id: string;
  readonly kind: "container" | "sandbox";
  readonly name: string;
  /** as PLEG saw it last */
  readonly known: string;
  /** the current state in the lab's runtime; null for a real runtime */
  readonly actual: string | null;
}

/** The page shows this many pods. */
const MAX_PODS = 200;

/** Compares the pods that PLEG knows with the pods in the lab's runtime. */
export async function pageState(pleg: Pleg, runtime: string, lab: LabRuntime | undefined): Promise<PageState> {
  const targets = new Map((await lab?.targets())?.map((target) => [target.id, target]) ?? []);
  const pods = pleg.knownPods();
  const entry =
    (kind: PageEntry["kind"]) =>
    (one: { containerId: string; name?: string; state: string }): PageEntry => {
      const target = targets.get(one.containerId);
      targets.delete(one.containerId);
      const actual = lab === undefined ? null : (target?.state ?? "removed");
      return { id: one.containerId, kind, name: one.name ?? "sandbox", known: one.state, actual };
    };
  const shown = pods
    .slice(0, MAX_PODS)
    .map(({ podUid, namespace, name, sandboxes, containers }): PagePod => {
      const entries = [...containers.map(entry("container")), ...sandboxes.map(entry("sandbox"))];
      return { uid: podUid, name: `${namespace}/${name}`, cache: cacheText(pleg, podUid), entries };
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  return {
    runtime,
    actions: lab?.actions ?? [],
    healthy: pleg.healthy().healthy,
    health: healthText(pleg),
    summary: pleg.summary,
    cacheTimestampMs: pleg.cache.timestampMs ?? null,
    pods: [...shown, ...unseen([...targets.values()])],
    omittedPods: Math.max(0, pods.length - MAX_PODS),
    faults: lab?.faults() ?? [],
  };
}

/** The parts of the lab's runtime that no relist has seen yet. */
function unseen(targets: readonly LabTarget[]): PagePod[] {
  if (targets.length === 0) return [];
  const entries = targets.map(({ id, kind, pod, name, state }) => ({
    id,
    kind,
    name: `${pod} ${name}`,
    known: "not seen yet",
    actual: state,
  }));
  return [{ uid: "", name: "not seen yet", cache: "nothing", entries }];
}

/** `healthy`, or the problem with its reason. */
export function healthText(pleg: Pleg): string {
  const health = pleg.healthy();
  return health.healthy ? "healthy" : `${health.message}. Cause: ${health.cause}`;
}

/** The status of a pod that a pod worker would read. */
export function cacheText(pleg: Pleg, podUid: string): string {
  const { kind, status, error, modifiedMs } = pleg.cache.get(podUid);
  if (kind === "default") return "nothing";
  const at = new Date(modifiedMs).toISOString().slice(11, 23);
  if (status === undefined) return `${at} an error: ${messageOf(error)}`;
  const states = status.containerStatuses.map(({ name, state, exitCode }) =>
    state === "exited" ? `${name} exited ${exitCode}` : `${name} ${state}`,
  );
  return `${at} ${states.join(", ") || "no containers"}${status.ips.length > 0 ? `, IP ${status.ips.join(" ")}` : ""}`;
}
