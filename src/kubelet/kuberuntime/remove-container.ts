import { readdir, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { initContainersOf, type V1Pod } from "../../staging/apimachinery/api/pod.js";
import { CONTAINER_NAME_LABEL, POD_NAME_LABEL, POD_NAMESPACE_LABEL, POD_UID_LABEL } from "../../staging/cri/labels.js";
import type { PodStatus } from "../container/runtime.js";
import { isOwnLog, legacyLogSymlink } from "./logs/log-paths.js";
import type { ManagerContext } from "./manager-context.js";

/**
 * Removes a dead container, its logs first: if they cannot be removed, the container stays, and the next attempt finds
 * both.
 *
 * Mirrors removeContainer and removeContainerLog in pkg/kubelet/kuberuntime/kuberuntime_container.go, and Clean in
 * pkg/kubelet/logs/container_log_manager.go.
 * @returns undefined when it is gone; otherwise the problem
 */
export async function removeContainer(
  context: ManagerContext,
  containerId: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { runtimeService, options } = context;
  const result = await runtimeService.containerStatus(containerId, false, signal);
  if (result.outcome === "not-found") return undefined;
  if (result.outcome !== "ok") return `failed to get container status "${containerId}": ${result.text}`;
  const { logPath = "", labels = {} } = result.value.status ?? {};
  try {
    if (isOwnLog(logPath, options.podLogsDirectory)) await removeLogs(logPath);
    if (options.containerLogsDirectory !== undefined) {
      const pod = {
        name: labels[POD_NAME_LABEL] ?? "",
        namespace: labels[POD_NAMESPACE_LABEL] ?? "",
        uid: labels[POD_UID_LABEL] ?? "",
      };
      const name = labels[CONTAINER_NAME_LABEL] ?? "";
      await rm(legacyLogSymlink(options.containerLogsDirectory, containerId, name, pod), { force: true });
    }
  } catch (error) {
    return `failed to remove container "${containerId}" log: ${error instanceof Error ? error.message : error}`;
  }
  const removed = await runtimeService.removeContainer(containerId, signal);
  return removed.outcome === "ok" || removed.outcome === "not-found" ? undefined : removed.text;
}

/** A log and its rotated files: `0.log`, `0.log.20260102-030405`, `0.log.20260102-030405.gz`. */
async function removeLogs(logPath: string): Promise<void> {
  const folder = dirname(logPath);
  const log = basename(logPath);
  let names: readonly string[];
  try {
    names = await readdir(folder);
  } catch {
    // Without the folder there are no logs.
    return;
  }
  const ours = names.filter((name) => name === log || name.startsWith(`${log}.`));
  for (const name of ours) await rm(join(folder, name), { force: true });
}

/**
 * Removes containers of earlier runs of init containers: `all` before the pod starts over, otherwise `all but the
 * last`.
 * Mirrors purgeInitContainers and pruneInitContainersBeforeStart. Garbage collection removes what fails here.
 */
export async function removeInitContainers(
  context: ManagerContext,
  pod: V1Pod,
  { containerStatuses }: PodStatus,
  which: "all" | "all but the last",
  signal: AbortSignal,
): Promise<void> {
  for (const { name } of initContainersOf(pod)) {
    const statuses = containerStatuses.filter((status) => status.name === name);
    const ended = statuses.filter(({ state }) => state === "exited" || state === "unknown");
    for (const { containerId } of which === "all" ? statuses : ended.slice(1)) {
      const problem = await removeContainer(context, containerId, signal);
      if (problem !== undefined) context.observer.initContainerNotRemoved(name, problem);
    }
  }
}
