import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import { milliValue, unitValue } from "../../staging/apimachinery/quantity.js";
import { messageOf } from "../../util/errors.js";
import { type ContainerInfo, containerInfos } from "../stats/cadvisor/container-info.js";
import { cadvisorMetrics } from "../stats/cadvisor/prometheus.js";
import type { Kubelet } from "./kubelet.js";

/** The body of /metrics/cadvisor of a kubelet. A runtime without statistics is not an error of the request. */
export async function readCadvisorMetrics(kubelet: Kubelet, signal: AbortSignal): Promise<string> {
  const { cpu, memory } = kubelet.options.resources;
  const { nodeInfo } = kubelet.getNode().status ?? {};
  const unknown = { bootID: "", kernelVersion: "", machineID: "", osImage: "", systemUUID: "" };
  const machine = { ...unknown, ...nodeInfo, cores: milliValue(cpu) / 1000, memoryBytes: unitValue(memory) };
  return cadvisorMetrics(await read(kubelet, machine.memoryBytes, signal), machine);
}

async function read(
  kubelet: Kubelet,
  memoryCapacityBytes: number,
  signal: AbortSignal,
): Promise<readonly ContainerInfo[] | undefined> {
  const { podManager, summaryProvider, runtimeHelper, config, ctx } = kubelet;
  try {
    const { node, listed } = await summaryProvider.getContainers(signal);
    const deps = {
      getPodByUid: (uid: string) => podManager.getPodByUid(uid),
      podCgroup: (pod: V1Pod) => runtimeHelper.getPodCgroupParent(pod),
      resources: { cpuCfsQuota: config.cpuCFSQuota, memoryCapacityBytes },
    };
    return containerInfos(deps, node, listed);
  } catch (error) {
    signal.throwIfAborted();
    const message = `Couldn't get containers: ${messageOf(error)}`;
    ctx.trace.emit({ kind: "error", message }, { actor: "kubelet", level: 2 });
    return undefined;
  }
}
