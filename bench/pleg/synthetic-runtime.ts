import { newContainerAnnotations, newContainerLabels, newPodLabels } from "../../src/kubelet/kuberuntime/labels.js";
import type { Encoded } from "../../src/staging/apimachinery/protobuf/fields.js";
import type { RunningGrpcServer } from "../../src/staging/cri/grpc/grpc-server.js";
import type { CallContext } from "../../src/staging/cri/grpc/served-call.js";
import { RpcError } from "../../src/staging/cri/grpc/status.js";
import { POD_UID_LABEL } from "../../src/staging/cri/labels.js";
import { ContainerStatusResponse, ListContainersResponse } from "../../src/staging/cri/messages/container-calls.js";
import { ContainerState, PodSandboxState } from "../../src/staging/cri/messages/enums.js";
import { ListPodSandboxResponse, PodSandboxStatusResponse } from "../../src/staging/cri/messages/sandbox.js";
import { type CriHandlers, serveCri } from "../../src/staging/cri/server.js";

const CREATED_NS = 1_760_000_000_000_000_000n;
const CONTAINERS_PER_POD = 2;

/** Turns a number into a realistic ID of 64 hexadecimal digits. */
function idOf(seed: number): string {
  let id = "";
  for (let x = seed + 1; id.length < 64; x++) id += (Math.imul(x, 0x9e3779b1) >>> 0).toString(16).padStart(8, "0");
  return id;
}

interface Listing {
  readonly sandboxes: Encoded;
  readonly containers: Encoded;
}

/** All answers of a runtime with `podCount` running pods of two containers each, encoded in advance. */
export interface SyntheticAnswers {
  readonly all: Listing;
  /** by pod uid */
  readonly listings: ReadonlyMap<string, Listing>;
  /** by sandbox ID */
  readonly sandboxStatuses: ReadonlyMap<string, Encoded>;
  /** by container ID */
  readonly containerStatuses: ReadonlyMap<string, Encoded>;
}

export function syntheticAnswers(podCount: number): SyntheticAnswers {
  const sandboxStatuses = new Map<string, Encoded>();
  const containerStatuses = new Map<string, Encoded>();
  const listings = new Map<string, Listing>();
  const sandboxes: ReturnType<typeof sandboxOf>[] = [];
  const containers: ReturnType<typeof containerOf>[] = [];
  for (let i = 0; i < podCount; i++) {
    const pod = podOf(i);
    const ownContainers = Array.from({ length: CONTAINERS_PER_POD }, (_, c) => containerOf(pod, i, c));
    const sandbox = sandboxOf(pod, i);
    sandboxes.push(sandbox);
    containers.push(...ownContainers);
    listings.set(pod.metadata.uid, {
      sandboxes: ListPodSandboxResponse.encoded({ items: [sandbox] }),
      containers: ListContainersResponse.encoded({ containers: ownContainers }),
    });
    const network = { ip: `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}` };
    sandboxStatuses.set(sandbox.id, PodSandboxStatusResponse.encoded({ status: { ...sandbox, network } }));
    for (const container of ownContainers) {
      const status = {
        ...container,
        startedAt: CREATED_NS + 1_000_000n,
        logPath: `/var/log/pods/${container.id}/0.log`,
      };
      containerStatuses.set(container.id, ContainerStatusResponse.encoded({ status }));
    }
  }
  const all = {
    sandboxes: ListPodSandboxResponse.encoded({ items: sandboxes }),
    containers: ListContainersResponse.encoded({ containers }),
  };
  return { all, listings, sandboxStatuses, containerStatuses };
}

/** Serves them on a socket. */
export function serveSynthetic(podCount: number, path: string): Promise<RunningGrpcServer> {
  const { all, listings: ofPods, sandboxStatuses, containerStatuses } = syntheticAnswers(podCount);
  type Filtered = { readonly filter: { readonly labelSelector: Readonly<Record<string, string>> } | undefined };
  const listing = ({ filter }: Filtered) => {
    const uid = filter?.labelSelector[POD_UID_LABEL];
    return uid === undefined ? all : ofPods.get(uid);
  };
  const statusOf = (statuses: ReadonlyMap<string, Encoded>, id: string) => {
    const status = statuses.get(id);
    if (status === undefined) throw new RpcError("NotFound", `no container ${id}`);
    return status;
  };
  const conditions = ["RuntimeReady", "NetworkReady"].map((type) => ({ type, status: true }));
  const runtime = {
    version: () => ({ version: "0.1.0", runtimeName: "synthetic", runtimeVersion: "1", runtimeApiVersion: "v1" }),
    status: () => ({ status: { conditions } }),
    listPodSandbox: (request: Filtered) => listing(request)?.sandboxes ?? {},
    listContainers: (request: Filtered) => listing(request)?.containers ?? {},
    podSandboxStatus: ({ podSandboxId }: { podSandboxId: string }) => statusOf(sandboxStatuses, podSandboxId),
    containerStatus: ({ containerId }: { containerId: string }) => statusOf(containerStatuses, containerId),
    getContainerEvents: (_request: unknown, { signal }: CallContext) => silence(signal),
  } satisfies CriHandlers["runtime"];
  return serveCri({ runtime, image: {} }, `unix://${path}`);
}

/** A stream of events in which nothing happens. */
async function* silence(signal: AbortSignal): AsyncGenerator<never> {
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
}

function podOf(i: number) {
  const name = `web-${(i % 50).toString(36)}-7d4b9c6f5d-${i.toString(36).padStart(5, "x")}`;
  const uid = `${idOf(i).slice(0, 8)}-0000-4000-8000-${i.toString(16).padStart(12, "0")}`;
  return {
    metadata: { name, namespace: `team-${i % 20}`, uid, labels: { app: "web", "pod-template-hash": "7d4b9c6f5d" } },
    spec: { terminationGracePeriodSeconds: 30 },
  };
}

function sandboxOf(pod: ReturnType<typeof podOf>, i: number) {
  const { name, namespace, uid } = pod.metadata;
  return {
    id: idOf(i * 3),
    metadata: { name, namespace, uid, attempt: 0 },
    state: PodSandboxState.SANDBOX_READY,
    createdAt: CREATED_NS + BigInt(i) * 1_000_000n,
    labels: newPodLabels(pod),
    annotations: {
      "kubernetes.io/config.seen": "2026-01-01T00:00:00.000000000Z",
      "kubernetes.io/config.source": "api",
    },
  };
}

function containerOf(pod: ReturnType<typeof podOf>, i: number, c: number) {
  const container = {
    name: c === 0 ? "app" : "sidecar",
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
    ports: [{ name: "http", containerPort: 8080, protocol: "TCP" }],
  };
  return {
    id: idOf(i * 3 + 1 + c),
    podSandboxId: idOf(i * 3),
    metadata: { name: container.name, attempt: 0 },
    image: { image: `sha256:${idOf(7)}` },
    imageRef: `sha256:${idOf(7)}`,
    state: ContainerState.CONTAINER_RUNNING,
    createdAt: CREATED_NS + BigInt(i) * 1_000_000n,
    labels: newContainerLabels(container, pod),
    annotations: newContainerAnnotations(container, pod, { restartCount: 0, hash: 0xc0ffee01 }),
  };
}
