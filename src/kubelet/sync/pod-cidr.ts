import type { NodeObject } from "../../staging/apimachinery/api/node.js";
import type { Trace } from "../../trace/trace.js";
import { messageOf } from "../../util/errors.js";
import { NodeObserver } from "./node-observer.js";

export interface PodCidrDeps {
  readonly runtime: { updatePodCidr(podCidr: string, signal: AbortSignal): Promise<void> };
  readonly trace: Trace;
}

/**
 * Sends the runtime the address range of this node's pods, which a controller assigns.
 *
 * Mirrors updatePodCIDR in pkg/kubelet/kubelet_network.go.
 */
export class PodCidr {
  #current = "";

  constructor(readonly deps: PodCidrDeps) {}

  /** Does nothing if the runtime has this range. @throws the signal's reason */
  async update({ spec }: NodeObject, signal: AbortSignal): Promise<void> {
    const podCidr = (spec?.["podCIDRs"] as readonly string[] | undefined)?.join(",") ?? spec?.podCIDR ?? "";
    const { runtime, trace } = this.deps;
    const from = this.#current;
    if (podCidr === "" || podCidr === from) return;
    this.#current = podCidr;
    const observer = new NodeObserver(trace);
    try {
      await runtime.updatePodCidr(podCidr, signal);
      observer.podCidrChanged(from, podCidr);
    } catch (error) {
      signal.throwIfAborted();
      this.#current = from;
      observer.podCidrNotUpdated(messageOf(error));
    }
  }
}
