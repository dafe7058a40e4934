import type { PodStatus } from "../../../src/kubelet/container/runtime.js";
import { CONFIG_SOURCE_ANNOTATION } from "../../../src/kubelet/types/pod-update.js";
import type { V1Pod, V1PodSpec, V1PodStatus } from "../../../src/staging/apimachinery/api/pod.js";

export interface MadePod {
  readonly uid?: string;
  readonly source?: string;
  readonly namespace?: string;
  readonly metadata?: Partial<V1Pod["metadata"]>;
  readonly spec?: Partial<V1PodSpec>;
  readonly status?: V1PodStatus;
}

/** A pod as an API server has it. */
export function makePod(name: string, made: MadePod = {}): V1Pod {
  const { uid = `uid-${name}`, source = "api", namespace = "default", metadata, spec, status } = made;
  const annotations = { [CONFIG_SOURCE_ANNOTATION]: source, ...metadata?.annotations };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace, uid, ...metadata, annotations },
    spec: { containers: [{ name: "app", image: "busybox" }], restartPolicy: "Always", ...spec },
    status: status ?? { phase: "Pending" },
  };
}

export function emptyPodStatus(podUid: string): PodStatus {
  return { podUid, name: "", namespace: "", ips: [], containerStatuses: [], sandboxStatuses: [] };
}
