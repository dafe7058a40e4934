import { sameJson } from "../../../../../staging/apimachinery/same-json.js";
import { conditionOf, isTrue, withCondition } from "../conditions.js";
import type { Definition, DefinitionCondition, DefinitionNames } from "../types.js";

/**
 * Accepts the names of a definition that no other one of its group uses.
 *
 * Mirrors calculateNamesAndConditions in k8s.io/apiextensions-apiserver/pkg/controller/status/naming_controller.go.
 * @param others the other definitions of the group
 * @returns the same definition if nothing changes
 */
export function acceptNames(definition: Definition, others: readonly Definition[], nowMs: number): Definition {
  const { names } = definition.spec;
  const accepted: DefinitionNames = definition.status?.acceptedNames ?? { plural: "", kind: "" };
  if (sameJson(names, accepted)) return definition;
  const used = usedNames(others);
  const problems: Omit<DefinitionCondition, "type" | "status">[] = [];
  const take = (wanted: string, before: string, taken: ReadonlySet<string>, reason: string): string => {
    if (wanted === before || !taken.has(wanted)) return wanted;
    problems.push({ reason, message: inUse(wanted) });
    return before;
  };
  const shortNames = names.shortNames ?? [];
  const clashes = shortNames.filter((one) => accepted.shortNames?.includes(one) !== true && used.resources.has(one));
  const next: DefinitionNames = {
    plural: take(names.plural, accepted.plural, used.resources, "PluralConflict"),
    singular: take(names.singular ?? "", accepted.singular ?? "", used.resources, "SingularConflict"),
    ...listOf("shortNames", clashes.length === 0 ? shortNames : (accepted.shortNames ?? [])),
    kind: take(names.kind, accepted.kind, used.kinds, "KindConflict"),
    listKind: take(names.listKind ?? "", accepted.listKind ?? "", used.kinds, "ListKindConflict"),
    ...listOf("categories", names.categories ?? []),
  };
  if (clashes.length > 0) problems.push({ reason: "ShortNamesConflict", message: aggregate(clashes.map(inUse)) });
  const problem = problems.at(-1);
  const namesAccepted =
    problem === undefined
      ? { type: "NamesAccepted", status: "True", reason: "NoConflicts", message: "no conflicts found" }
      : { type: "NamesAccepted", status: "False", ...problem };
  const before = conditionOf(definition, "NamesAccepted");
  const isSame = before?.status === namesAccepted.status && before.reason === namesAccepted.reason;
  if (sameJson(accepted, next) && isSame && before.message === namesAccepted.message) return definition;
  const renamed: Definition = { ...definition, status: { ...definition.status, acceptedNames: next } };
  return withCondition(
    withCondition(renamed, namesAccepted, nowMs),
    establishing(definition, problem === undefined),
    nowMs,
  );
}

/** The kind is served from then on. Mirrors establishing_controller.go (sync). */
export function establish(definition: Definition, nowMs: number): Definition {
  if (!isTrue(definition, "NamesAccepted") || isTrue(definition, "Established")) return definition;
  const condition = {
    type: "Established",
    status: "True",
    reason: "InitialNamesAccepted",
    message: "the initial names have been accepted",
  };
  return withCondition(definition, condition, nowMs);
}

function establishing(definition: Definition, isAccepted: boolean): Omit<DefinitionCondition, "lastTransitionTime"> {
  const before = conditionOf(definition, "Established");
  if (before?.status !== "True" && isAccepted) {
    const message = "the initial names have been accepted";
    return { type: "Established", status: "False", reason: "Installing", message };
  }
  if (before !== undefined) {
    const { lastTransitionTime: _time, ...rest } = before;
    return rest;
  }
  return { type: "Established", status: "False", reason: "NotAccepted", message: "not all names are accepted" };
}

function listOf(name: "shortNames" | "categories", values: readonly string[]): Partial<DefinitionNames> {
  return values.length === 0 ? {} : { [name]: values };
}

function usedNames(others: readonly Definition[]) {
  const resources = new Set<string>();
  const kinds = new Set<string>();
  for (const { status } of others) {
    const { plural = "", singular = "", shortNames = [], kind = "", listKind = "" } = status?.acceptedNames ?? {};
    for (const name of [plural, singular, ...shortNames]) if (name !== "") resources.add(name);
    for (const name of [kind, listKind]) if (name !== "") kinds.add(name);
  }
  return { resources, kinds };
}

function inUse(name: string): string {
  return `${JSON.stringify(name)} is already in use`;
}

/** Mirrors k8s.io/apimachinery/pkg/util/errors (aggregate.Error). */
function aggregate(messages: readonly string[]): string {
  return messages.length === 1 ? (messages[0] ?? "") : `[${messages.join(", ")}]`;
}
