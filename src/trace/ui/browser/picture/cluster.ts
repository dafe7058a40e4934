import type { TraceEvent } from "../../../events.js";
import { type ClusterChange, changesOf, type ObjectChange, type Source, type Transition } from "./changes.js";

/** What the runtime has, and what PLEG knows: `running`, `exited (1, Error)`, `gone`. */
export type States = Partial<Record<Source, string>>;

const NOTHING: ReadonlySet<string> = new Set(["none", "gone", "non-existent"]);
const ALIVE: ReadonlySet<string> = new Set(["ready", "running"]);

/** A container as the facts describe it. */
export interface Container {
  readonly name: string;
  readonly states: States;
  /** `readiness`: `success` */
  readonly probes: Map<string, string>;
  /** how often it was reported running by the runtime */
  starts: number;
}

/** A pod: an object of the API, the work of a kubelet, a sandbox in a runtime, or all of them. */
export interface Pod {
  /** `default/web` */
  readonly name: string;
  /** undefined: no fact reports it */
  isInApi: boolean | undefined;
  /** undefined: it has none yet, or no fact reports it */
  node: string | undefined;
  phase: string | undefined;
  /** of the kubelet's pod worker: `syncing` */
  worker: string | undefined;
  readonly sandbox: States;
  readonly containers: Map<string, Container>;
  /** the reason of the last Warning since a container started */
  warning: string | undefined;
  /** the API server has marked it for deletion */
  isMarked: boolean;
}

/** A node: an object of the API, or a kubelet or runtime that reports facts. */
export interface Node {
  /** empty for a kubelet or runtime that does not name its node */
  readonly name: string;
  isInApi: boolean | undefined;
  hasKubelet: boolean;
  hasRuntime: boolean;
  hasProxy: boolean;
  /** `True (KubeletReady: ...)` */
  ready: string | undefined;
  /** of its Lease */
  renewTime: string | undefined;
}

/** The parts of a node other than its pods. */
const PARTS = { kubelet: "hasKubelet", runtime: "hasRuntime", proxy: "hasProxy" } as const;

/** Objects that own pods, or own the owners of pods. */
const WORKLOADS = /^(?:deployments|replicasets|statefulsets|daemonsets|cronjobs|jobs)$/;

/** The writes that the API server reported. */
export interface Writes {
  created: number;
  changed: number;
  deleted: number;
}

type InRuntime = Extract<ClusterChange, { readonly part: "sandbox" | "container" | "probe" }>;

/** The cluster as the facts up to now describe it. Nothing is guessed: unreported parts are absent or undefined. */
export class Cluster {
  readonly nodes = new Map<string, Node>();
  readonly pods = new Map<string, Pod>();
  /** `default/web` */
  readonly services = new Set<string>();
  /** Deployments, ReplicaSets and other owners of pods: `replicasets default/web-5d9c` */
  readonly workloads = new Set<string>();
  /** the API server, the user, the scheduler; kubelets, runtimes and kube-proxies are parts of nodes */
  readonly actors = new Set<string>();
  /** that have reported something */
  readonly controllers = new Set<string>();
  readonly writes: Writes = { created: 0, changed: 0, deleted: 0 };
  /** the facts so far */
  count = 0;
  /** grows when the picture changes */
  revision = 0;
  #hasStorage = false;
  /** the nodes of pods that are to be created */
  readonly #assigned = new Map<string, string>();
  /** how long a node can be silent, as the controllers' decisions say */
  graceMs: number | undefined;
  /** Without a storage that reports, the first watch of each resource decides what exists, because others lag behind it. */
  readonly #witnesses = new Map<string, string>();

  /** @param keeps what is deleted stays: everything that the facts ever named */
  constructor(readonly keeps = false) {}

  add(event: TraceEvent, bodies?: string): void {
    this.count++;
    this.#appear(event);
    const constants = event.kind === "decision" ? event.constants : undefined;
    const grace = constants?.find(({ name }) => name === "nodeMonitorGracePeriod");
    if (grace !== undefined) this.graceMs = Number.parseFloat(grace.value) * 1000;
    for (const change of changesOf(event, bodies)) this.#apply(change, event);
    this.#locate(event);
  }

  /** An actor exists once it reports a fact or gets a request. */
  #appear(event: TraceEvent): void {
    const { actor, kind, instance } = event;
    this.#actorAppears(actor, instance);
    if (kind === "watch" || (kind === "request" && actor !== "apiserver")) this.#actorAppears("apiserver", undefined);
    else if (kind === "request") this.#actorAppears("kubelet", instance);
    else if (kind === "rpc" && actor === "kubelet") this.#actorAppears("runtime", instance);
  }

  #actorAppears(actor: string, instance: string | undefined): void {
    // A kube-proxy without a name has no node: `kubelab proxy` only shows the rules.
    if (actor === "kubelet" || actor === "runtime" || (actor === "proxy" && instance !== undefined)) {
      const name = this.#nodeOf(instance);
      if (name === undefined) return;
      const node = this.#node(name);
      const part = PARTS[actor];
      if (!node[part]) this.revision++;
      node[part] = true;
      return;
    }
    const [names, name] =
      actor === "controller" && instance !== undefined ? [this.controllers, instance] : [this.actors, actor];
    if (!names.has(name)) this.revision++;
    names.add(name);
    this.actors.add(actor);
  }

  /**
   * The node of a kubelet or a runtime. One that does not name its node is on the only one that facts name; if they name several,
   * nobody knows.
   */
  #nodeOf(instance: string | undefined): string | undefined {
    if (instance !== undefined) return instance;
    const [first = "", ...others] = this.nodes.keys();
    return others.length === 0 ? first : undefined;
  }

  /** A pod is where a kubelet or a runtime works on it. */
  #locate({ actor, instance, pod: name }: TraceEvent): void {
    if ((actor !== "kubelet" && actor !== "runtime") || name === undefined) return;
    const pod = this.pods.get(name);
    const node = this.#nodeOf(instance);
    if (pod === undefined || node === undefined || pod.node === node) return;
    pod.node = node;
    this.revision++;
  }

  #apply(change: ClusterChange, event: TraceEvent): void {
    this.revision++;
    switch (change.part) {
      case "object":
        this.#applyObject(change.resource, change.name, change.change, event);
        break;
      case "node":
        this.#applyNode(change);
        break;
      case "pod":
        this.#applyPod(change);
        break;
      default:
        this.#applyInRuntime(change, event);
    }
  }

  #applyObject(resource: string, name: string, change: ObjectChange, event: TraceEvent): void {
    if (event.kind !== "watch") {
      this.#hasStorage = true;
      if (change !== "seen") this.writes[change]++;
    } else if (!this.#isWitness(resource, event)) return;
    const isInApi = change !== "deleted";
    if (resource === "pods") {
      const pod = isInApi ? this.#pod(name) : this.pods.get(name);
      if (pod === undefined) return;
      // A new pod of an old name.
      if (change === "created") Object.assign(pod, { phase: undefined, warning: undefined, isMarked: false });
      pod.isInApi = isInApi;
      this.#forget(pod);
    } else if (resource === "nodes") {
      const node = isInApi ? this.#node(name) : this.nodes.get(name);
      if (node === undefined) return;
      Object.assign(node, { isInApi }, isInApi ? {} : { ready: undefined, renewTime: undefined });
      if (!isInApi && !this.keeps && Object.values(PARTS).every((part) => !node[part])) this.nodes.delete(name);
    } else if (resource === "services") {
      this.#list(this.services, name, isInApi);
    } else if (WORKLOADS.test(resource)) this.#list(this.workloads, `${resource} ${name}`, isInApi);
  }

  #list(names: Set<string>, name: string, isInApi: boolean): void {
    if (isInApi) names.add(name);
    else if (!this.keeps) names.delete(name);
  }

  /** Once the storage reports, watches add nothing. */
  #isWitness(resource: string, { actor, instance }: TraceEvent): boolean {
    if (this.#hasStorage) return false;
    const who = `${actor} ${instance ?? ""}`;
    const witness = this.#witnesses.get(resource) ?? who;
    this.#witnesses.set(resource, witness);
    return witness === who;
  }

  #applyNode({ node: name, ready, renewTime }: ClusterChange & { readonly part: "node" }): void {
    const node = this.#node(name);
    node.ready = ready ?? node.ready;
    node.renewTime = renewTime ?? node.renewTime;
  }

  #applyPod({ pod: name, node, phase, worker, warning, isMarked }: ClusterChange & { readonly part: "pod" }): void {
    const isOver = worker === "finished" || worker === "terminated";
    const pod = worker === undefined || isOver ? this.pods.get(name) : this.#pod(name);
    if (pod === undefined) {
      // The request is answered after its object is stored, but it began before.
      if (node !== undefined) this.#assigned.set(name, node);
      return;
    }
    pod.node = node ?? pod.node;
    pod.phase = phase ?? pod.phase;
    pod.worker = worker ?? pod.worker;
    pod.warning = warning ?? pod.warning;
    pod.isMarked ||= isMarked === true;
    this.#forget(pod);
  }

  #applyInRuntime(change: InRuntime, { actor, instance }: TraceEvent): void {
    const isThere = change.part !== "probe" && exists(change.to);
    const pod = isThere ? this.#pod(change.pod) : this.pods.get(change.pod);
    if (pod === undefined) return;
    if (isThere && (actor === "kubelet" || actor === "runtime")) pod.node = this.#nodeOf(instance) ?? pod.node;
    if (change.part === "sandbox") pass(pod.sandbox, change);
    else if (change.part === "container") passContainer(pod, change, this.keeps);
    else pod.containers.get(change.container)?.probes.set(change.probe, change.result);
    this.#forget(pod);
  }

  /** A pod is gone when the API, the kubelet and the runtime no longer have it. */
  #forget(pod: Pod): void {
    const isWorked = pod.worker !== undefined && pod.worker !== "finished";
    const isLeft = exists(stateOf(pod.sandbox)) || pod.containers.size > 0;
    if (!this.keeps && pod.isInApi !== true && !isWorked && !isLeft) this.pods.delete(pod.name);
  }

  #pod(name: string): Pod {
    const known = this.pods.get(name);
    if (known !== undefined) return known;
    const pod: Pod = {
      name,
      isInApi: undefined,
      node: this.#assigned.get(name),
      phase: undefined,
      worker: undefined,
      sandbox: {},
      containers: new Map(),
      warning: undefined,
      isMarked: false,
    };
    this.pods.set(name, pod);
    return pod;
  }

  #node(name: string): Node {
    const known = this.nodes.get(name);
    if (known !== undefined) return known;
    const node: Node = {
      name,
      isInApi: undefined,
      hasKubelet: false,
      hasRuntime: false,
      hasProxy: false,
      ready: undefined,
      renewTime: undefined,
    };
    const unnamed = this.nodes.get("");
    if (unnamed !== undefined) this.#rename(unnamed, node);
    this.nodes.set(name, node);
    this.revision++;
    return node;
  }

  /** What a node without a name has is that of the first one with a name. */
  #rename({ hasKubelet, hasRuntime, hasProxy }: Node, node: Node): void {
    Object.assign(node, { hasKubelet, hasRuntime, hasProxy });
    this.nodes.delete("");
    for (const pod of this.pods.values()) if (pod.node === "") pod.node = node.name;
  }
}

/** The runtime's own report counts; if it reports nothing, PLEG's. */
export function stateOf(states: States): string | undefined {
  return states.runtime ?? states.pleg;
}

function exists(state: string | undefined): boolean {
  return state !== undefined && !NOTHING.has(state);
}

/**
 * After a restart, the old sandbox or container of the same name still exists for a while; its end does not concern the new one.
 * @returns whether the transition is that of the newest one
 */
function pass(states: States, { from, to, source }: Transition): boolean {
  const now = states[source];
  const isNewest = now === undefined || from === undefined || from === now || !exists(from) || ALIVE.has(to);
  if (isNewest) states[source] = to;
  return isNewest;
}

function passContainer(pod: Pod, change: Extract<ClusterChange, { readonly part: "container" }>, keeps: boolean): void {
  const known = pod.containers.get(change.container);
  if (known === undefined && !exists(change.to)) return;
  const container = known ?? { name: change.container, states: {}, probes: new Map<string, string>(), starts: 0 };
  if (!pass(container.states, change)) return;
  if (!exists(stateOf(container.states)) && !keeps) {
    pod.containers.delete(change.container);
    return;
  }
  pod.containers.set(change.container, container);
  if (change.to !== "running" || change.source !== "runtime") return;
  container.starts++;
  pod.warning = undefined;
}
