import type { KubeObject } from "../../staging/apimachinery/api/meta.js";
import { type NodeObject, nodeCondition, type Taint, taintText } from "../../staging/apimachinery/api/node.js";
import { matchingTolerations, minTolerationSeconds } from "../../staging/apimachinery/corev1/tolerations.js";
import { type ReflectEvent, reflect } from "../../staging/client-go/cache/reflect.js";
import type { KubeClient } from "../../staging/client-go/rest/client.js";
import { collectionPath, EVENTS, NODES, PODS } from "../../staging/client-go/rest/paths.js";
import type { Ctx } from "../../trace/ctx.js";
import type { Level } from "../../trace/trace.js";
import { orAborted } from "../../util/async/concurrency.js";
import { defined } from "../../util/defined.js";

export interface ObserverDeps extends Ctx {
  /** needs the right to watch nodes, pods and events: an administrator's client, not the node's */
  readonly client: KubeClient;
}

export interface PodObject extends KubeObject {
  readonly spec?: { readonly nodeName?: string; readonly tolerations?: readonly Toleration[] };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

export interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly effect?: string;
  readonly tolerationSeconds?: number;
}

interface EventObject extends KubeObject {
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly involvedObject?: { readonly kind?: string; readonly name?: string };
}

/** The view of one node through the API. */
export interface NodeView {
  readonly node: NodeObject | undefined;
  /** by `namespace/name` */
  readonly pods: ReadonlyMap<string, PodObject>;
  /** `namespace/name` of pods that got a deletionTimestamp or disappeared */
  readonly evicted: ReadonlySet<string>;
}

/**
 * Watches one node, its pods and the Events about them, and reports what changes. It sees what kubectl sees, so the
 * author of a change follows only from the change.
 */
export class NodeObserver {
  #node: NodeObject | undefined;
  readonly #pods = new Map<string, PodObject>();
  readonly #evicted = new Set<string>();
  /** by `namespace/name`: the fact that announced the eviction */
  readonly #announced = new Map<string, string>();
  #waiters: (() => void)[] = [];

  /**
   * @param options.isOnlyWitness true: the controllers run in another process. If they run in this one, Events are not
   * reported, and their own facts about conditions and taints appear from -v 2.
   */
  constructor(
    readonly deps: ObserverDeps,
    readonly nodeName: string,
    readonly options: { readonly isOnlyWitness: boolean },
  ) {}

  get view(): NodeView {
    return { node: this.#node, pods: this.#pods, evicted: this.#evicted };
  }

  /** Watches until `signal` aborts (a normal end). @throws LabError as `reflect` does */
  async run(signal: AbortSignal): Promise<void> {
    const { nodeName } = this;
    const node = { path: collectionPath(NODES), fieldSelector: `metadata.name=${nodeName}` };
    const pods = { path: collectionPath(PODS), fieldSelector: `spec.nodeName=${nodeName}` };
    const about = `involvedObject.kind=Node,involvedObject.name=${nodeName}`;
    const nodeEvents = { path: collectionPath(EVENTS), fieldSelector: about };
    const evictions = { path: collectionPath(EVENTS), fieldSelector: "reason=TaintManagerEviction" };
    await Promise.all([
      this.#each<NodeObject>(node, signal, (event) => this.#seeNode(event)),
      this.#each<PodObject>(pods, signal, (event) => this.#seePod(event)),
      ...(this.options.isOnlyWitness ? [nodeEvents, evictions] : []).map((options) =>
        this.#each<EventObject>(options, signal, (event, isNews) => this.#seeEvent(event, isNews)),
      ),
    ]);
  }

  async #each<T extends KubeObject>(
    options: Parameters<typeof reflect>[1],
    signal: AbortSignal,
    see: (event: ReflectEvent<T>, isNews: boolean) => void,
  ): Promise<void> {
    let isNews = false;
    for await (const event of reflect<T>(this.deps, options, signal)) {
      this.deps.trace.because(event, () => see(event, isNews));
      if (event.type === "init") isNews = false;
      if (event.type === "initDone") isNews = true;
      this.#wake();
    }
  }

  /**
   * Resolves when the view meets the condition; checks it at each change.
   * @throws the signal's reason
   */
  async until(isWanted: (view: NodeView) => boolean, signal: AbortSignal): Promise<void> {
    while (!isWanted(this.view)) {
      signal.throwIfAborted();
      const changed = new Promise<void>((resolve) => {
        this.#waiters.push(resolve);
      });
      await orAborted(changed, signal);
    }
  }

  /** What is seen of the pod's end then has this fact as its cause: controllers in another process do not tell theirs. */
  expectEviction(podKey: string, causedBy: string): void {
    this.#announced.set(podKey, causedBy);
  }

  #wake(): void {
    for (const wake of this.#waiters.splice(0)) wake();
  }

  #seeNode(event: ReflectEvent<NodeObject>): void {
    if (event.type === "deleted") {
      this.#state(`Node ${this.nodeName}`, "object", "deleted");
      this.#node = undefined;
    }
    if (event.type !== "applied") return;
    const before = this.#node;
    this.#node = event.object;
    if (before === undefined) return;
    for (const condition of event.object.status?.conditions ?? []) {
      const from = nodeCondition(before, condition.type)?.status;
      if (from === condition.status) continue;
      const to = `${condition.status} (${condition.reason}: ${condition.message})`;
      this.#reportChange(`Node ${this.nodeName}`, condition.type, to, from);
    }
    const had = taintsOf(before).map(taintText);
    const has = taintsOf(event.object).map(taintText);
    for (const taint of has)
      if (!had.includes(taint)) this.#reportChange(`Node ${this.nodeName}`, "taint", `+ ${taint}`);
    for (const taint of had)
      if (!has.includes(taint)) this.#reportChange(`Node ${this.nodeName}`, "taint", `- ${taint}`);
  }

  #seePod(event: ReflectEvent<PodObject>): void {
    if (event.type !== "applied" && event.type !== "deleted") return;
    const { object } = event;
    const podKey = `${object.metadata.namespace}/${object.metadata.name}`;
    const before = this.#pods.get(podKey);
    if (event.type === "deleted") {
      this.#pods.delete(podKey);
      this.#evicted.add(podKey);
      this.#state(`Pod ${podKey}`, "object", "gone");
      return;
    }
    this.#pods.set(podKey, object);
    if (before === undefined) return;
    const from = readyOf(before);
    const to = readyOf(object);
    if (from !== to && to !== undefined) this.#reportChange(`Pod ${podKey}`, "Ready", to, from);
    const { deletionTimestamp } = object.metadata;
    if (deletionTimestamp !== undefined && before.metadata.deletionTimestamp === undefined) {
      this.#evicted.add(podKey);
      const to = `${deletionTimestamp}; it stays until its node says that it has ended`;
      const causedBy = this.#announced.get(podKey);
      this.deps.trace.because({ causedBy }, () => this.#state(`Pod ${podKey}`, "deletionTimestamp", to));
    }
  }

  #seeEvent(event: ReflectEvent<EventObject>, isNews: boolean): void {
    if (event.type !== "applied" || !isNews) return;
    const { involvedObject, reason = "", message = "", type, source } = event.object;
    if (involvedObject?.kind === "Pod" && !this.#hasPodNamed(involvedObject.name)) return;
    // The kubelet's own Events are already in the trace, from the place that recorded them.
    if ((source as { component?: string } | undefined)?.component === "kubelet") return;
    const object = `${involvedObject?.kind}/${involvedObject?.name}`;
    const kind = type === "Warning" ? "Warning" : "Normal";
    this.deps.trace.emit({ kind: "event", type: kind, reason, message, object }, { actor: "controller" });
  }

  #hasPodNamed(name: string | undefined): boolean {
    return [...this.#pods.values()].some((pod) => pod.metadata.name === name);
  }

  /** Changes by controllers, which report them if they run in this process. */
  #reportChange(subject: string, what: string, to: string, from?: string): void {
    this.#state(subject, what, to, from, this.options.isOnlyWitness ? 1 : 2);
  }

  #state(subject: string, what: string, to: string, from?: string, level: Level = 1): void {
    const fact = { kind: "state", subject, what, to, ...defined({ from }) } as const;
    this.deps.trace.emit(fact, { actor: "apiserver", level });
  }
}

export function taintsOf(node: NodeObject | undefined): readonly Taint[] {
  return node?.spec?.taints ?? [];
}

function readyOf(pod: PodObject): string | undefined {
  return pod.status?.conditions?.find(({ type }) => type === "Ready")?.status;
}

/**
 * How long a pod stays on a node with these taints: the shortest tolerationSeconds of the first toleration of each.
 *
 * The same rule as the taint eviction controller's. Pure.
 * @returns seconds; 0: at once; undefined: forever
 */
export function tolerationSeconds(pod: PodObject, taints: readonly Taint[]): number | undefined {
  const noExecute = taints.filter(({ effect }) => effect === "NoExecute");
  if (noExecute.length === 0) return undefined;
  const used = matchingTolerations(noExecute, pod.spec?.tolerations ?? []);
  return used === undefined ? 0 : minTolerationSeconds(used);
}
