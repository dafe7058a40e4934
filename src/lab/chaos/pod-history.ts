import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import type { WatchItem } from "../../staging/client-go/dynamic/interface.js";
import type { Violation } from "./invariants.js";

const PHASES = ["Pending", "Running", "Succeeded", "Failed"];

/** Whether its phase is final. */
export function isTerminal({ status }: V1Pod): boolean {
  return status.phase === "Succeeded" || status.phase === "Failed";
}

/** `default/web` */
export function podKey({ metadata: { namespace, name } }: V1Pod): string {
  return `${namespace}/${name}`;
}

/** The versions of all pods in their order, and the containers that run, judged as they come. */
export class PodHistory {
  readonly #pods = new Map<string, V1Pod>();
  /** those of a list that has not ended */
  #listed: Set<string> | undefined;
  /** for each container, `default/web/main`, where it runs */
  readonly #running = new Map<string, Map<string, string>>();

  constructor(readonly report: (violation: Violation) => void) {}

  /** Takes what a watch of pods says; a list, after an API server's restart too, has those that are left. */
  take(item: WatchItem<V1Pod>): void {
    if (item.type === "initDone") this.#endList();
    else if (item.type === "deleted") this.#remove(podKey(item.object), item.object);
    else this.#apply(item);
  }

  #apply(item: Extract<WatchItem<V1Pod>, { readonly type: "init" | "applied" }>): void {
    const key = podKey(item.object);
    if (item.type === "init") {
      this.#listed ??= new Set();
      this.#listed.add(key);
    }
    const before = this.#pods.get(key);
    this.#pods.set(key, item.object);
    if (before === undefined || before.metadata.uid !== item.object.metadata.uid) return;
    for (const violation of changeProblems(before, item.object)) this.report(violation);
  }

  #endList(): void {
    for (const [key, pod] of this.#pods) if (this.#listed?.has(key) !== true) this.#remove(key, pod);
    this.#listed = undefined;
  }

  #remove(key: string, last: V1Pod): void {
    const known = this.#pods.get(key);
    this.#pods.delete(key);
    const isMarked = [known, last].some((pod) => pod?.metadata.deletionTimestamp !== undefined);
    if (last.spec.nodeName === undefined || isMarked || isTerminal(last)) return;
    this.report({ invariant: "no-pod-lost", what: `pod ${key} vanished, and nobody had deleted it` });
  }

  /** A container changed its state in a runtime. */
  containerChanged(node: string, pod: string, name: string, containerId: string, isRunning: boolean): void {
    const key = `${pod}/${name}`;
    const places = this.#running.get(key) ?? new Map<string, string>();
    this.#running.set(key, places);
    if (!isRunning) return void places.delete(containerId);
    places.set(containerId, node);
    if (places.size > 1) {
      const where = [...places].map(([id, at]) => `${id.slice(0, 12)} on ${at}`).join(" and ");
      this.report({ invariant: "no-container-twice", what: `container ${key} runs twice: ${where}` });
    }
    const known = this.#pods.get(pod);
    if (known !== undefined && isTerminal(known)) {
      const what = `container ${key} started on ${node}, and its pod is ${known.status.phase}`;
      this.report({ invariant: "no-terminated-pod-restarted", what });
    }
  }

  /** The containers that run: `default/web/main`, ID and node. */
  get running(): readonly (readonly [key: string, containerId: string, node: string])[] {
    return [...this.#running].flatMap(([key, places]) => [...places].map(([id, node]) => [key, id, node] as const));
  }

  get pods(): readonly V1Pod[] {
    return [...this.#pods.values()];
  }
}

/** What a new version of a pod may not change in the old one. */
export function changeProblems(before: V1Pod, after: V1Pod): readonly Violation[] {
  const key = podKey(after);
  const from = before.status.phase ?? "Pending";
  const to = after.status.phase ?? "Pending";
  if (isTerminal(before) && from !== to) {
    return [{ invariant: "no-terminated-pod-restarted", what: `pod ${key} was ${from} and is ${to}` }];
  }
  const back = (what: string): Violation => ({ invariant: "no-status-goes-back", what: `pod ${key}: ${what}` });
  const problems: Violation[] = [];
  // A new sandbox runs the init containers again, and the pod is Pending meanwhile, as upstream.
  const canWaitAgain = (after.spec.initContainers ?? []).length > 0;
  if (PHASES.indexOf(to) < PHASES.indexOf(from) && !canWaitAgain) problems.push(back(`phase ${from} became ${to}`));
  for (const [what, one, other] of [
    ["node", before.spec.nodeName, after.spec.nodeName],
    ["start time", before.status.startTime, after.status.startTime],
  ] as const) {
    if (one !== undefined && String(one) !== String(other)) problems.push(back(`${what} ${one} became ${other}`));
  }
  const { deletionTimestamp } = before.metadata;
  if (deletionTimestamp !== undefined && after.metadata.deletionTimestamp === undefined) {
    problems.push(back("the mark of its deletion vanished"));
  }
  for (const { name, restartCount } of before.status.containerStatuses ?? []) {
    const now = after.status.containerStatuses?.find((one) => one.name === name)?.restartCount;
    if (now !== undefined && now < restartCount) {
      problems.push(back(`restart count of ${name} fell from ${restartCount} to ${now}`));
    }
  }
  return problems;
}
