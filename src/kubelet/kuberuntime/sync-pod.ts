import {
  type ContainerSpec,
  containersOf,
  ephemeralContainersOf,
  initContainersOf,
  isRestartableInitContainer,
  type V1Pod,
} from "../../staging/apimachinery/api/pod.js";
import type { Backoff } from "../../staging/client-go/backoff.js";
import { describeFileError, makeFolder } from "../../util/os/files.js";
import type { PullSecret } from "../container/generic-runtime.js";
import { convertPodStatusToRunningPod, formatPod } from "../container/helpers.js";
import type { PodStatus } from "../container/runtime.js";
import { PodSyncResult } from "../container/sync-result.js";
import { computePodActions } from "./compute-pod-actions.js";
import { determinePodSandboxIps } from "./convert.js";
import { doBackOff } from "./do-back-off.js";
import { killContainer, killPodWithSyncResult } from "./kill-container.js";
import type { ManagerContext } from "./manager-context.js";
import type { PodActions } from "./pod-actions.js";
import { removeInitContainers } from "./remove-container.js";
import { wantsNothing } from "./report.js";
import { generatePodSandboxConfig } from "./sandbox-config.js";
import { type StartFailure, startContainer } from "./start-container.js";

export interface SyncPodRequest {
  readonly pod: V1Pod;
  readonly podStatus: PodStatus;
  readonly pullSecrets: readonly PullSecret[];
  readonly backOff: Backoff;
}

/**
 * Brings the runtime to a pod's spec:
 *
 *  1. compute what changed   2. kill the pod if its sandbox changed   3. else kill what should not run
 *  4. create a sandbox       5. start ephemeral containers            6. start init containers
 *  7. start containers
 *
 * Mirrors SyncPod in pkg/kubelet/kuberuntime/kuberuntime_manager.go. A failure ends the sync where upstream ends it;
 * the
 * result lists the actions.
 */
export async function syncPod(
  context: ManagerContext,
  request: SyncPodRequest,
  signal: AbortSignal,
): Promise<PodSyncResult> {
  const { pod, podStatus } = request;
  const { livenessManager, startupManager, options, observer } = context;
  const deps = { livenessManager, startupManager, kubeVersion: options.kubeVersion };
  const actions = computePodActions(pod, podStatus, deps);
  const carriesOut = () => carryOut(context, request, actions, signal);
  if (!wantsNothing(actions)) return observer.syncing(pod, actions, carriesOut);
  observer.leavesPod(pod);
  return carriesOut();
}

async function carryOut(
  context: ManagerContext,
  request: SyncPodRequest,
  actions: PodActions,
  signal: AbortSignal,
): Promise<PodSyncResult> {
  const { pod, podStatus } = request;
  const result = new PodSyncResult();
  if (actions.createSandbox && actions.sandboxId !== undefined) {
    const message = "Pod sandbox changed, it will be killed and re-created.";
    context.recorder.event(pod, "Normal", "SandboxChanged", message);
  }
  if (!(await killUnwanted(context, request, actions, result, signal))) return result;
  await removeInitContainers(context, pod, podStatus, "all but the last", signal);

  const sandbox = actions.createSandbox
    ? await createSandbox(context, request, actions, result, signal)
    : { sandboxId: actions.sandboxId ?? "", podIps: podStatus.ips };
  if (sandbox === undefined) return result;
  await startAll(context, request, actions, { ...sandbox, result }, signal);
  return result;
}

/** Steps 2 and 3. @returns false: something could not be killed, so nothing is started */
async function killUnwanted(
  context: ManagerContext,
  { pod, podStatus }: SyncPodRequest,
  actions: PodActions,
  result: PodSyncResult,
  signal: AbortSignal,
): Promise<boolean> {
  if (actions.killPod) {
    const running = convertPodStatusToRunningPod(podStatus);
    const killed = await killPodWithSyncResult(context, pod, running, undefined, signal);
    result.addPodSyncResult(killed);
    if (killed.error !== undefined) return false;
    if (actions.createSandbox) await removeInitContainers(context, pod, podStatus, "all", signal);
    return true;
  }
  for (const kill of actions.containersToKill) {
    const base = { action: "KillContainer", target: kill.name } as const;
    const problem = await killContainer(context, { pod, ...kill }, signal);
    result.addSyncResult(problem === undefined ? base : { ...base, error: "KillContainerError", message: problem });
    if (problem !== undefined) return false;
  }
  return true;
}

interface ReadySandbox {
  readonly sandboxId: string;
  readonly podIps: readonly string[];
}

/** Step 4. @returns undefined: it failed, and the result contains why */
async function createSandbox(
  context: ManagerContext,
  { pod, podStatus }: SyncPodRequest,
  { attempt }: PodActions,
  result: PodSyncResult,
  signal: AbortSignal,
): Promise<ReadySandbox | undefined> {
  const { recorder, runtimeService, podStateProvider } = context;
  const base = { action: "CreatePodSandbox", target: formatPod(pod) } as const;
  context.metrics?.add("kubelet_started_pods_total");
  const created = await createPodSandbox(context, pod, attempt, signal);
  if (created.outcome === "failed") {
    // The creation did not fail: the pod was deleted meanwhile.
    if (podStateProvider.isPodTerminationRequested(pod.metadata.uid)) {
      result.addSyncResult(base);
      return undefined;
    }
    context.metrics?.add("kubelet_started_pods_errors_total");
    result.addSyncResult({ ...base, error: "CreatePodSandboxError", message: created.message });
    recorder.event(pod, "Warning", "FailedCreatePodSandBox", `Failed to create pod sandbox: ${created.text}`);
    return undefined;
  }
  result.addSyncResult(base);
  const { sandboxId } = created;
  const status = await runtimeService.podSandboxStatus(sandboxId, false, signal);
  if (status.outcome !== "ok") {
    recorder.event(pod, "Warning", "FailedPodSandBoxStatus", `Unable to get pod sandbox status: ${status.text}`);
    result.fail(status.text);
    return undefined;
  }
  if (status.value.status === undefined) {
    result.fail("pod sandbox status is nil");
    return undefined;
  }
  // In the host's network it has the host's addresses, which the runtime does not report.
  const isHostNetwork = pod.spec.hostNetwork === true;
  return { sandboxId, podIps: isHostNetwork ? podStatus.ips : determinePodSandboxIps(status.value.status) };
}

type CreatedSandbox =
  | { readonly outcome: "ok"; readonly sandboxId: string }
  | { readonly outcome: "failed"; readonly message: string; readonly text: string };

/** Mirrors createPodSandbox in pkg/kubelet/kuberuntime/kuberuntime_sandbox.go. */
async function createPodSandbox(
  context: ManagerContext,
  pod: V1Pod,
  attempt: number,
  signal: AbortSignal,
): Promise<CreatedSandbox> {
  const { runtimeHelper, options, runtimeService, observer } = context;
  const { podLogsDirectory, cpuCfsQuota = true } = options;
  const name = `"${formatPod(pod)}"`;
  const failed = (doing: string, text: string): CreatedSandbox => ({
    outcome: "failed",
    message: `${doing} for pod ${name}: ${text}`,
    text,
  });
  const sandboxOptions = { podLogsDirectory, cpuCfsQuota };
  const generated = await generatePodSandboxConfig(pod, attempt, runtimeHelper, sandboxOptions, signal);
  if (generated.outcome === "failed") return failed("Failed to generate sandbox config", generated.message);
  try {
    await makeFolder(generated.logDirectory, 0o755);
  } catch (error) {
    return failed("Failed to create log directory", describeFileError(error));
  }
  observer.makesLogFolder(pod, generated.logDirectory);
  observer.runsSandbox(pod, generated.dns);
  const handler = options.runtimeHandlerOf?.(pod.spec.runtimeClassName ?? "") ?? "";
  const run = await runtimeService.runPodSandbox(generated.config, handler, signal);
  if (run.outcome !== "ok") return failed("Failed to create sandbox", run.text);
  return { outcome: "ok", sandboxId: run.value };
}

/** Steps 5 to 7. */
async function startAll(
  context: ManagerContext,
  request: SyncPodRequest,
  actions: PodActions,
  { sandboxId, podIps, result }: ReadySandbox & { readonly result: PodSyncResult },
  signal: AbortSignal,
): Promise<void> {
  const { pod, podStatus, pullSecrets, backOff } = request;
  const { podLogsDirectory, cpuCfsQuota = true } = context.options;
  const base = { action: "ConfigPodSandbox", target: sandboxId } as const;
  const options = { podLogsDirectory, cpuCfsQuota };
  const generated = await generatePodSandboxConfig(pod, actions.attempt, context.runtimeHelper, options, signal);
  if (generated.outcome === "failed") {
    const message = `GeneratePodSandboxConfig for pod "${formatPod(pod)}" failed: ${generated.message}`;
    result.addSyncResult({ ...base, error: "ConfigPodSandboxError", message });
    return;
  }
  result.addSyncResult(base);
  const sandboxConfig = generated.config;
  /** @returns whether it runs now */
  const start = async (container: ContainerSpec | undefined, type: ContainerType): Promise<boolean> => {
    if (container === undefined) return false;
    const start = { pod, podStatus, container, sandboxId, sandboxConfig, podIps, pullSecrets };
    const failure =
      doBackOff(context, { pod, container, podStatus, backOff }) ??
      (await counted(context, type, () => startContainer(context, start, signal)));
    result.addSyncResult({ action: "StartContainer", target: container.name, ...failure });
    return failure === undefined;
  };
  for (const i of actions.ephemeralContainersToStart) await start(ephemeralContainersOf(pod)[i], "ephemeral_container");
  for (const i of actions.initContainersToStart) {
    const container = initContainersOf(pod)[i];
    const runs = await start(container, "init_container");
    // The remaining ones wait for it, unless it is a sidecar.
    if (!runs && (container === undefined || !isRestartableInitContainer(container))) return;
  }
  for (const i of actions.containersToStart) await start(containersOf(pod)[i], "container");
}

/** Mirrors the labels Container, InitContainer and EphemeralContainer in pkg/kubelet/metrics/metrics.go. */
type ContainerType = "container" | "init_container" | "ephemeral_container";

async function counted(
  { metrics }: ManagerContext,
  type: ContainerType,
  start: () => Promise<StartFailure | undefined>,
): Promise<StartFailure | undefined> {
  metrics?.add("kubelet_started_containers_total", { container_type: type });
  const failure = await start();
  if (failure === undefined) return undefined;
  metrics?.add("kubelet_started_containers_errors_total", { code: failure.error, container_type: type });
  return failure;
}
