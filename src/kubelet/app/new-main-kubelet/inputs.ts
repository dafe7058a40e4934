import { instrumentedClient } from "../../kuberuntime/instrumented-services.js";
import type { KubeGenericRuntimeManager } from "../../kuberuntime/kuberuntime-manager.js";
import type { GenericPleg } from "../../pleg/generic.js";
import type { PodWorkers } from "../../podworkers/pod-workers.js";
import type { PodCidr } from "../../sync/pod-cidr.js";
import type { KubeletDeps, KubeletOptions } from "../options.js";

/** Parts that earlier ones call once the kubelet runs. */
export interface Later {
  runtime(): KubeGenericRuntimeManager;
  podCidr(): PodCidr;
  pleg(): GenericPleg;
  podWorkers(): PodWorkers;
}

export type Inputs = ReturnType<typeof newInputs>;

/** What most parts share. @param signal aborts to end what runs in the background */
export function newInputs(deps: KubeletDeps, options: KubeletOptions, signal: AbortSignal) {
  const { clock, random, trace, agent } = deps;
  const { client, metrics, addresses } = agent;
  const ctx = { clock, random, trace, client, metrics };
  const cri = instrumentedClient(deps.cri, ctx);
  return {
    ...{ deps, options, signal, config: options.config, client, metrics, ctx },
    /** The address of pods in the network of the node. Mirrors GetNodeHostIPs. */
    nodeIp: addresses.find(({ type }) => type === "InternalIP")?.address ?? "",
    /** the client of the runtime; its calls are counted */
    cri,
    /** the client for calls that repeat */
    polling: deps.polling === undefined ? cri : instrumentedClient(deps.polling, ctx),
  };
}
