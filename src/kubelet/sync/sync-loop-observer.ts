import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import { messageOf } from "../../util/errors.js";
import type { PodLifecycleEvent } from "../pleg/events.js";
import { KubeletObserver } from "../types/observer.js";
import { type PodOperation, type PodUpdate, podText } from "../types/pod-update.js";

/** The method of SyncHandler that gets a change. */
const HANDLERS: Readonly<Partial<Record<PodOperation, string>>> = {
  ADD: "HandlePodAdditions",
  UPDATE: "HandlePodUpdates",
  DELETE: "HandlePodUpdates",
  REMOVE: "HandlePodRemoves",
  RECONCILE: "HandlePodReconcile",
};
const SYNCS = "HandlePodSyncs";
const PODS_FILE = "pkg/kubelet/kubelet_pods.go";

/** Words the facts of the sync loop as the kubelet's log does. */
export class SyncLoopObserver extends KubeletObserver {
  protected readonly file = "pkg/kubelet/kubelet.go";
  #hasIterated = false;
  #reportedProblem = "";

  started(): void {
    this.note("Starting kubelet main sync loop", 1, "syncLoop");
  }

  /** Each problem is reported once: the durations in it, which change, do not make it a new one. */
  skipped(problem: string): void {
    const shape = problem.replaceAll(/(?<!\d)\d+(\.\d+)?(ms|h|m|s)/g, "");
    const isNew = shape !== this.#reportedProblem;
    this.#reportedProblem = shape;
    const message = `Skipping pod synchronization err="${problem}"`;
    if (!this.#hasIterated) {
      this.note(message, 2);
      return;
    }
    const hint = "Running pods go on; the loop retries after 100 ms, backing off to 5 s.";
    this.error(message, { hint, level: isNew ? 1 : 3 });
  }

  iterates(): void {
    if (this.#hasIterated && this.#reportedProblem !== "") this.note("Pods are synced again", 1);
    this.#hasIterated = true;
    this.#reportedProblem = "";
  }

  config({ op, source, pods }: PodUpdate): void {
    const text = `SyncLoop ${op} source=${JSON.stringify(source)} pods=[${pods.map(podText).join(" ")}]`;
    this.note(text, 2, HANDLERS[op]);
  }

  pleg({ podUid, type, containerId }: PodLifecycleEvent, pod: V1Pod | undefined): void {
    const text = `event=&{ID:${podUid} Type:${type} Data:${containerId}}`;
    if (pod === undefined) this.note(`SyncLoop (PLEG): pod does not exist, ignore irrelevant event ${text}`, 3);
    else this.note(`SyncLoop (PLEG): event for pod pod=${JSON.stringify(podText(pod))} ${text}`, 2, SYNCS);
  }

  sync(pods: readonly V1Pod[]): void {
    this.note(`SyncLoop (SYNC) pods total=${pods.length} pods=[${pods.map(podText).join(" ")}]`, 3, SYNCS);
  }

  probe(probe: string, status: string, podUid: string, pod: V1Pod | undefined): void {
    const text = `probe="${probe}" status="${status}"`;
    if (pod === undefined) this.note(`SyncLoop (probe): ignore irrelevant update ${text} podUID=${podUid}`, 3);
    else this.note(`SyncLoop (probe) ${text} pod=${JSON.stringify(podText(pod))}`, 2, SYNCS);
  }

  housekeeping(state: "" | ", skipped" | " end"): void {
    if (state === ", skipped") this.note("SyncLoop (housekeeping, skipped): sources aren't ready yet", 3);
    else this.note(`SyncLoop (housekeeping)${state}`, 3, "HandlePodCleanups", PODS_FILE);
  }

  cleanupFailed(error: unknown): void {
    this.#failed(`Failed cleaning pods: ${messageOf(error)}`);
  }

  housekeepingSlow(limitMs: number, tookMs: number): void {
    this.#failed(`Housekeeping took longer than ${limitMs / 1000}s: ${tookMs / 1000}s`);
  }

  snapshotUnsupported(): void {
    this.#failed("Kubelet does not support snapshot update");
  }

  #failed(message: string): void {
    const hint = `syncLoopIteration in ${this.file} continues with the next iteration.`;
    this.error(message, { hint, level: 1 });
  }
}
