import type { NodeSelectorRequirement, NodeSelectorTerm, SchedulableNode, SchedulablePod } from "./objects.js";

/**
 * Whether nodes match what a pod asks for by labels and names.
 * Mirrors k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go. Pure.
 */

type Labels = Readonly<Record<string, string>>;

const INTEGER = /^[+-]?\d+$/;

/** nodeSelector and the required terms of the node affinity. Mirrors RequiredNodeAffinity.Match. */
export function matchesRequiredNodeAffinity(pod: SchedulablePod, node: SchedulableNode): boolean {
  const labels = node.metadata.labels ?? {};
  for (const [key, value] of Object.entries(pod.spec?.nodeSelector ?? {})) {
    if (!Object.hasOwn(labels, key) || labels[key] !== value) return false;
  }
  const required = pod.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required === undefined || required.nodeSelectorTerms.some((term) => matchesTerm(term, node));
}

/** All requirements of a term hold; a term without any matches nothing. Mirrors nodeSelectorTerm.match. */
export function matchesTerm(term: NodeSelectorTerm, node: SchedulableNode): boolean {
  const { matchExpressions = [], matchFields = [] } = term;
  if (matchExpressions.length === 0 && matchFields.length === 0) return false;
  return (
    matchExpressions.every((one) => matchesRequirement(one, node.metadata.labels ?? {})) &&
    matchFields.every((one) => matchesField(one, node))
  );
}

/** Mirrors labels.Requirement.Matches: a key that is missing satisfies NotIn. What is malformed matches nothing. */
function matchesRequirement({ key, operator, values = [] }: NodeSelectorRequirement, labels: Labels): boolean {
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
      return compare(value, values, (a, b) => a > b);
    case "Lt":
      return compare(value, values, (a, b) => a < b);
    default:
      return false;
  }
}

function compare(
  value: string | undefined,
  values: readonly string[],
  holds: (a: bigint, b: bigint) => boolean,
): boolean {
  const [bound] = values;
  if (value === undefined || bound === undefined || values.length !== 1) return false;
  return INTEGER.test(value) && INTEGER.test(bound) && holds(BigInt(value), BigInt(bound));
}

/** Mirrors nodeSelectorRequirementsAsFieldSelector: metadata.name is the only field there is. */
function matchesField({ key, operator, values = [] }: NodeSelectorRequirement, node: SchedulableNode): boolean {
  if (key !== "metadata.name" || values.length !== 1) return false;
  const isSame = values[0] === node.metadata.name;
  return operator === "In" ? isSame : operator === "NotIn" && !isSame;
}
