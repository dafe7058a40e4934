import type { V1Pod, V1PodStatus } from "../../staging/apimachinery/api/pod.js";
import type { Trace } from "../../trace/trace.js";
import type { PodDeletionSafetyProvider } from "../status/status-writer.js";
import type { VolumeManager } from "../volumes/volume-manager.js";
import { PodsObserver } from "./pods-observer.js";

export interface DeletionSafetyDeps {
  readonly podWorkers: () => { couldHaveRunningContainers(podUid: string): boolean };
  readonly volumes: Pick<VolumeManager, "podVolumesExist">;
  readonly trace: Trace;
}

/**
 * A pod may be deleted from the API when it uses nothing on the node any more: no running container, and no volume. Dead containers
 * stay until the garbage collector removes them: one that ended before its pod was deleted would wait for ever otherwise.
 *
 * Mirrors PodResourcesAreReclaimed and PodCouldHaveRunningContainers in pkg/kubelet/kubelet_pods.go.
 */
export class PodDeletionSafety implements PodDeletionSafetyProvider {
  constructor(readonly deps: DeletionSafetyDeps) {}

  podResourcesAreReclaimed(pod: V1Pod, status: V1PodStatus): boolean {
    const why = this.#whyNot(pod, status);
    if (why === undefined) return true;
    new PodsObserver(this.deps.trace).notReclaimed(pod, why);
    return false;
  }

  podCouldHaveRunningContainers(pod: V1Pod): boolean {
    return this.deps.podWorkers().couldHaveRunningContainers(pod.metadata.uid);
  }

  #whyNot(pod: V1Pod, { containerStatuses, initContainerStatuses }: V1PodStatus): string | undefined {
    const { uid } = pod.metadata;
    if (this.deps.podWorkers().couldHaveRunningContainers(uid)) return "Pod is running: its worker has not finished";
    const statuses = [...(containerStatuses ?? []), ...(initContainerStatuses ?? [])];
    if (statuses.some(({ state }) => state?.running !== undefined && state.running !== null)) {
      return "Pod is running according to its status";
    }
    if (this.deps.volumes.podVolumesExist(uid)) return "some volumes have not been cleaned up";
    return undefined;
  }
}
