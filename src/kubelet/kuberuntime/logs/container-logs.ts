import type { V1Pod } from "../../../staging/apimachinery/api/pod.js";
import type { RpcResult } from "../../../staging/cri/grpc/status.js";
import { ContainerState } from "../../../staging/cri/messages/enums.js";
import type { Trace } from "../../../trace/trace.js";
import type { Clock } from "../../../util/clock.js";
import { validateContainerLogStatus } from "./container-log-status.js";
import { LogError, type LogPiece, newLogOptions, type PodLogOptions } from "./options.js";
import { readLogs } from "./read-logs.js";

/** The fields of a container's status that reading its log needs. */
export interface LoggedContainer {
  readonly state: number;
  readonly logPath: string;
}

export interface ContainerLogsDeps {
  readonly clock: Clock;
  readonly trace: Trace;
  /** the runtime's call: `(id, signal) => runtimeService.containerStatus(id, false, signal)` */
  containerStatus(
    containerId: string,
    signal: AbortSignal,
  ): Promise<RpcResult<{ readonly status: LoggedContainer | undefined }>>;
}

/**
 * Reads the log of a pod's container, wherever the runtime keeps it.
 *
 * Mirrors pkg/kubelet/kubelet_pods.go (GetKubeletContainerLogs). Once the container is known, an empty piece comes
 * first: it starts the client's response while a quiet container is followed. A later failure is written to the end of
 * the log, because the response has no other place for it.
 *
 * @param pod with the kubelet's status of it
 * @throws LogError in the kubelet's words
 */
export async function* getKubeletContainerLogs(
  deps: ContainerLogsDeps,
  pod: V1Pod,
  containerName: string,
  options: PodLogOptions,
  signal: AbortSignal,
): AsyncGenerator<LogPiece> {
  const { previous = false } = options;
  const containerId = validateContainerLogStatus(pod.metadata.name, pod.status, containerName, previous);
  yield { stream: "stdout", bytes: new Uint8Array() };
  yield* getContainerLogs(deps, containerId, options, signal);
}

/**
 * Mirrors pkg/kubelet/kuberuntime/kuberuntime_container.go (GetContainerLogs).
 *
 * @param typedId `containerd://4f0c…`
 * @throws LogError; of a container that has been removed: `unable to retrieve container logs for containerd://4f0c…`
 */
async function* getContainerLogs(
  deps: ContainerLogsDeps,
  typedId: string,
  options: PodLogOptions,
  signal: AbortSignal,
): AsyncGenerator<LogPiece> {
  const { clock, trace } = deps;
  const containerId = typedId.split("://").at(-1) ?? "";
  const status = await deps.containerStatus(containerId, signal);
  if (status.outcome !== "ok" || status.value.status === undefined) {
    throw new LogError(`unable to retrieve container logs for ${typedId}`);
  }
  const path = status.value.status.logPath;
  const isContainerRunning = async (id: string) => {
    const now = await deps.containerStatus(id, signal);
    if (now.outcome !== "ok") throw new LogError(now.text);
    return now.value.status?.state === ContainerState.CONTAINER_RUNNING;
  };
  const request = { path, containerId, options: newLogOptions(options, clock.now()) };
  yield* readLogs({ clock, trace, isContainerRunning }, request, signal);
}
