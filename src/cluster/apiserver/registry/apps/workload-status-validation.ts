import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import type { FieldError } from "../../../../staging/apimachinery/errors.js";
import { isSet } from "../../../../util/records.js";
import type { Strategy } from "../rest/definition.js";
import { invalidValue, nonNegative } from "../rest/field-errors.js";

/** The counts of a status that no other count may exceed: `readyReplicas` of `replicas`. */
interface StatusRules {
  readonly counts: readonly string[];
  /** these are parts of `replicas` */
  readonly parts: readonly string[];
  /** labels belong to the main resource, too */
  readonly keepsLabels?: boolean;
}

const PARTS = ["readyReplicas", "availableReplicas"] as const;

export const REPLICA_SET_STATUS: StatusRules = {
  counts: ["replicas", "fullyLabeledReplicas", ...PARTS, "observedGeneration"],
  parts: ["fullyLabeledReplicas", ...PARTS],
};

export const DEPLOYMENT_STATUS: StatusRules = {
  counts: ["observedGeneration", "replicas", "updatedReplicas", ...PARTS, "unavailableReplicas", "collisionCount"],
  parts: ["updatedReplicas", ...PARTS],
  keepsLabels: true,
};

export const STATEFUL_SET_STATUS: StatusRules = {
  counts: [
    "replicas",
    "readyReplicas",
    "currentReplicas",
    "updatedReplicas",
    "availableReplicas",
    "observedGeneration",
    "collisionCount",
  ],
  parts: ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"],
};

export const DAEMON_SET_STATUS: StatusRules = {
  counts: [
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
    "observedGeneration",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
    "collisionCount",
  ],
  parts: [],
};

type Counts = Readonly<Record<string, number | null | undefined>>;

/**
 * What a client may write through /status: everything but the spec.
 * Mirrors ValidateDeploymentStatusUpdate and its neighbours in pkg/apis/apps/validation/validation.go.
 */
export function statusStrategy(rules: StatusRules): Pick<Strategy, "prepareForUpdate" | "validateUpdate"> {
  return {
    prepareForUpdate(object, old) {
      const kept = { ...object, spec: old.spec };
      if (rules.keepsLabels !== true) return kept;
      const { labels: _, ...metadata } = object.metadata;
      const { labels } = old.metadata;
      return { ...kept, metadata: labels === undefined ? metadata : { ...metadata, labels } };
    },
    validateUpdate: (object, old) => validateStatus(countsOf(object), countsOf(old), rules),
  };
}

function countsOf({ status }: KubeObject): Counts {
  return (status ?? {}) as Counts;
}

function validateStatus(status: Counts, old: Counts, { counts, parts }: StatusRules): FieldError[] {
  const errors = counts.flatMap((name) => nonNegative(`status.${name}`, status[name]));
  const invalid = (name: string, why: string) => errors.push(invalidValue(`status.${name}`, status[name] ?? 0, why));
  for (const name of parts) {
    if ((status[name] ?? 0) > (status["replicas"] ?? 0)) invalid(name, "cannot be greater than status.replicas");
  }
  const isReplicated = parts.includes("availableReplicas");
  if (isReplicated && (status["availableReplicas"] ?? 0) > (status["readyReplicas"] ?? 0)) {
    invalid("availableReplicas", "cannot be greater than readyReplicas");
  }
  const { collisionCount: before } = old;
  const { collisionCount: now } = status;
  // Mirrors IsDecremented.
  if (isSet(before) && (!isSet(now) || now < before)) invalid("collisionCount", "cannot be decremented");
  return errors;
}
