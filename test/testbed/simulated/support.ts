import type { V1Pod } from "../../../src/staging/apimachinery/api/pod.js";

interface StagePod {
  readonly name?: string;
  readonly nodeName?: string;
  readonly phase?: string | undefined;
  readonly restartPolicy?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly deletionTimestamp?: string;
  readonly hostNetwork?: boolean;
}

/** A pod of node-1 with one container. */
export function stagePod({
  name = "p",
  nodeName = "node-1",
  restartPolicy = "Always",
  hostNetwork,
  ...more
}: StagePod): V1Pod {
  const { phase = "phase" in more ? undefined : "Pending", ...metadata } = more;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", ...metadata },
    spec: {
      nodeName,
      restartPolicy,
      ...(hostNetwork === undefined ? {} : { hostNetwork }),
      dnsPolicy: "ClusterFirst",
      terminationGracePeriodSeconds: 30,
      containers: [{ name: "c", image: "nginx", imagePullPolicy: "Always", terminationMessagePolicy: "File" }],
    },
    status: { ...(phase === undefined ? {} : { phase }) },
  } as unknown as V1Pod;
}
