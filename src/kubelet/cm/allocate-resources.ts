import { containersOf, initContainersOf, type V1Pod } from "../../staging/apimachinery/api/pod.js";
import { messageOf } from "../../util/errors.js";
import type { PodAdmitAttributes, PodAdmitHandler, PodAdmitResult } from "../lifecycle/admit.js";
import type { DeviceManager } from "./devicemanager/manager.js";

/**
 * Gives the containers of a pod their devices, and refuses the pod if that fails. The scheduler knows the number of a
 * node's devices; only the node knows which ones are free.
 *
 * Mirrors admitPolicyNone in pkg/kubelet/cm/topologymanager/scope.go, and GetPodAdmitResult in pkg/kubelet/cm/admission/errors.go.
 */
export class AllocateResourcesAdmitHandler implements PodAdmitHandler {
  constructor(readonly deviceManager: Pick<DeviceManager, "allocate" | "signal">) {}

  /** @throws the reason of the kubelet's signal */
  async admit({ pod }: PodAdmitAttributes): Promise<PodAdmitResult> {
    try {
      await this.#allocate(pod);
    } catch (error) {
      this.deviceManager.signal.throwIfAborted();
      const message = `Allocate failed due to ${messageOf(error)}, which is unexpected`;
      return { admit: false, reason: "UnexpectedAdmissionError", message };
    }
    return { admit: true };
  }

  async #allocate(pod: V1Pod): Promise<void> {
    for (const container of [...initContainersOf(pod), ...containersOf(pod)]) {
      await this.deviceManager.allocate(pod, container);
    }
  }
}
