import { buildContainerId, type Pod } from "../kubelet/container/runtime.js";
import { responseOf } from "../kubelet/kuberuntime/kube-runtime.js";
import type { V1Pod } from "../staging/apimachinery/api/pod.js";
import { ContainerState, PodSandboxState } from "../staging/cri/messages/enums.js";
import type { CriClient } from "../staging/cri/remote/create-cri-client.js";

/** A running container of a runtime, and the pod of its sandbox. */
export interface RunningContainerRef {
  readonly containerId: string;
  readonly name: string;
  readonly image: string;
}

export interface SandboxPod {
  readonly sandboxId: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly containers: readonly RunningContainerRef[];
}

/**
 * Lists the runtime's ready sandboxes with their running containers, including those that no kubelet created.
 * @throws RuntimeCallError
 */
export async function listSandboxPods({ runtime }: CriClient, signal: AbortSignal): Promise<readonly SandboxPod[]> {
  const [sandboxes, containers] = await Promise.all([
    runtime.listPodSandbox(undefined, signal).then(responseOf),
    runtime.listContainers(undefined, signal).then(responseOf),
  ]);
  const running = containers.filter(({ state }) => state === ContainerState.CONTAINER_RUNNING);
  return sandboxes
    .filter(({ state }) => state === PodSandboxState.SANDBOX_READY)
    .map(({ id, metadata }) => ({
      sandboxId: id,
      namespace: metadata?.namespace || "default",
      name: metadata?.name ?? id,
      uid: metadata?.uid ?? id,
      containers: running
        .filter(({ podSandboxId }) => podSandboxId === id)
        .map((one) => ({
          containerId: one.id,
          name: one.metadata?.name ?? one.id,
          image: one.image?.image ?? one.imageRef,
        })),
    }));
}

/** As the kubelet's server knows pods. */
export function toKubeletPod({ sandboxId, namespace, name, uid, containers }: SandboxPod): Pod {
  return {
    podUid: uid,
    namespace,
    name,
    createdAtMs: 0,
    containers: containers.map((one) => ({ containerId: one.containerId, name: one.name, state: "running" })),
    sandboxes: [{ containerId: sandboxId, state: "running" }],
  };
}

/** As the API has it. @param runtimeName `containerd` */
export function toApiPod(
  { namespace, name, uid, containers }: SandboxPod,
  nodeName: string,
  runtimeName: string,
): V1Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace, uid },
    spec: { nodeName, containers: containers.map(({ name: container, image }) => ({ name: container, image })) },
    status: {
      phase: "Running",
      containerStatuses: containers.map((one) => ({
        name: one.name,
        image: one.image,
        imageID: "",
        ready: true,
        restartCount: 0,
        containerID: buildContainerId(runtimeName, one.containerId),
        state: { running: {} },
      })),
    },
  };
}
