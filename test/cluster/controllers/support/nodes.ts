import { expect, onTestFinished } from "vitest";
import type { KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";
import { rfc3339 } from "../../../../src/staging/apimachinery/time.js";
import { type Harness, LEASES, startOnFakes } from "./harness.js";

const NODE_CONTROLLERS = ["nodelifecycle", "taint-eviction-controller", "nodeipam", "ttl", "podgc", "garbagecollector"];

/** The controllers of nodes, until the test ends. */
export async function startNodeControllers(kubeVersion = "1.25"): Promise<Harness> {
  const harness = await startOnFakes(NODE_CONTROLLERS, { kubeVersion });
  onTestFinished(async () => {
    await harness.stop();
    expect(harness.clock.sleeping).toBe(0); // no timer is left behind
  });
  return harness;
}

export const HEALTHY = {
  MemoryPressure: ["False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"],
  DiskPressure: ["False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"],
  PIDPressure: ["False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"],
  Ready: ["True", "KubeletReady", "kubelet is posting ready status"],
} as const;

export function conditions(
  nowMs: number,
  changed: Partial<Record<keyof typeof HEALTHY, readonly [string, string, string]>> = {},
) {
  return Object.entries({ ...HEALTHY, ...changed }).map(([type, [status, reason, message]]) => ({
    type,
    status,
    lastHeartbeatTime: rfc3339(nowMs),
    lastTransitionTime: rfc3339(nowMs),
    reason,
    message,
  }));
}

export function createNode({ cluster, clock }: Harness, name: string): KubeObject {
  const labels = {
    "kubernetes.io/os": "linux",
    "kubernetes.io/arch": "amd64",
    "beta.kubernetes.io/os": "linux",
    "beta.kubernetes.io/arch": "amd64",
  };
  return cluster.create("nodes", {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels },
    status: { conditions: conditions(clock.now()) },
  });
}

export function renewLease({ cluster, clock }: Harness, name: string, owner?: KubeObject): void {
  const renewTime = new Date(clock.now()).toISOString().replace("Z", "000Z");
  if (cluster.get(LEASES, "kube-node-lease", name) === undefined) {
    const ownerReferences = [{ apiVersion: "v1", kind: "Node", name, uid: owner?.metadata.uid ?? "" }];
    const metadata = { name, namespace: "kube-node-lease", ownerReferences };
    cluster.create(LEASES, { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec: { renewTime } });
  } else {
    cluster.patch(LEASES, "kube-node-lease", name, (lease) => ({
      ...lease,
      spec: { ...(lease["spec"] as object), renewTime },
    }));
  }
}

export function patchStatus(
  { cluster, clock }: Harness,
  name: string,
  changed: Parameters<typeof conditions>[1] = {},
): void {
  cluster.patch("nodes", undefined, name, (node) => ({
    ...node,
    status: { ...(node["status"] as object), conditions: conditions(clock.now(), changed) },
  }));
}

export interface PodOptions {
  readonly toleratedSeconds?: number | undefined;
  readonly everything?: boolean;
  readonly owner?: KubeObject;
}

export function createPod({ cluster, clock }: Harness, name: string, nodeName: string, options: PodOptions): void {
  const toleration = { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute" };
  const notReady = { ...toleration, key: "node.kubernetes.io/not-ready", tolerationSeconds: 300 };
  const limit = options.toleratedSeconds === undefined ? {} : { tolerationSeconds: options.toleratedSeconds };
  const tolerations =
    options.everything === true
      ? [{ operator: "Exists", effect: "NoExecute" }]
      : [{ ...toleration, ...limit }, notReady];
  const { owner } = options;
  const ownerReferences =
    owner === undefined
      ? {}
      : {
          ownerReferences: [
            { apiVersion: "v1", kind: "Node", name: nodeName, uid: owner.metadata.uid ?? "", controller: true },
          ],
        };
  const lastTransitionTime = rfc3339(clock.now());
  cluster.create("pods", {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", ...ownerReferences },
    spec: { nodeName, tolerations, terminationGracePeriodSeconds: 30 },
    status: { phase: "Running", conditions: [{ type: "Ready", status: "True", lastTransitionTime }] },
  });
}

/** Sends heartbeats of nodes every 10 s over a span of time. */
export async function beat(on: Harness, names: readonly string[], seconds: number): Promise<void> {
  for (let left = seconds; left > 0; left -= 10) {
    for (const name of names) renewLease(on, name);
    await on.clock.advance(Math.min(10, left) * 1000);
  }
}
