/** Requirements on labels and names of nodes, as pods make them. Mirrors k8s.io/api/core/v1/types.go. */

export interface NodeSelectorRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

export interface NodeSelectorTerm {
  readonly matchExpressions?: readonly NodeSelectorRequirement[];
  readonly matchFields?: readonly NodeSelectorRequirement[];
}

interface Selectable {
  readonly metadata: { readonly name?: string; readonly labels?: Labels };
}

type Labels = Readonly<Record<string, string>>;

const INTEGER = /^[+-]?\d+$/;

/**
 * All requirements of a term hold; a term without any matches nothing. Pure.
 * Mirrors nodeSelectorTerm.match in k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go.
 */
export function matchesNodeSelectorTerm(term: NodeSelectorTerm, { metadata }: Selectable): boolean {
  const { matchExpressions = [], matchFields = [] } = term;
  if (matchExpressions.length === 0 && matchFields.length === 0) return false;
  return (
    matchExpressions.every((one) => matchesRequirement(one, metadata.labels ?? {})) &&
    matchFields.every((one) => matchesField(one, metadata.name))
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

/** Mirrors nodeSelectorRequirementsAsFieldSelector: metadata.name is the only field there is. */
function matchesField({ key, operator, values = [] }: NodeSelectorRequirement, name: string | undefined): boolean {
  if (key !== "metadata.name" || values.length !== 1) return false;
  return operator === "In" ? values[0] === name : operator === "NotIn" && values[0] !== name;
}
