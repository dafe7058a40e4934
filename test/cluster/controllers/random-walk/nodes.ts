import { targetNodeName } from "../../../../src/cluster/controllers/daemon/util/daemonset-util.js";
import { controllerOf } from "../../../../src/cluster/controllers/support/controller-ref.js";
import type { KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";
import { isTerminating, nameOf, type PodObject } from "../../../../src/staging/apimachinery/api/objects.js";
import { rfc3339 } from "../../../../src/staging/apimachinery/time.js";
import type { WorkloadStage } from "../support/workload-stage.js";
import type { Chance } from "./chance.js";

const NODES = ["n1", "n2", "n3"];

/** Plays the scheduler, the kubelets, and the node controllers when a node has vanished. */
export class Nodes {
  /** they do not answer */
  readonly #gone = new Set<string>();
  /** there is no object of theirs */
  readonly #deleted = new Set<string>();
  #addresses = 0;

  constructor(
    readonly stage: WorkloadStage,
    readonly chance: Chance,
  ) {}

  async register(): Promise<void> {
    for (const name of NODES) await this.#register(name);
  }

  async #register(name: string): Promise<void> {
    await this.stage.admin.create("nodes", undefined, { apiVersion: "v1", kind: "Node", metadata: { name } });
  }

  /** A node is deleted, with its pods as the pod garbage collector does it; the next time it joins again. */
  async leaveOrJoin(): Promise<void> {
    const [deleted] = this.#deleted;
    if (deleted !== undefined) return this.#join(deleted);
    const name = this.chance.pick(NODES.filter((one) => !this.#gone.has(one))) ?? "";
    this.#deleted.add(name);
    await this.stage.admin.delete("nodes", undefined, name);
    for (const pod of await this.stage.pods()) {
      if (pod.spec?.nodeName === name) await this.#end(pod);
    }
  }

  async #join(name: string): Promise<void> {
    this.#deleted.delete(name);
    await this.#register(name);
  }

  /** One node stops to answer, and comes back later. */
  async vanish(): Promise<void> {
    if (this.#gone.size > 0) {
      this.#gone.clear();
      return;
    }
    const name = this.chance.pick(NODES) ?? "";
    this.#gone.add(name);
    for (const pod of await this.stage.pods()) {
      if (pod.spec?.nodeName !== name) continue;
      await this.#setStatus(pod, { conditions: this.#ready(false) });
      // It tolerates the taints of such a node.
      if (controllerOf(pod)?.kind === "DaemonSet") continue;
      await this.stage.admin.delete("pods", "default", nameOf(pod));
    }
  }

  /** All nodes work. */
  async comeBack(): Promise<void> {
    this.#gone.clear();
    for (const name of [...this.#deleted]) await this.#join(name);
  }

  get count(): number {
    return NODES.length;
  }

  /** @param eager every pod makes its next step */
  async act(eager = false): Promise<void> {
    const pods = (await this.stage.pods()).filter(() => eager || this.chance.happens(0.5));
    await Promise.all(pods.map((pod) => this.#actOn(pod, eager)));
  }

  async #actOn(pod: PodObject, eager: boolean): Promise<void> {
    const { nodeName = "" } = pod.spec ?? {};
    const { phase } = pod.status ?? {};
    if (nodeName === "") {
      const node = this.#nodeFor(pod);
      if (!isTerminating(pod) && node !== undefined) await this.stage.bind(pod, node);
      return;
    }
    if (this.#gone.has(nodeName)) return;
    if (isTerminating(pod)) {
      await this.#end(pod);
      return;
    }
    const isJob = pod.spec?.restartPolicy === "Never";
    if (phase !== "Running") {
      // Upstream's StatefulSets wait for ever until a failed pod that is to go is deleted by hand.
      if (eager && phase === "Failed" && controllerOf(pod)?.kind === "StatefulSet") return this.#end(pod);
      if (phase === "Succeeded" || phase === "Failed") return;
      const podIP = `10.0.${this.#addresses >> 8}.${this.#addresses++ & 255}`;
      await this.#setStatus(pod, { phase: "Running", podIP, podIPs: [{ ip: podIP }], conditions: this.#ready(true) });
    } else if (isJob && (eager || this.chance.happens(0.3))) {
      const isFailure = !eager && this.chance.happens(0.3);
      await this.#setStatus(pod, { phase: isFailure ? "Failed" : "Succeeded", conditions: this.#ready(false) });
    } else if (!eager && this.chance.happens(0.05)) {
      // Eviction by the kubelet.
      await this.#setStatus(pod, { phase: "Failed", reason: "Evicted", conditions: this.#ready(false) });
    } else if (eager || this.chance.happens(0.1)) {
      await this.#setStatus(pod, { conditions: this.#ready(eager || this.chance.happens(0.7)) });
    }
  }

  /** A DaemonSet says which node its pod is for; a node that does not answer takes it, and does not start it. */
  #nodeFor(pod: PodObject): string | undefined {
    const target = targetNodeName(pod);
    if (target !== undefined && target !== "") return this.#deleted.has(target) ? undefined : target;
    return this.chance.pick(NODES.filter((name) => !this.#gone.has(name) && !this.#deleted.has(name)));
  }

  /** As the kubelet does: the containers' end is reported before the pod is deleted. */
  async #end(pod: PodObject): Promise<void> {
    if (pod.spec?.restartPolicy === "Never" && pod.status?.phase === "Running") {
      await this.#setStatus(pod, { phase: "Failed", conditions: this.#ready(false) });
    }
    await this.stage.admin.delete("pods", "default", nameOf(pod), { gracePeriodSeconds: 0 });
  }

  /** Somebody kills a pod. */
  async kill(): Promise<void> {
    const pod = this.chance.pick(await this.stage.pods());
    if (pod === undefined) return;
    await this.stage.admin.delete(
      "pods",
      "default",
      nameOf(pod),
      this.chance.happens(0.3) ? { gracePeriodSeconds: 0 } : {},
    );
  }

  #ready(isReady: boolean): object[] {
    const lastTransitionTime = rfc3339(this.stage.on.clock.now());
    return [{ type: "Ready", status: isReady ? "True" : "False", lastTransitionTime }];
  }

  async #setStatus({ metadata }: PodObject, status: object): Promise<void> {
    const change = (pod: PodObject): KubeObject => ({ ...pod, status: { ...pod.status, ...status } });
    await this.stage.admin.modify<PodObject>("pods", "default", metadata.name ?? "", change, "status");
  }
}
