import type { V1Pod } from "../../api/pod.js";
import { ownValue } from "../../util/own.js";
import type { NodeObject } from "../nodestatus/node.js";

/**
 * Does the node still have the labels and the name that the pod asks for? Pure.
 *
 * Mirrors k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go (RequiredNodeAffinity.Match).
 */

type Labels = Readonly<Record<string, string>>;

interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

interface Term {
  readonly matchExpressions?: readonly Requirement[];
  readonly matchFields?: readonly Requirement[];
}

interface NodeChoice {
  readonly nodeSelector?: Labels | null;
  readonly affinity?: {
    readonly nodeAffinity?: {
      readonly requiredDuringSchedulingIgnoredDuringExecution?: { readonly nodeSelectorTerms?: readonly Term[] } | null;
    } | null;
  } | null;
}

const INTEGER = /^[+-]?\d+$/;

/** nodeSelector, and at least one of the required terms of the node affinity where there are any. */
export function matchesRequiredNodeAffinity(pod: V1Pod, node: NodeObject): boolean {
  const { nodeSelector, affinity } = pod.spec as NodeChoice;
  const labels = node.metadata.labels ?? {};
  for (const [key, value] of Object.entries(nodeSelector ?? {})) if (ownValue(labels, key) !== value) return false;
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? undefined;
  return required === undefined || (required.nodeSelectorTerms ?? []).some((term) => matchesTerm(term, node));
}

/** All requirements hold; a term without any matches nothing. */
function matchesTerm({ matchExpressions = [], matchFields = [] }: Term, node: NodeObject): boolean {
  if (matchExpressions.length === 0 && matchFields.length === 0) return false;
  const labels = node.metadata.labels ?? {};
  return (
    matchExpressions.every((one) => matchesLabels(one, labels)) &&
    matchFields.every((one) => matchesName(one, node.metadata.name))
  );
}

/** A key that is missing satisfies NotIn; what is malformed matches nothing. Mirrors labels.Requirement.Matches. */
function matchesLabels({ key, operator, values = [] }: Requirement, labels: Labels): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return values.length > 0 && (value === undefined || !values.includes(value));
    case "Exists":
      return values.length === 0 && value !== undefined;
    case "DoesNotExist":
      return values.length === 0 && value === undefined;
    case "Gt":
      return compares(value, values, (a, b) => a > b);
    case "Lt":
      return compares(value, values, (a, b) => a < b);
    default:
      return false;
  }
}

function compares(value: string | undefined, values: readonly string[], holds: (a: bigint, b: bigint) => boolean) {
  const [bound] = values;
  if (value === undefined || bound === undefined || values.length !== 1) return false;
  return INTEGER.test(value) && INTEGER.test(bound) && holds(BigInt(value), BigInt(bound));
}

/** metadata.name is the only field there is. */
function matchesName({ key, operator, values = [] }: Requirement, name: string | undefined): boolean {
  if (key !== "metadata.name" || values.length !== 1) return false;
  return operator === "In" ? values[0] === name : operator === "NotIn" && values[0] !== name;
}
