import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { badRequest } from "../../../../staging/apimachinery/errors.js";
import { type FieldTerm, parseFieldSelector } from "../../../../staging/apimachinery/field-selector.js";
import { type LabelSelector, parseLabelSelector } from "../../../../staging/apimachinery/label-selector.js";
import type { ResourceDefinition } from "../rest/definition.js";

/** The objects that a list or watch selects. Mirrors storage.SelectionPredicate in k8s.io/apiserver/pkg/storage. */
export interface Selection {
  matches(object: KubeObject): boolean;
  /** the only name that can match, if a field selector names it */
  readonly name?: string;
}

/** All terms of one field: an object costs one lookup, however many terms a client sends. */
interface FieldRule {
  readonly field: string;
  /** a field equals one value only: more than one match nothing */
  readonly wanted: Set<string>;
  readonly excluded: Set<string>;
}

function rulesOf(terms: readonly FieldTerm[]): readonly FieldRule[] {
  const rules = new Map<string, FieldRule>();
  for (const { field, operator, value } of terms) {
    const rule = rules.get(field) ?? { field, wanted: new Set(), excluded: new Set() };
    rules.set(field, rule);
    (operator === "=" ? rule.wanted : rule.excluded).add(value);
  }
  return [...rules.values()];
}

type SelectableFields = Readonly<Record<string, string>>;

/** Parses selectors for one resource. Computes the fields of an object once for all watchers. */
export class Selector {
  readonly #definition: ResourceDefinition;
  readonly #fieldsOf = new WeakMap<KubeObject, SelectableFields>();
  #supported: ReadonlySet<string> | undefined;

  constructor(definition: ResourceDefinition) {
    this.#definition = definition;
  }

  /** @returns undefined if everything is selected @throws StatusError 400 */
  select(options: { readonly labelSelector?: string; readonly fieldSelector?: string }): Selection | undefined {
    const { labelSelector = "", fieldSelector = "" } = options;
    const labels = labelSelector === "" ? undefined : parseLabelSelector(labelSelector);
    const terms = fieldSelector === "" ? [] : parseFieldSelector(fieldSelector);
    for (const term of terms) this.#checkSupported(term.field);
    if (labels === undefined && terms.length === 0) return undefined;
    const name = terms.find((term) => term.field === "metadata.name" && term.operator === "=")?.value;
    const rules = rulesOf(terms);
    const matches = (object: KubeObject) => this.#matches(object, labels, rules);
    return name === undefined ? { matches } : { matches, name };
  }

  #matches(object: KubeObject, labels: LabelSelector | undefined, rules: readonly FieldRule[]): boolean {
    if (labels !== undefined && !labels(object.metadata.labels)) return false;
    for (const { field, wanted, excluded } of rules) {
      const value = this.#field(object, field);
      if (wanted.size > 1 || (wanted.size === 1 && !wanted.has(value)) || excluded.has(value)) return false;
    }
    return true;
  }

  #field(object: KubeObject, field: string): string {
    if (field === "metadata.name") return object.metadata.name ?? "";
    if (field === "metadata.namespace") return object.metadata.namespace ?? "";
    let fields = this.#fieldsOf.get(object);
    if (fields === undefined) {
      fields = this.#definition.selectableFields?.(object) ?? {};
      this.#fieldsOf.set(object, fields);
    }
    return fields[field] ?? "";
  }

  /** Mirrors the field label conversion functions of each kind, and DefaultMetaV1FieldSelectorConversion for the rest. */
  #checkSupported(field: string): void {
    if (field === "metadata.name") return;
    const { namespaced, selectableFields } = this.#definition;
    if (field === "metadata.namespace" && (namespaced || selectableFields === undefined)) return;
    if (selectableFields === undefined) {
      throw badRequest(
        `${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`,
      );
    }
    this.#supported ??= new Set(Object.keys(selectableFields({ apiVersion: "", kind: "", metadata: {} })));
    if (!this.#supported.has(field)) throw badRequest(`field label not supported: ${field}`);
  }
}
