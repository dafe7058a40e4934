import type { V1Pod } from "../../../src/apimachinery/api/pod.js";

interface StagePod {
  readonly phase?: string | undefined;
  readonly restartPolicy?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly deletionTimestamp?: string;
  readonly hostNetwork?: boolean;
  readonly resourceVersion?: string;
}

/** A pod of node-1 with one container. */
export function stagePod({ restartPolicy = "Always", hostNetwork, ...more }: StagePod): V1Pod {
  const { phase = "phase" in more ? undefined : "Pending", ...metadata } = more;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", namespace: "default", uid: "u1", ...metadata },
    spec: { nodeName: "node-1", restartPolicy, hostNetwork, containers: [{ name: "c", image: "nginx" }] },
    status: { ...(phase === undefined ? {} : { phase }) },
  } as V1Pod;
}
