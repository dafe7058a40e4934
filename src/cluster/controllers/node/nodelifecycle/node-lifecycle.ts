import type { NodeObject } from "../../../../staging/apimachinery/api/node.js";
import { keyOf } from "../../../../staging/apimachinery/api/object-key.js";
import { type LeaseObject, nameOf, type PodObject } from "../../../../staging/apimachinery/api/objects.js";
import { concurrently, every } from "../../../../staging/apimachinery/wait.js";
import { forEachChange } from "../../../../staging/client-go/informers/for-each-change.js";
import type { SharedReflector } from "../../../../staging/client-go/informers/shared-reflector.js";
import type { EventRecorder } from "../../../../staging/client-go/record/recorder.js";
import { WorkQueue } from "../../../../staging/client-go/workqueue.js";
import { versionOf } from "../../../../trace/scope.js";
import { messageOf } from "../../../../util/errors.js";
import { factFor } from "../../../../util/release/facts.js";
import type { Controller } from "../../controller.js";
import { podsOnNode } from "../../support/pod-indexers.js";
import { asController, retryReporter, type SharedDeps } from "../../support/shared-deps.js";
import { type HealthVerdict, judgeNodeHealth, type NodeHealth } from "./health.js";
import { HealthReport } from "./health-report.js";
import { reconcileLabels } from "./labels.js";
import { NoExecuteTainter } from "./no-execute-tainter.js";
import { doNoScheduleTaintingPass } from "./no-schedule-taints.js";
import { markPodsNotReady } from "./pods-not-ready.js";
import { TAINT_NOT_READY, TAINT_UNREACHABLE } from "./taints.js";
import { zoneKey } from "./zones.js";

const MONITOR = {
  who: "kube-controller-manager",
  what: "look at each node's Lease and status",
  setBy: "nodeMonitorPeriod",
};

const NAME = "nodelifecycle";
/** Excludes a node when the controller checks a zone for a disruption. */
const EXCLUDE_DISRUPTION = "node.kubernetes.io/exclude-disruption";

/**
 * Watches the heartbeats of nodes. After the grace period it sets a node's conditions to Unknown, taints it and marks
 * its pods not ready; it undoes all that when the node returns.
 *
 * Mirrors pkg/controller/nodelifecycle/node_lifecycle_controller.go (monitorNodeHealth and its workers). Differs:
 * checks the nodes one after another, so that every run prints the same trace.
 */
export function createNodeLifecycleController(deps: SharedDeps): Controller {
  const recorder = deps.recorderFor("node-controller");
  return { name: NAME, run: (signal) => new LifecycleRun(deps, recorder).run(signal) };
}

/** The state of one run of the controller; a restart creates a new one. */
class LifecycleRun {
  readonly #deps: SharedDeps;
  readonly #recorder: EventRecorder;
  readonly #report: HealthReport;
  readonly #nodes: SharedReflector<NodeObject>;
  readonly #pods: SharedReflector<PodObject>;
  readonly #leases: SharedReflector<LeaseObject>;
  readonly #nodeQueue: WorkQueue;
  readonly #podQueue: WorkQueue;
  readonly #tainter: NoExecuteTainter;
  readonly #known = new Map<string, NodeObject>();
  readonly #health = new Map<string, NodeHealth>();
  /** the facts about nodes that became Unknown */
  readonly #lapses = new Map<string, string>();
  /** nodes whose pods were not all marked */
  readonly #retry = new Set<string>();

  constructor(deps: SharedDeps, recorder: EventRecorder) {
    this.#deps = deps;
    this.#recorder = recorder;
    this.#report = new HealthReport(deps);
    this.#nodes = deps.reflectors.of<NodeObject>("nodes");
    this.#pods = deps.reflectors.of<PodObject>("pods");
    this.#leases = deps.reflectors.of<LeaseObject>("leases.coordination.k8s.io");
    this.#nodeQueue = new WorkQueue(deps.clock);
    this.#podQueue = new WorkQueue(deps.clock);
    this.#tainter = new NoExecuteTainter(deps, this.#nodes);
  }

  async run(signal: AbortSignal): Promise<void> {
    const report = retryReporter(this.#deps, NAME);
    const monitorMs = factFor("nodeMonitorPeriod", this.#deps.kubeVersion);
    await concurrently(
      signal,
      (stop) => this.#watchNodes(stop),
      (stop) => this.#watchPods(stop),
      (stop) => this.#nodeQueue.run((name) => this.#processNode(name), report, stop),
      (stop) => this.#podQueue.run((key) => this.#processPod(key), report, stop),
      async (stop) => {
        await Promise.all([this.#nodes.synced(stop), this.#pods.synced(stop), this.#leases.synced(stop)]);
        await concurrently(
          stop,
          (inner) => this.#tainter.run(inner),
          (inner) => every(this.#deps, monitorMs, () => this.#monitorNodeHealth(), inner, MONITOR),
        );
      },
    );
  }

  async #watchNodes(signal: AbortSignal): Promise<void> {
    await forEachChange(this.#deps.trace, this.#nodes.changes(signal), (item) => {
      if (item.type === "initDone") return;
      if (item.type === "deleted") this.#retry.delete(nameOf(item.object));
      else this.#nodeQueue.add(nameOf(item.object));
    });
  }

  /** Mirrors podUpdated: only pods with a (new) node matter. */
  async #watchPods(signal: AbortSignal): Promise<void> {
    await forEachChange(this.#deps.trace, this.#pods.changes(signal), (item) => {
      if (item.type === "initDone" || item.type === "deleted") return;
      const nodeName = item.object.spec?.nodeName;
      if (nodeName === undefined || nodeName === "") return;
      if (item.type === "applied" && item.previous?.spec?.nodeName === nodeName) return;
      this.#podQueue.add(keyOf(item.object));
    });
  }

  /** Mirrors doNodeProcessingPassWorker. */
  async #processNode(name: string): Promise<void> {
    const node = this.#nodes.byKey(name);
    if (node === undefined) return;
    await doNoScheduleTaintingPass(this.#deps, node);
    await reconcileLabels(this.#deps, node);
  }

  /** Mirrors processPod: a pod on a node that is not ready is marked not ready, too. */
  async #processPod(key: string): Promise<void> {
    const pod = this.#pods.byKey(key);
    const nodeName = pod?.spec?.nodeName;
    if (pod === undefined || nodeName === undefined) return;
    const ready = this.#health.get(nodeName)?.ready;
    if (ready === undefined || ready.status === "True" || this.#nodes.byKey(nodeName) === undefined) return;
    await markPodsNotReady(this.#deps, this.#recorder, [pod], nodeName);
  }

  async #monitorNodeHealth(): Promise<void> {
    const nodes = this.#nodes.list();
    await this.#classifyNodes(nodes);
    const conditionsByZone = new Map<string, HealthVerdict["currentReady"][]>();
    for (const node of nodes) {
      const verdict = await this.#monitorNode(node);
      if (verdict === undefined || node.metadata.labels?.[EXCLUDE_DISRUPTION] !== undefined) continue;
      const zone = zoneKey(node);
      const conditions = conditionsByZone.get(zone);
      if (conditions === undefined) conditionsByZone.set(zone, [verdict.currentReady]);
      else conditions.push(verdict.currentReady);
    }
    const isLeavingDisruption = await this.#tainter.handleDisruption(conditionsByZone, nodes);
    if (isLeavingDisruption) this.#resetProbes();
  }

  /** Mirrors updateNodeFunc. @returns undefined if the node is gone or the write failed: the next pass retries */
  async #monitorNode(node: NodeObject): Promise<HealthVerdict | undefined> {
    try {
      const verdict = await this.#updateNodeHealth(node);
      const causedBy = this.#lapses.get(nameOf(node));
      const act = (judged: HealthVerdict) => this.#deps.trace.because({ causedBy }, () => this.#act(node, judged));
      if (verdict?.currentReady !== undefined) await act(verdict);
      return verdict;
    } catch (error) {
      const message = `nodelifecycle: node ${nameOf(node)}: ${messageOf(error)}`;
      asController(this.#deps.trace, { kind: "error", message, hint: "the next pass tries again" });
      return undefined;
    }
  }

  /** Mirrors classifyNodes, and the events of monitorNodeHealth for added and deleted nodes. */
  async #classifyNodes(nodes: readonly NodeObject[]): Promise<void> {
    const present = new Set(nodes.map(nameOf));
    for (const node of nodes) {
      const name = nameOf(node);
      this.#tainter.addZone(node);
      if (this.#known.has(name)) continue;
      this.#known.set(name, node);
      this.#recordNodeEvent(node, "RegisteredNode", `Registered Node ${name} in Controller`);
      await this.#tainter.markNodeAsReachable(node);
    }
    for (const [name, node] of [...this.#known]) {
      if (present.has(name)) continue;
      this.#known.delete(name);
      this.#health.delete(name);
      this.#lapses.delete(name);
      this.#recordNodeEvent(node, "RemovingNode", `Removing Node ${name} from Controller`);
    }
  }

  /** Mirrors RecordNodeEvent in pkg/controller/util/node/controller_utils.go. */
  #recordNodeEvent(node: NodeObject, reason: string, text: string): void {
    this.#recorder.event(nodeReference(node), "Normal", reason, `Node ${nameOf(node)} event: ${text}`);
  }

  /** Mirrors tryUpdateNodeHealth. @returns undefined if the node is gone */
  async #updateNodeHealth(node: NodeObject): Promise<HealthVerdict | undefined> {
    const { client, trace } = this.#deps;
    const name = nameOf(node);
    let verdict = this.#judge(node);
    if (verdict.conditions === undefined) {
      this.#report.change(name, this.#health.get(name)?.ready?.status, verdict.health.ready?.status);
      this.#report.silence(name, verdict);
      if (verdict.currentReady?.status === "True") this.#lapses.delete(name);
      this.#health.set(name, verdict.health);
      return verdict;
    }
    // The last sign of life is why nothing more was expected after it.
    const lastSign = versionOf(this.#leases.get("kube-node-lease", name) ?? node);
    const causedBy = lastSign === undefined ? undefined : trace.silenceAfter(lastSign);
    const lapse = { id: trace.newId(), causedBy };
    const change = (current: NodeObject) => {
      // Checks the stored node again, because it may have changed since it was read.
      verdict = this.#judge(current);
      const { conditions } = verdict;
      return conditions === undefined ? current : { ...current, status: { ...current.status, conditions } };
    };
    const written = await trace.because({ causedBy: lapse.id }, () =>
      client.modify<NodeObject>("nodes", undefined, name, change, "status"),
    );
    if (written === undefined) return undefined;
    this.#health.set(name, verdict.health);
    if (verdict.conditions === undefined) return verdict;
    this.#lapses.set(name, lapse.id);
    this.#report.lapse(name, verdict, lapse);
    return verdict;
  }

  #judge(node: NodeObject): HealthVerdict {
    const { clock, kubeVersion } = this.#deps;
    const name = nameOf(node);
    const renewTime = this.#leases.get("kube-node-lease", name)?.spec?.renewTime ?? undefined;
    return judgeNodeHealth(node, this.#health.get(name), renewTime, clock.now(), {
      monitorGraceMs: factFor("nodeMonitorGracePeriod", kubeVersion),
      startupGraceMs: factFor("nodeStartupGracePeriod", kubeVersion),
    });
  }

  /** Applies a verdict: taints, the event, the pods. Mirrors the second half of monitorNodeHealth. */
  async #act(node: NodeObject, { observedReady, currentReady }: HealthVerdict): Promise<void> {
    const name = nameOf(node);
    await this.#processTaintBaseEviction(node, observedReady.status);
    const isLost = observedReady.status === "True" && currentReady?.status !== "True";
    if (isLost) {
      this.#recorder.event(nodeReference(node), "Normal", "NodeNotReady", `Node ${name} status is now: NodeNotReady`);
    }
    if (isLost || (this.#retry.has(name) && observedReady.status !== "True")) {
      const isDone = await markPodsNotReady(this.#deps, this.#recorder, podsOnNode(this.#pods, name), name);
      if (!isDone) {
        this.#retry.add(name);
        return;
      }
    }
    this.#retry.delete(name);
  }

  /** Mirrors processTaintBaseEviction. */
  async #processTaintBaseEviction(node: NodeObject, status: string): Promise<void> {
    if (status === "True") await this.#tainter.markNodeAsReachable(node);
    else if (status === "False") await this.#tainter.swapOrQueue(node, TAINT_NOT_READY, TAINT_UNREACHABLE);
    else await this.#tainter.swapOrQueue(node, TAINT_UNREACHABLE, TAINT_NOT_READY);
  }

  /** After a full disruption, every node gets a new grace period. */
  #resetProbes(): void {
    const probeMs = this.#deps.clock.now();
    for (const [name, health] of this.#health) this.#health.set(name, { ...health, probeMs });
  }
}

function nodeReference(node: NodeObject) {
  const { uid } = node.metadata;
  return { apiVersion: "v1", kind: "Node", name: nameOf(node), ...(uid === undefined ? {} : { uid }) };
}
