import type { ContainerSpec, V1Pod } from "../../staging/apimachinery/api/pod.js";
import { CONTAINER_NAME_LABEL, POD_NAME_LABEL, POD_NAMESPACE_LABEL, POD_UID_LABEL } from "../../staging/cri/labels.js";
import { defined } from "../../util/defined.js";
import { factFor } from "../../util/release/facts.js";
import { formatPod, getContainerSpec, type LifecycleHandler } from "../container/helpers.js";
import type { Pod } from "../container/runtime.js";
import type { SyncResult } from "../container/sync-result.js";
import { PodSyncResult } from "../container/sync-result.js";
import { hasRestartableInitContainer } from "./compute-pod-actions.js";
import {
  DELETION_GRACE_PERIOD_ANNOTATION,
  PRE_STOP_HANDLER_ANNOTATION,
  TERMINATION_GRACE_PERIOD_ANNOTATION,
} from "./labels.js";
import { hookEventText, type ManagerContext, recordContainerEvent } from "./manager-context.js";
import type { KillReason } from "./pod-actions.js";
import { TerminationOrdering } from "./termination-order.js";

/** The minimum grace period, unless overridden. pkg/kubelet/kuberuntime/kuberuntime_manager.go */
export const MINIMUM_GRACE_PERIOD_SECONDS = 2;

export interface KillRequest {
  /** undefined: only the runtime knows the pod; the container's labels and annotations hold what is needed */
  readonly pod: V1Pod | undefined;
  readonly containerId: string;
  readonly name: string;
  /** message of the Killing event; empty: the container is being stopped */
  readonly message: string;
  readonly reason: KillReason;
  /** seconds; undefined: the pod's own */
  readonly gracePeriodOverride?: number;
  readonly ordering?: TerminationOrdering;
}

/**
 * Runs a container's preStop hook, then stops it; the hook's time is taken from the grace period. Up to v1.27 the hook
 * does not shorten an override, which pod workers always set.
 *
 * Mirrors killContainer in pkg/kubelet/kuberuntime/kuberuntime_container.go.
 * @returns undefined when it is stopped or gone; otherwise the runtime's error
 */
export async function killContainer(
  context: ManagerContext,
  request: KillRequest,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { containerId, name, message, reason, gracePeriodOverride, ordering } = request;
  const specs = await specsOf(context, request, signal);
  if (typeof specs === "string") return specs;
  const { pod, container } = specs;
  const text = message === "" ? `Stopping container ${container.name}` : message;
  recordContainerEvent(context, { pod, container, containerId }, "Normal", "Killing", text);
  const own = terminationGracePeriod(pod, container, reason);
  const isWithin = factFor("preStopWithinOverride", context.options.kubeVersion);
  let graceSeconds = isWithin ? (gracePeriodOverride ?? own) : own;
  const preStop = container.lifecycle?.preStop;
  if (preStop !== undefined && preStop !== null && graceSeconds > 0) {
    graceSeconds -= await executePreStopHook(context, { pod, container, containerId, preStop }, graceSeconds, signal);
  }
  if (ordering !== undefined && graceSeconds > 0) {
    graceSeconds -= await ordering.waitForTurn(name, graceSeconds, signal);
  }
  graceSeconds = Math.max(graceSeconds, MINIMUM_GRACE_PERIOD_SECONDS);
  // Up to v1.27 an override applies in full, whatever the hook has used of it.
  if (!isWithin && gracePeriodOverride !== undefined) graceSeconds = gracePeriodOverride;
  context.observer.stopsContainer({ pod, name, containerId }, text, graceSeconds, context.options.kubeVersion);
  const result = await context.runtimeService.stopContainer(containerId, graceSeconds, signal);
  if (result.outcome !== "ok" && result.outcome !== "not-found") return result.text;
  ordering?.containerTerminated(name);
  return undefined;
}

/** The pod's deletion grace period, else a failed probe's, else the spec's. Mirrors setTerminationGracePeriod. */
export function terminationGracePeriod(pod: V1Pod, container: ContainerSpec, reason: KillReason): number {
  const { deletionGracePeriodSeconds } = pod.metadata;
  if (deletionGracePeriodSeconds !== undefined) return deletionGracePeriodSeconds;
  const { terminationGracePeriodSeconds } = pod.spec;
  if (terminationGracePeriodSeconds === undefined) return MINIMUM_GRACE_PERIOD_SECONDS;
  const probe =
    reason === "StartupProbe"
      ? container.startupProbe
      : reason === "LivenessProbe"
        ? container.livenessProbe
        : undefined;
  return probe?.terminationGracePeriodSeconds ?? terminationGracePeriodSeconds;
}

/** @returns the hook's time in whole seconds. Mirrors executePreStopHook: a hook that exceeds the grace period is abandoned */
async function executePreStopHook(
  context: ManagerContext,
  hook: {
    readonly pod: V1Pod;
    readonly container: ContainerSpec;
    readonly containerId: string;
    readonly preStop: LifecycleHandler;
  },
  graceSeconds: number,
  signal: AbortSignal,
): Promise<number> {
  const { pod, container, containerId, preStop } = hook;
  const startMs = context.clock.now();
  const over = new AbortController();
  const both = AbortSignal.any([signal, over.signal]);
  const run = async () => {
    const failure = await context.runner.run(containerId, pod, container, preStop, both);
    if (failure === undefined) return;
    const subject = { pod, container, containerId };
    recordContainerEvent(context, subject, "Warning", "FailedPreStopHook", hookEventText(context, "PreStop", failure));
  };
  const hooked = run();
  const timer = context.clock.sleep(graceSeconds * 1000, both, {
    what: `end the preStop hook of ${container.name}`,
    setBy: "terminationGracePeriodSeconds",
  });
  try {
    await Promise.race([hooked, timer]);
  } finally {
    over.abort();
    // Aborting the loser of the race is not a failure.
    await Promise.allSettled([hooked, timer]);
  }
  return Math.trunc((context.clock.now() - startMs) / 1000);
}

type Specs = { readonly pod: V1Pod; readonly container: ContainerSpec };

async function specsOf(
  context: ManagerContext,
  { pod, containerId, name, message }: KillRequest,
  signal: AbortSignal,
): Promise<Specs | string> {
  if (pod === undefined) return restoreSpecs(context, containerId, signal);
  const container = getContainerSpec(pod, name);
  if (container !== undefined) return { pod, container };
  const id = `(id="${context.options.runtimeName}://${containerId}")`;
  return `failed to get containerSpec "${name}" ${id} in pod "${formatPod(pod)}" when killing container for reason "${message}"`;
}

/** Restores pod and container from the container's labels and annotations. Mirrors restoreSpecsFromContainerLabels. */
async function restoreSpecs(
  context: ManagerContext,
  containerId: string,
  signal: AbortSignal,
): Promise<Specs | string> {
  const result = await context.runtimeService.containerStatus(containerId, false, signal);
  if (result.outcome !== "ok") return result.text;
  const { status } = result.value;
  if (status === undefined) return "container status is nil";
  const { labels, annotations } = status;
  const deletion = secondsOf(annotations[DELETION_GRACE_PERIOD_ANNOTATION]);
  const termination = secondsOf(annotations[TERMINATION_GRACE_PERIOD_ANNOTATION]);
  const preStop = preStopOf(annotations[PRE_STOP_HANDLER_ANNOTATION]);
  const container: ContainerSpec = {
    name: labels[CONTAINER_NAME_LABEL] ?? "",
    ...(preStop === undefined ? {} : { lifecycle: { preStop } }),
  };
  const metadata = {
    name: labels[POD_NAME_LABEL] ?? "",
    namespace: labels[POD_NAMESPACE_LABEL] ?? "",
    uid: labels[POD_UID_LABEL] ?? "",
    ...defined({ deletionGracePeriodSeconds: deletion }),
  };
  const spec = {
    containers: [container],
    ...defined({ terminationGracePeriodSeconds: termination }),
  };
  return { pod: { apiVersion: "v1", kind: "Pod", metadata, spec, status: {} }, container };
}

function secondsOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,10}$/.test(text) ? Number(text) : undefined;
}

function preStopOf(text: string | undefined): LifecycleHandler | undefined {
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as LifecycleHandler) : undefined;
  } catch {
    // The kubelet did not create it: it is stopped without a hook.
    return undefined;
  }
}

/**
 * Stops a pod's containers, all at once, then its sandboxes; sandboxes are removed by the garbage collection.
 * Mirrors killPodWithSyncResult and killContainersWithSyncResult.
 */
export async function killPodWithSyncResult(
  context: ManagerContext,
  pod: V1Pod | undefined,
  runningPod: Pod,
  gracePeriodOverride: number | undefined,
  signal: AbortSignal,
): Promise<PodSyncResult> {
  const { options, runtimeService, clock } = context;
  const ordering =
    pod !== undefined && hasRestartableInitContainer(pod, options.kubeVersion)
      ? new TerminationOrdering(pod, runningPod.containers, clock)
      : undefined;
  const result = new PodSyncResult();
  const kill = async ({ containerId, name = "" }: Pod["containers"][number]): Promise<SyncResult> => {
    const problem = await killContainer(
      context,
      {
        pod,
        containerId,
        name,
        message: "",
        reason: "Unknown",
        ...defined({ gracePeriodOverride, ordering }),
      },
      signal,
    );
    const base = { action: "KillContainer", target: name } as const;
    return problem === undefined ? base : { ...base, error: "KillContainerError", message: problem };
  };
  result.addSyncResult(...(await settledAll(runningPod.containers.map(kill))));
  const problems: string[] = [];
  for (const { containerId } of runningPod.sandboxes) {
    const stopped = await runtimeService.stopPodSandbox(containerId, signal);
    if (stopped.outcome !== "ok" && stopped.outcome !== "not-found") problems.push(stopped.text);
  }
  const base = { action: "KillPodSandbox", target: runningPod.podUid } as const;
  const problem = problems.at(-1);
  result.addSyncResult(problem === undefined ? base : { ...base, error: "KillPodSandboxError", message: problem });
  return result;
}

/** Waits for all of them even if one throws, so that no promise is left behind. */
async function settledAll<T>(work: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(work);
  return Promise.all(work);
}
