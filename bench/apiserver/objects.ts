/** What the benchmark sends: leases and pods as a kubelet has them. */

export const NAMESPACE = "kubelab-bench";

export function nameOf(index: number): string {
  return `bench-${index}`;
}

export function namespace(): string {
  return JSON.stringify({ apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } });
}

/** @param resourceVersion of the lease that is renewed; absent: a new one */
export function lease(index: number, renewal: number, resourceVersion?: string): string {
  const name = nameOf(index);
  const renewTime = new Date(Date.UTC(2026, 0, 1) + renewal * 1000).toISOString().replace("Z", "000Z");
  return JSON.stringify({
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name, namespace: NAMESPACE, ...(resourceVersion === undefined ? {} : { resourceVersion }) },
    spec: { holderIdentity: name, leaseDurationSeconds: 40, renewTime },
  });
}

/** A pod that no scheduler takes: nothing but the API server works on it. */
export function pod(index: number): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: nameOf(index), namespace: NAMESPACE, labels: { app: "bench", "pod-template-hash": "5d4f8c7b9" } },
    spec: {
      schedulerName: "nobody",
      containers: [
        {
          name: "app",
          image: "registry.example/app:1.0",
          ports: [{ containerPort: 8080 }],
          env: [{ name: "MODE", value: "bench" }],
          resources: { requests: { cpu: "10m", memory: "16Mi" } },
          readinessProbe: { httpGet: { path: "/ready", port: 8080 } },
        },
      ],
    },
  });
}

/** What a kubelet patches in when a pod runs; each `turn` differs from the last. */
export function podStatus(turn: number): string {
  const startTime = "2026-01-01T00:00:00Z";
  const condition = (type: string) => ({ type, status: "True", lastProbeTime: null, lastTransitionTime: startTime });
  const types = ["Initialized", "Ready", "ContainersReady", "PodScheduled"];
  return JSON.stringify({
    status: {
      "$setElementOrder/conditions": types.map((type) => ({ type })),
      conditions: types.map(condition),
      phase: "Running",
      startTime,
      hostIP: "192.0.2.1",
      podIP: "10.0.0.1",
      podIPs: [{ ip: "10.0.0.1" }],
      containerStatuses: [
        {
          name: "app",
          image: "registry.example/app:1.0",
          imageID: `registry.example/app@sha256:${"0".repeat(64)}`,
          containerID: `containerd://${"1".repeat(64)}`,
          ready: true,
          started: true,
          restartCount: turn,
          state: { running: { startedAt: startTime } },
        },
      ],
    },
  });
}
