import type { V1NodeSelectorRequirement, V1NodeSelectorTerm, V1PodSpec } from "@kubernetes/client-node";
import { ownValue } from "../own.js";
import type { Wire } from "../wire.js";

/**
 * Which nodes a pod can run on, by labels and names.
 * Mirrors k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go. Pure.
 */

export type NodeSelectorRequirement = Wire<V1NodeSelectorRequirement>;
export type NodeSelectorTerm = Wire<V1NodeSelectorTerm>;

/** The fields of a pod's spec that choose nodes. */
export type NodeChoice = Pick<Wire<V1PodSpec>, "nodeSelector" | "affinity">;

interface Selectable {
  readonly metadata: { readonly name?: string; readonly labels?: Labels };
}

type Labels = Readonly<Record<string, string>>;

const INTEGER = /^[+-]?\d+$/;

/** The nodeSelector must match, and one of the required terms if there are any. Mirrors RequiredNodeAffinity.Match. */
export function matchesRequiredNodeAffinity(spec: NodeChoice | undefined, node: Selectable): boolean {
  const labels = node.metadata.labels ?? {};
  for (const [key, value] of Object.entries(spec?.nodeSelector ?? {}))
    if (ownValue(labels, key) !== value) return false;
  const required = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? undefined;
  return (
    required === undefined || (required.nodeSelectorTerms ?? []).some((term) => matchesNodeSelectorTerm(term, node))
  );
}

/** All requirements of a term match; a term without requirements matches nothing. Mirrors nodeSelectorTerm.match. */
export function matchesNodeSelectorTerm(term: NodeSelectorTerm, { metadata }: Selectable): boolean {
  const { matchExpressions = [], matchFields = [] } = term;
  if (matchExpressions.length === 0 && matchFields.length === 0) return false;
  return (
    matchExpressions.every((one) => matchesRequirement(one, metadata.labels ?? {})) &&
    matchFields.every((one) => matchesField(one, metadata.name))
  );
}

/** A missing key satisfies NotIn; a malformed requirement matches nothing. Mirrors labels.Requirement.Matches. */
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
      return compares(value, values, (a, b) => a > b);
    case "Lt":
      return compares(value, values, (a, b) => a < b);
    default:
      return false;
  }
}

function compares(
  value: string | undefined,
  values: readonly string[],
  holds: (a: bigint, b: bigint) => boolean,
): boolean {
  const [bound] = values;
  if (value === undefined || bound === undefined || values.length !== 1) return false;
  return INTEGER.test(value) && INTEGER.test(bound) && holds(BigInt(value), BigInt(bound));
}

/** metadata.name is the only field. Mirrors nodeSelectorRequirementsAsFieldSelector. */
function matchesField({ key, operator, values = [] }: NodeSelectorRequirement, name: string | undefined): boolean {
  if (key !== "metadata.name" || values.length !== 1) return false;
  return operator === "In" ? values[0] === name : operator === "NotIn" && values[0] !== name;
}
