import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import { matchesSelector } from "../../staging/apimachinery/selector.js";

export const PHASES = ["Pending", "Running", "Succeeded", "Failed"] as const;
export const RESTART_POLICIES = ["Always", "OnFailure", "Never"] as const;
export const CONDITION_STATUSES = ["True", "False", "Unknown"] as const;

/** One step in the life of a simulated pod: the pods that take it, its delay, and the new status. */
export interface Stage {
  readonly name: string;
  readonly match: StageMatch;
  readonly delay: StageDelay;
  readonly next: StageNext;
}

/** The condition for a pod; an absent field allows any value. */
export interface StageMatch {
  readonly phase?: readonly string[] | undefined;
  readonly restartPolicy?: readonly string[] | undefined;
  /** all of them */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** whether it has a deletionTimestamp */
  readonly deletion: boolean;
}

export interface StageDelay {
  readonly durationMs: number;
  /** the largest random addition */
  readonly jitterMs: number;
}

/** All absent: the pod does not change. */
export interface StageNext {
  readonly phase?: (typeof PHASES)[number] | undefined;
  /** type -> status */
  readonly conditions?: Readonly<Record<string, (typeof CONDITION_STATUSES)[number]>> | undefined;
  readonly delete?: boolean | undefined;
}

/** The first stage that a pod matches. */
export function findStage(stages: readonly Stage[], pod: V1Pod): Stage | undefined {
  return stages.find(({ match }) => matches(match, pod));
}

function matches({ phase, restartPolicy, labels = {}, deletion }: StageMatch, pod: V1Pod): boolean {
  const { deletionTimestamp, labels: own } = pod.metadata;
  return (
    (deletionTimestamp !== undefined) === deletion &&
    phase?.includes(pod.status.phase ?? "Pending") !== false &&
    restartPolicy?.includes(pod.spec.restartPolicy ?? "Always") !== false &&
    matchesSelector({ matchLabels: labels }, own)
  );
}
