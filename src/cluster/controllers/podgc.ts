import { type NodeObject, nodeCondition } from "../../staging/apimachinery/api/node.js";
import { keyOf } from "../../staging/apimachinery/api/object-key.js";
import { byCreationTimestamp, isTerminating, nameOf, type PodObject } from "../../staging/apimachinery/api/objects.js";
import { isPodPhaseTerminal, withDisruptionTarget } from "../../staging/apimachinery/api/pod.js";
import { concurrently, every } from "../../staging/apimachinery/wait.js";
import type { SharedReflector } from "../../staging/client-go/informers/shared-reflector.js";
import { messageOf } from "../../util/errors.js";
import { constantsFor, factFor } from "../../util/release/facts.js";
import type { Controller } from "./controller.js";
import { asController, type SharedDeps } from "./support/shared-deps.js";

const FILE = "pkg/controller/podgc/gc_controller.go";
const TAINT_OUT_OF_SERVICE = "node.kubernetes.io/out-of-service";

/**
 * Removes pods that no kubelet will remove: pods of deleted nodes, finished pods above a limit, terminating pods
 * without a node. Deletes with grace 0, so they are gone at once.
 *
 * Mirrors pkg/controller/podgc/gc_controller.go.
 */
export function createPodGcController(deps: SharedDeps): Controller {
  return { name: "podgc", run: (signal) => concurrently(signal, (stop) => new PodGcRun(deps).run(stop)) };
}

class PodGcRun {
  readonly #deps: SharedDeps;
  readonly #pods: SharedReflector<PodObject>;
  readonly #nodes: SharedReflector<NodeObject>;
  /** missing node -> when its quarantine is over, Unix ms */
  readonly #quarantine = new Map<string, number>();

  constructor(deps: SharedDeps) {
    this.#deps = deps;
    this.#pods = deps.reflectors.of<PodObject>("pods");
    this.#nodes = deps.reflectors.of<NodeObject>("nodes");
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#pods.synced(signal), this.#nodes.synced(signal)]);
    const periodMs = factFor("podGcCheckPeriod", this.#deps.kubeVersion);
    await every(this.#deps, periodMs, () => this.#gc(), signal, {
      who: "kube-controller-manager",
      what: "remove pods that nobody needs",
      setBy: "gcCheckPeriod",
    });
  }

  async #gc(): Promise<void> {
    const pods = this.#pods.list();
    await this.#gcTerminated(pods);
    if (factFor("nodeOutOfServiceVolumeDetach", this.#deps.kubeVersion)) await this.#gcTerminating(pods);
    await this.#gcOrphaned(pods);
    await this.#gcUnscheduledTerminating(pods);
  }

  async #gcTerminated(pods: readonly PodObject[]): Promise<void> {
    const threshold = factFor("terminatedPodGcThreshold", this.#deps.kubeVersion);
    const terminated = pods.filter((pod) => !["Pending", "Running", "Unknown"].includes(pod.status?.phase ?? ""));
    const excess = terminated.length - threshold;
    if (excess <= 0) return;
    for (const pod of [...terminated].sort(byEvictionAndAge).slice(0, excess)) {
      await this.#delete(pod, `there are more than ${threshold} finished pods`, "gcTerminated");
    }
  }

  /** Pods that terminate on a node which is not ready and has the out-of-service taint. */
  async #gcTerminating(pods: readonly PodObject[]): Promise<void> {
    for (const pod of pods) {
      if (!isTerminating(pod)) continue;
      const node = this.#nodes.byKey(pod.spec?.nodeName ?? "");
      if (node === undefined || nodeCondition(node, "Ready")?.status === "True") continue;
      if (node.spec?.taints?.some(({ key }) => key === TAINT_OUT_OF_SERVICE) !== true) continue;
      await this.#delete(pod, `node ${nameOf(node)} is out of service`, "gcTerminating");
    }
  }

  async #gcOrphaned(pods: readonly PodObject[]): Promise<void> {
    const { clock, kubeVersion } = this.#deps;
    const quarantineMs = factFor("podGcQuarantineTime", kubeVersion);
    for (const pod of pods) {
      const nodeName = pod.spec?.nodeName ?? "";
      if (nodeName === "" || this.#nodes.byKey(nodeName) !== undefined || this.#quarantine.has(nodeName)) continue;
      this.#quarantine.set(nodeName, clock.now() + quarantineMs);
    }
    for (const nodeName of await this.#discoverDeletedNodes()) {
      for (const pod of pods) {
        if (pod.spec?.nodeName === nodeName) await this.#delete(pod, `node ${nodeName} no longer exists`, "gcOrphaned");
      }
    }
  }

  /** Nodes whose quarantine is over and that the API server does not have either. */
  async #discoverDeletedNodes(): Promise<readonly string[]> {
    const deleted: string[] = [];
    for (const [nodeName, untilMs] of [...this.#quarantine]) {
      if (this.#deps.clock.now() < untilMs) continue;
      this.#quarantine.delete(nodeName);
      if (this.#nodes.byKey(nodeName) !== undefined) continue;
      if ((await this.#deps.client.get("nodes", undefined, nodeName)) === undefined) deleted.push(nodeName);
    }
    return deleted;
  }

  async #gcUnscheduledTerminating(pods: readonly PodObject[]): Promise<void> {
    for (const pod of pods) {
      if (!isTerminating(pod) || (pod.spec?.nodeName ?? "") !== "") continue;
      await this.#delete(pod, "it is terminating and never got a node", "gcUnscheduledTerminating");
    }
  }

  /** Mirrors markFailedAndDeletePod. */
  async #delete(pod: PodObject, why: string, func: string): Promise<void> {
    const { client, kubeVersion, trace } = this.#deps;
    const cause = asController(trace, {
      kind: "decision",
      what: `delete pod ${keyOf(pod)} without grace`,
      why,
      constants: constantsFor(kubeVersion, "podGcCheckPeriod", ...(func === "gcOrphaned" ? QUARANTINE : [])),
      upstream: { file: FILE, func },
    });
    const act = async () => {
      if (factFor("podDisruptionConditions", kubeVersion)) await this.#markFailed(pod, func);
      await client.delete("pods", pod.metadata.namespace, nameOf(pod), { gracePeriodSeconds: 0 });
    };
    try {
      await trace.because({ ...cause, pod: keyOf(pod) }, act);
    } catch (error) {
      const message = `podgc: pod ${keyOf(pod)}: ${messageOf(error)}`;
      asController(trace, { kind: "error", message, hint: "the next pass tries again" });
    }
  }

  async #markFailed(pod: PodObject, func: string): Promise<void> {
    const { client, clock } = this.#deps;
    const fail = (current: PodObject): PodObject => {
      if (isPodPhaseTerminal(current.status?.phase)) return current;
      const failed: PodObject = { ...current, status: { ...current.status, phase: "Failed" } };
      if (func !== "gcOrphaned") return failed;
      return withDisruptionTarget(failed, "DeletionByPodGC", "PodGC: node no longer exists", clock.now());
    };
    await client.modify<PodObject>("pods", pod.metadata.namespace, nameOf(pod), fail, "status");
  }
}

const QUARANTINE = ["podGcQuarantineTime"] as const;

/** Evicted pods first, then the oldest. Mirrors byEvictionAndCreationTimestamp. */
function byEvictionAndAge(a: PodObject, b: PodObject): number {
  const evictedA = a.status?.phase === "Failed" && a.status.reason === "Evicted";
  const evictedB = b.status?.phase === "Failed" && b.status.reason === "Evicted";
  if (evictedA !== evictedB) return evictedA ? -1 : 1;
  return byCreationTimestamp(a, b);
}
