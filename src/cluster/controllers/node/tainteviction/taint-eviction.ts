import type { NodeObject, Taint } from "../../../../staging/apimachinery/api/node.js";
import { keyOf, splitKey } from "../../../../staging/apimachinery/api/object-key.js";
import { nameOf, type PodObject, type Toleration } from "../../../../staging/apimachinery/api/objects.js";
import { withDisruptionTarget } from "../../../../staging/apimachinery/api/pod.js";
import { matchingTolerations, minTolerationSeconds } from "../../../../staging/apimachinery/corev1/tolerations.js";
import { concurrently } from "../../../../staging/apimachinery/wait.js";
import { forEachChange } from "../../../../staging/client-go/informers/for-each-change.js";
import type { SharedReflector } from "../../../../staging/client-go/informers/shared-reflector.js";
import type { EventRecorder } from "../../../../staging/client-go/record/recorder.js";
import type { Cause } from "../../../../trace/trace.js";
import { messageOf } from "../../../../util/errors.js";
import { factFor } from "../../../../util/release/facts.js";
import type { Controller } from "../../controller.js";
import { podsOnNode } from "../../support/pod-indexers.js";
import { asController, type SharedDeps } from "../../support/shared-deps.js";
import { TimedWork } from "./timed-work.js";

const FILE = "pkg/controller/nodelifecycle/scheduler/taint_manager.go";
const DELETE_ATTEMPTS = 5;
const DELETE_RETRY_MS = 10;

/**
 * Deletes pods from nodes with NoExecute taints: at once if they do not tolerate one, otherwise after their
 * tolerationSeconds. A deleted pod only gets a deletionTimestamp; it stays until the kubelet of its node finishes it.
 *
 * Mirrors pkg/controller/nodelifecycle/scheduler/taint_manager.go (v1.25; pkg/controller/tainteviction since v1.29).
 * Differs: a separate controller in every release; upstream ran it inside nodelifecycle until v1.28.
 */
export function createTaintEvictionController(deps: SharedDeps): Controller {
  const recorder = deps.recorderFor(factFor("taintEvictionComponent", deps.kubeVersion));
  return { name: "taint-eviction-controller", run: (signal) => new EvictionRun(deps, recorder).run(signal) };
}

class EvictionRun {
  readonly #deps: SharedDeps;
  readonly #recorder: EventRecorder;
  readonly #nodes: SharedReflector<NodeObject>;
  readonly #pods: SharedReflector<PodObject>;
  readonly #work: TimedWork;
  /** node name -> its NoExecute taints */
  readonly #taintedNodes = new Map<string, readonly Taint[]>();

  constructor(deps: SharedDeps, recorder: EventRecorder) {
    this.#deps = deps;
    this.#recorder = recorder;
    this.#nodes = deps.reflectors.of<NodeObject>("nodes");
    this.#pods = deps.reflectors.of<PodObject>("pods");
    this.#work = new TimedWork(deps.clock);
  }

  run(signal: AbortSignal): Promise<void> {
    return concurrently(
      signal,
      (stop) => this.#watchNodes(stop),
      (stop) => this.#watchPods(stop),
      (stop) => this.#work.run((key) => this.#evict(key), stop),
    );
  }

  /** Mirrors NodeUpdated and handleNodeUpdate. */
  async #watchNodes(signal: AbortSignal): Promise<void> {
    await this.#pods.synced(signal);
    await forEachChange(this.#deps.trace, this.#nodes.changes(signal), (item) => {
      if (item.type === "initDone") return;
      const name = nameOf(item.object);
      const taints = item.type === "deleted" ? [] : noExecuteTaints(item.object);
      if (sameTaints(taints, this.#taintedNodes.get(name) ?? [])) return;
      if (taints.length === 0) this.#taintedNodes.delete(name);
      else this.#taintedNodes.set(name, taints);
      if (item.type === "deleted") return;
      for (const pod of podsOnNode(this.#pods, name)) {
        this.#deps.trace.because({ pod: keyOf(pod) }, () => {
          if (taints.length === 0) this.#cancel(keyOf(pod));
          else this.#processPodOnNode(pod, taints);
        });
      }
    });
  }

  /** Mirrors PodUpdated and handlePodUpdate. */
  async #watchPods(signal: AbortSignal): Promise<void> {
    await forEachChange(this.#deps.trace, this.#pods.changes(signal), (item) => {
      if (item.type === "initDone") return;
      if (item.type === "deleted") {
        this.#cancel(keyOf(item.object));
        return;
      }
      const { spec } = item.object;
      const before = item.type === "applied" ? item.previous?.spec : undefined;
      if (before !== undefined && before.nodeName === spec?.nodeName && same(before.tolerations, spec?.tolerations)) {
        return;
      }
      const taints = this.#taintedNodes.get(spec?.nodeName ?? "");
      if (taints !== undefined) this.#processPodOnNode(item.object, taints);
    });
  }

  #processPodOnNode(pod: PodObject, taints: readonly Taint[]): void {
    const key = keyOf(pod);
    const nowMs = this.#deps.clock.now();
    const used = matchingTolerations(taints, pod.spec?.tolerations ?? []);
    if (used === undefined) {
      this.#cancel(key);
      const cause = this.#decide(pod, "delete it now", "it does not tolerate the node's NoExecute taints", []);
      this.#deps.trace.because(cause, () => this.#work.add(key, nowMs, nowMs));
      return;
    }
    const toleratedSeconds = minTolerationSeconds(used);
    if (toleratedSeconds === undefined) {
      this.#decide(pod, "let it stay", "it tolerates the node's NoExecute taints forever", used);
      this.#cancel(key);
      return;
    }
    const fireMs = nowMs + toleratedSeconds * 1000;
    const scheduledMs = this.#work.createdMs(key);
    if (scheduledMs !== undefined) {
      // The wait began with an earlier taint. A later taint does not extend it.
      if (scheduledMs + toleratedSeconds * 1000 < fireMs) return;
      this.#cancel(key);
    }
    const why = "it tolerates the node's NoExecute taints that long";
    const cause = this.#decide(pod, `delete it in ${toleratedSeconds} s`, why, used);
    this.#deps.trace.because(cause, () => this.#work.add(key, scheduledMs ?? nowMs, fireMs));
  }

  #decide(pod: PodObject, what: string, why: string, used: readonly Toleration[]): Cause {
    const constants = used.flatMap(({ key, tolerationSeconds }) =>
      tolerationSeconds === undefined
        ? []
        : [{ name: `tolerationSeconds of ${key ?? "any taint"}`, value: `${tolerationSeconds} s` }],
    );
    return asController(this.#deps.trace, {
      kind: "decision",
      what: `pod ${keyOf(pod)} on node ${pod.spec?.nodeName}: ${what}`,
      why,
      ...(constants.length === 0 ? {} : { constants }),
      upstream: { file: FILE, func: "processPodOnNode" },
    });
  }

  #cancel(key: string): void {
    if (this.#work.cancel(key)) this.#recordEviction(key, `Cancelling deletion of Pod ${key}`);
  }

  #recordEviction(key: string, message: string): void {
    const { namespace, name } = splitKey(key);
    const about = { kind: "Pod", name, namespace: namespace ?? "default" };
    const hasVersion = factFor("taintEvictionEventApiVersion", this.#deps.kubeVersion);
    this.#recorder.event(
      hasVersion ? { apiVersion: "v1", ...about } : about,
      "Normal",
      "TaintManagerEviction",
      message,
    );
  }

  /** Mirrors deletePodHandler. */
  async #evict(key: string): Promise<void> {
    const { clock, trace } = this.#deps;
    this.#recordEviction(key, `Marking for deletion Pod ${key}`);
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#addConditionAndDeletePod(key);
        return;
      } catch (error) {
        if (attempt === DELETE_ATTEMPTS) {
          asController(trace, { kind: "error", message: `pod ${key} was not evicted: ${messageOf(error)}` });
          throw error;
        }
        await clock.sleep(DELETE_RETRY_MS);
      }
    }
  }

  async #addConditionAndDeletePod(key: string): Promise<void> {
    const { client, clock, kubeVersion } = this.#deps;
    const { namespace, name } = splitKey(key);
    if (factFor("podDisruptionConditions", kubeVersion)) {
      await client.modify<PodObject>(
        "pods",
        namespace,
        name,
        (pod) => withDisruptionTarget(pod, "DeletionByTaintManager", TAINT_MANAGER_MESSAGE, clock.now()),
        "status",
      );
    }
    await client.delete("pods", namespace, name);
  }
}

const TAINT_MANAGER_MESSAGE = "Taint manager: deleting due to NoExecute taint";

function noExecuteTaints(node: NodeObject): readonly Taint[] {
  return (node.spec?.taints ?? []).filter(({ effect }) => effect === "NoExecute");
}

function sameTaints(a: readonly Taint[], b: readonly Taint[]): boolean {
  return a.length === b.length && same(a, b);
}

function same(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}
