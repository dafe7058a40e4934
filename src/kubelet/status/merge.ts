import { isDeepStrictEqual } from "node:util";
import {
  findCondition,
  isPodPhaseTerminal,
  replaceOrAppend,
  sidecarsOf,
  type V1ContainerStatus,
  type V1Pod,
  type V1PodCondition,
  type V1PodSpec,
  type V1PodStatus,
} from "../../staging/apimachinery/api/pod.js";
import { rfc3339 } from "../../staging/apimachinery/time.js";
import { defined } from "../../util/defined.js";
import { factFor } from "../../util/release/facts.js";
import { forTerminalPhase } from "./generate.js";
import { marshalPodStatus } from "./wire.js";

/** The pod conditions that the kubelet owns. Mirrors pkg/kubelet/types/pod_status.go. */
export interface OwnedConditions {
  /** owned by the kubelet alone */
  readonly owned: readonly string[];
  /** shared by the kubelet and others */
  readonly shared: readonly string[];
}

export function ownedConditions(kubeVersion: string): OwnedConditions {
  const since129 = factFor("podReadyToStartContainers", kubeVersion) ? ["PodReadyToStartContainers"] : [];
  return {
    owned: ["ContainersReady", "Ready", "Initialized", "PodScheduled", ...since129],
    shared: factFor("podDisruptionConditions", kubeVersion) ? ["DisruptionTarget"] : [],
  };
}

/**
 * Compares two statuses without the fields that the kubelet does not own. Mirrors isPodStatusByKubeletEqual.
 * @param after its conditions are compared; conditions that only `before` has are ignored
 */
export function isPodStatusByKubeletEqual(own: OwnedConditions, before: V1PodStatus, after: V1PodStatus): boolean {
  for (const condition of after.conditions ?? []) {
    if (!own.owned.includes(condition.type) && !own.shared.includes(condition.type)) continue;
    const old = findCondition(before.conditions, condition.type);
    if (old === undefined || !saysTheSame(old, condition)) return false;
  }
  const rest = (status: V1PodStatus) => ({ ...marshalPodStatus(status), conditions: undefined });
  return isDeepStrictEqual(rest(before), rest(after));
}

function saysTheSame(a: V1PodCondition, b: V1PodCondition): boolean {
  return a.status === b.status && (a.message ?? "") === (b.message ?? "") && (a.reason ?? "") === (b.reason ?? "");
}

/** A condition's transition time changes only with its status. Mirrors updateLastTransitionTime. */
export function updateLastTransitionTimes(
  conditions: readonly V1PodCondition[],
  old: V1PodStatus,
  types: readonly string[],
  nowMs: number,
): V1PodCondition[] {
  return conditions.map((condition) => {
    if (!types.includes(condition.type)) return condition;
    const before = findCondition(old.conditions, condition.type);
    const isUnchanged = before !== undefined && before.status === condition.status;
    return { ...condition, lastTransitionTime: isUnchanged ? (before.lastTransitionTime ?? null) : rfc3339(nowMs) };
  });
}

/**
 * A terminated container stays terminated if the pod's restart policy forbids a restart: a status to the contrary is a
 * bug of ours, and is not written. Sidecars are always restarted.
 *
 * Mirrors checkContainerStateTransition.
 * @returns the error; undefined for a legal transition
 */
export function checkContainerStateTransition(
  before: V1PodStatus,
  after: V1PodStatus,
  spec: V1PodSpec,
): string | undefined {
  const sidecars = new Set(sidecarsOf({ spec }).map(({ name }) => name));
  const inits = (before.initContainerStatuses ?? []).filter(({ name }) => !sidecars.has(name));
  return (
    illegalTransition(before.containerStatuses ?? [], after.containerStatuses ?? [], spec.restartPolicy) ??
    illegalTransition(inits, after.initContainerStatuses ?? [], spec.restartPolicy)
  );
}

function illegalTransition(
  before: readonly V1ContainerStatus[],
  after: readonly V1ContainerStatus[],
  restartPolicy: string | undefined,
): string | undefined {
  if (restartPolicy === "Always") return undefined;
  for (const { name, state } of before) {
    const ended = state?.terminated;
    if (ended === undefined || ended === null) continue;
    if (ended.exitCode !== 0 && restartPolicy === "OnFailure") continue;
    const isBack = after.some((one) => one.name === name && (one.state?.terminated ?? undefined) === undefined);
    if (isBack) return `terminated container ${name} attempted illegal transition to non-terminated state`;
  }
  return undefined;
}

/**
 * The status for the API server: the kubelet's, with the conditions that others own, and without a final phase while a
 * container may be running.
 *
 * Mirrors mergePodStatus in pkg/kubelet/status/status_manager.go. Pure.
 */
export function mergePodStatus(
  own: OwnedConditions,
  old: V1PodStatus,
  status: V1PodStatus,
  couldHaveRunningContainers: boolean,
  nowMs: number,
): V1PodStatus {
  const becomesTerminal = !isPodPhaseTerminal(old.phase) && isPodPhaseTerminal(status.phase);
  let conditions = (old.conditions ?? []).filter(({ type }) => !own.owned.includes(type));
  for (const condition of status.conditions ?? []) {
    if (own.owned.includes(condition.type)) conditions.push(condition);
    else if (own.shared.includes(condition.type) && becomesTerminal && !couldHaveRunningContainers) {
      const [fresh = condition] = updateLastTransitionTimes([condition], old, own.shared, nowMs);
      conditions = replaceOrAppend(conditions, fresh);
    }
  }
  const { phase, reason, message, ...rest } = status;
  const said = becomesTerminal && couldHaveRunningContainers ? old : { phase, reason, message };
  const merged = {
    ...rest,
    ...defined({ phase: said.phase, reason: said.reason, message: said.message }),
    conditions,
  };
  return isPodPhaseTerminal(merged.phase) ? withoutReadiness(merged, nowMs) : merged;
}

/** A terminated pod is not ready, whatever its containers last reported. */
function withoutReadiness(status: V1PodStatus, nowMs: number): V1PodStatus {
  const types = ["ContainersReady", "Ready"] as const;
  if (!types.some((type) => findCondition(status.conditions, type)?.status === "True")) return status;
  let conditions = [...(status.conditions ?? [])];
  for (const type of types) {
    const before = findCondition(conditions, type);
    const lastTransitionTime = before?.status === "False" ? (before.lastTransitionTime ?? null) : rfc3339(nowMs);
    conditions = replaceOrAppend(conditions, { ...forTerminalPhase(type, status.phase), lastTransitionTime });
  }
  return { ...status, conditions };
}

/** Mirrors hasPodInitialized: looks for any sign that a regular container has ever started. */
export function hasPodInitialized({ spec, status }: V1Pod): boolean {
  if ((spec.initContainers ?? []).length === 0) return true;
  const isSet = (value: unknown) => value !== undefined && value !== null;
  for (const { state, lastState } of status.containerStatuses ?? []) {
    if (isSet(lastState?.terminated) || !isSet(state?.waiting)) return true;
  }
  const last = (status.initContainerStatuses ?? []).at(-1);
  return last?.lastState?.terminated?.exitCode === 0 || last?.state?.terminated?.exitCode === 0;
}

/** The init containers that were tried; at least the first. Mirrors initializedContainers. */
export function initializedContainers(statuses: readonly V1ContainerStatus[]): readonly V1ContainerStatus[] {
  const isSet = (value: unknown) => value !== undefined && value !== null;
  const last = statuses.findLastIndex(({ state, lastState }) => !isSet(state?.waiting) || isSet(lastState?.terminated));
  return statuses.slice(0, Math.max(1, last + 1));
}
