import { readdir, symlink } from "node:fs/promises";
import { join, relative } from "node:path";
import type { ContainerSpec, EphemeralContainerSpec, V1Pod } from "../../staging/apimachinery/api/pod.js";
import { makeFolder } from "../../util/os/files.js";
import { factFor } from "../../util/release/facts.js";
import type { PullSecret } from "../container/generic-runtime.js";
import { findContainerStatusByName } from "../container/helpers.js";
import type { PodStatus } from "../container/runtime.js";
import type { SyncErrorReason } from "../container/sync-result.js";
import { generateContainerConfig } from "./container-config.js";
import { killContainer } from "./kill-container.js";
import { buildContainerLogsDirectory, legacyLogSymlink, restartCountByLogFiles } from "./logs/log-paths.js";
import { hookEventText, type ManagerContext, recordContainerEvent } from "./manager-context.js";
import type { SandboxConfig } from "./sandbox-config.js";

export interface StartRequest {
  readonly pod: V1Pod;
  readonly podStatus: PodStatus;
  readonly container: ContainerSpec;
  readonly sandboxId: string;
  readonly sandboxConfig: SandboxConfig;
  readonly podIps: readonly string[];
  readonly pullSecrets: readonly PullSecret[];
}

/** Why a container could not be started. */
export interface StartFailure {
  readonly error: SyncErrorReason;
  readonly message: string;
}

/**
 * Pulls the image, creates the container, starts it, runs its postStart hook.
 *
 * Mirrors startContainer in pkg/kubelet/kuberuntime/kuberuntime_container.go.
 * @returns undefined when it runs
 */
export async function startContainer(
  context: ManagerContext,
  request: StartRequest,
  signal: AbortSignal,
): Promise<StartFailure | undefined> {
  const { pod, container, sandboxId, sandboxConfig, pullSecrets } = request;
  const subject = { pod, container };
  const fail = (error: SyncErrorReason, message: string, containerId = "", said = message): StartFailure => {
    recordContainerEvent(context, { ...subject, containerId }, "Warning", "Failed", `Error: ${said}`);
    return { error, message };
  };

  const { observer } = context;
  observer.startStep(pod, container, 1, container.image ?? "");
  const image = await context.images.ensureImageExists({ pod, container, pullSecrets, sandboxConfig }, signal);
  // The event contains only the error's name; other events have the details.
  if (image.outcome === "failed") return fail(image.error, image.message, "", image.error);

  const restartCount = await restartCountOf(context, request);
  const targetId = targetOf(request);
  if (targetId.outcome === "failed") return fail("CreateContainerConfigError", targetId.message);
  const generated = await generateContainerConfig(
    context,
    { ...request, restartCount, imageRef: image.imageRef, ...targetId.target },
    signal,
  );
  if (generated.outcome === "failed") return fail("CreateContainerConfigError", generated.message);
  const { config, cleanup } = generated;
  try {
    observer.startStep(pod, container, 2, `restart ${restartCount}`);
    const created = await context.runtimeService.createContainer(sandboxId, config, sandboxConfig, signal);
    if (created.outcome !== "ok") return fail("CreateContainerError", created.message);
    const containerId = created.value;
    const record = (reason: string, message: string) =>
      recordContainerEvent(context, { ...subject, containerId }, "Normal", reason, message);
    const colon = factFor("createdEventColon", context.options.kubeVersion) ? ":" : "";
    record("Created", `Created container${colon} ${container.name}`);
    observer.startStep(pod, container, 3, containerId);
    const started = await context.runtimeService.startContainer(containerId, signal);
    if (started.outcome !== "ok") return fail("RunContainerError", started.message, containerId);
    record("Started", `Started container ${container.name}`);
    await linkLog(context, request, containerId, config.logPath ?? "");
    return await postStart(context, request, containerId, signal);
  } finally {
    await cleanup?.();
  }
}

/** The number of earlier runs: one more than the last status reports, or, without one, the number of logs. */
async function restartCountOf(context: ManagerContext, { pod, podStatus, container }: StartRequest): Promise<number> {
  const last = findContainerStatusByName(podStatus, container.name);
  if (last !== undefined) return last.restartCount + 1;
  const folder = buildContainerLogsDirectory(context.options.podLogsDirectory, pod.metadata, container.name);
  try {
    return restartCountByLogFiles(await readdir(folder));
  } catch {
    // Without the folder there are no logs: this is the first start.
    return 0;
  }
}

type Target =
  | { readonly outcome: "ok"; readonly target: { readonly targetId?: string } }
  | { readonly outcome: "failed"; readonly message: string };

/** The container whose processes an ephemeral container shares. Mirrors getTargetID. */
function targetOf({ container, podStatus }: StartRequest): Target {
  const { targetContainerName = "" } = container as EphemeralContainerSpec;
  if (targetContainerName === "") return { outcome: "ok", target: {} };
  const status = findContainerStatusByName(podStatus, targetContainerName);
  return status === undefined
    ? { outcome: "failed", message: `unable to find target container ${targetContainerName}` }
    : { outcome: "ok", target: { targetId: status.containerId } };
}

/**
 * Links the log for log collectors, which read only one folder. A failure does not stop the container.
 * Differs: the link is relative, so that it also leads to the log in a container with another /var.
 */
async function linkLog(
  { options, observer }: ManagerContext,
  { pod, container, sandboxConfig }: StartRequest,
  containerId: string,
  logPath: string,
): Promise<void> {
  const { containerLogsDirectory } = options;
  if (containerLogsDirectory === undefined) return;
  const link = legacyLogSymlink(containerLogsDirectory, containerId, container.name, pod.metadata);
  try {
    await makeFolder(containerLogsDirectory, 0o755);
    await symlink(relative(containerLogsDirectory, join(sandboxConfig.logDirectory ?? "", logPath)), link);
  } catch (error) {
    observer.logNotLinked(link, error);
  }
}

/** A failed hook kills the container. */
async function postStart(
  context: ManagerContext,
  { pod, container }: StartRequest,
  containerId: string,
  signal: AbortSignal,
): Promise<StartFailure | undefined> {
  const hook = container.lifecycle?.postStart;
  context.observer.startStep(pod, container, 4, hook ? (Object.keys(hook)[0] ?? "") : "it has none");
  if (hook === undefined || hook === null) return undefined;
  const failure = await context.runner.run(containerId, pod, container, hook, signal);
  if (failure === undefined) return undefined;
  const subject = { pod, container, containerId };
  recordContainerEvent(
    context,
    subject,
    "Warning",
    "FailedPostStartHook",
    hookEventText(context, "PostStart", failure),
  );
  const message = "FailedPostStartHook";
  const kill = { pod, containerId, name: container.name, message, reason: message } as const;
  const problem = await killContainer(context, kill, signal);
  if (problem !== undefined) context.observer.killFailed(problem);
  return { error: "PostStartHookError", message: failure };
}
