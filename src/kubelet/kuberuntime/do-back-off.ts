import type { ContainerSpec, V1Pod } from "../../staging/apimachinery/api/pod.js";
import { goDuration } from "../../staging/apimachinery/time.js";
import type { Backoff } from "../../staging/client-go/backoff.js";
import { factFor } from "../../util/release/facts.js";
import { hashContainer } from "../container/hash.js";
import { formatPod } from "../container/helpers.js";
import type { PodStatus } from "../container/runtime.js";
import { type ManagerContext, recordContainerEvent } from "./manager-context.js";
import type { StartFailure } from "./start-container.js";

/** CrashLoopBackOff: 10 s, doubled to 5 minutes. Mirrors backOffPeriod and MaxContainerBackOff in pkg/kubelet/kubelet.go. */
export const CONTAINER_BACK_OFF = { initialMs: 10_000, maxMs: 300_000 } as const;

interface BackOffRequest {
  readonly pod: V1Pod;
  readonly container: ContainerSpec;
  readonly podStatus: PodStatus;
  readonly backOff: Backoff;
}

/** The key of a container's back-off: a changed spec starts a new one. Mirrors getStableKey in kuberuntime/helpers.go. */
function stableKey({ metadata }: V1Pod, container: ContainerSpec, kubeVersion: string): string {
  const { name, namespace, uid } = metadata;
  const hash = hashContainer(container, kubeVersion).toString(16);
  return `${name}_${namespace}_${uid}_${container.name}_${hash}`;
}

/**
 * Decides whether a container that ended must wait before its restart: 10 s, doubled each time up to 300 s, counted
 * from its end.
 *
 * Mirrors doBackOff in pkg/kubelet/kuberuntime/kuberuntime_manager.go.
 * @returns undefined: it may start now
 */
export function doBackOff(context: ManagerContext, request: BackOffRequest): StartFailure | undefined {
  const { pod, container, podStatus, backOff } = request;
  const last = podStatus.containerStatuses.find(({ name, state }) => name === container.name && state === "exited");
  if (last === undefined) return undefined;
  const finishedAtMs = last.finishedAtMs ?? 0;
  const key = stableKey(pod, container, context.options.kubeVersion);
  if (!backOff.isInBackOffSince(key, finishedAtMs)) {
    backOff.next(key, finishedAtMs);
    return undefined;
  }
  const wait = goDuration(backOff.get(key));
  const names = factFor("backOffEventNames", context.options.kubeVersion)
    ? ` ${container.name} in pod ${formatPod(pod)}`
    : "";
  const said = `Back-off restarting failed container${names}`;
  recordContainerEvent(context, { pod, container }, "Warning", "BackOff", said);
  context.observer.backsOff(pod, container, last.exitCode, wait, context.options.kubeVersion);
  const message = `back-off ${wait} restarting failed container=${container.name} pod=${formatPod(pod)}`;
  return { error: "CrashLoopBackOff", message };
}
