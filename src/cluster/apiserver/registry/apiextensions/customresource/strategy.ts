import type { KubeObject } from "../../../../../staging/apimachinery/api/meta.js";
import { groupVersion } from "../../../../../staging/apimachinery/api/resource.js";
import type { FieldError } from "../../../../../staging/apimachinery/errors.js";
import { sameJson } from "../../../../../staging/apimachinery/same-json.js";
import type { Strategy } from "../../rest/definition.js";
import { invalidValue } from "../../rest/field-errors.js";
import { validateListTypes } from "../schema/list-type.js";
import { hasEmbedded, validateEmbedded } from "../schema/object-meta.js";
import { someSchema } from "../schema/structural.js";
import { validateValue } from "../schema/value-validation.js";
import type { JsonSchema, ScalePaths } from "../types.js";
import { validateScale } from "./scale.js";

/** Checks the rules of a schema. @param old absent: a new object */
export type ValidateRules = (object: KubeObject, old: KubeObject | undefined) => FieldError[];

/** One version of a custom kind, for its strategy. */
export interface CustomVersion {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly schema: JsonSchema;
  readonly hasStatus: boolean;
  readonly scale: ScalePaths | undefined;
  readonly rules: ValidateRules | undefined;
}

/** Mirrors customResourceStrategy in k8s.io/apiextensions-apiserver/pkg/registry/customresource/strategy.go. */
export function customStrategy(custom: CustomVersion): Strategy {
  const { schema, hasStatus } = custom;
  const isEmbedding = hasEmbedded(schema);
  const hasLists = someSchema(schema, (one) => one["x-kubernetes-list-type"] !== undefined);
  const lists = (object: KubeObject) => (hasLists ? validateListTypes(object, schema) : []);
  const embedded = (object: KubeObject) => (isEmbedding ? validateEmbedded(object, schema) : []);
  return {
    prepareForCreate(object) {
      const { status: _status, ...bare } = object;
      const prepared = hasStatus ? (bare as KubeObject) : object;
      return { ...prepared, metadata: withGeneration(prepared, 1) };
    },
    validate(object) {
      const typeErrors = validateType(custom, object);
      if (typeErrors.length > 0) return typeErrors;
      const errors = [...validateFields(custom, object, true), ...embedded(object), ...lists(object)];
      return withRules(custom, errors, object, undefined);
    },
    prepareForUpdate(object, old) {
      const { status: _status, ...bare } = object;
      const kept = hasStatus ? ({ ...bare, ...statusOf(old) } as KubeObject) : object;
      if (sameJson(withoutMetadata(kept), withoutMetadata(old))) return kept;
      return { ...kept, metadata: withGeneration(kept, (old.metadata.generation ?? 0) + 1) };
    },
    validateUpdate(object, old) {
      const typeErrors = validateType(custom, object);
      if (typeErrors.length > 0) return typeErrors;
      // An object that broke the rule before may keep doing so.
      const newLists = lists(old).length > 0 ? [] : lists(object);
      const errors = [...validateFields(custom, object, true), ...embedded(object), ...newLists];
      return withRules(custom, errors, object, old);
    },
  };
}

/** Mirrors statusStrategy in status_strategy.go: nothing but the status changes. */
export function customStatusStrategy(custom: CustomVersion): Pick<Strategy, "prepareForUpdate" | "validateUpdate"> {
  return {
    prepareForUpdate(object, old) {
      const { status: _status, ...rest } = old;
      return { ...rest, ...statusOf(object) } as KubeObject;
    },
    validateUpdate(object, old) {
      const typeErrors = validateType(custom, object);
      if (typeErrors.length > 0) return typeErrors;
      return withRules(custom, validateFields(custom, object, false), object, old);
    },
  };
}

function statusOf(object: KubeObject): { readonly status?: unknown } {
  return Object.hasOwn(object, "status") ? { status: object["status"] } : {};
}

function withGeneration({ metadata }: KubeObject, generation: number): KubeObject["metadata"] {
  return { ...metadata, generation };
}

function withoutMetadata({ metadata: _metadata, ...rest }: KubeObject): unknown {
  return rest;
}

function validateType({ group, version, kind }: CustomVersion, object: KubeObject): FieldError[] {
  const apiVersion = groupVersion({ group, version });
  return [
    ...(object.kind === kind ? [] : [invalidValue("kind", object.kind, `must be ${kind}`)]),
    ...(object.apiVersion === apiVersion
      ? []
      : [invalidValue("apiVersion", object.apiVersion, `must be ${apiVersion}`)]),
  ];
}

function validateFields({ schema, scale }: CustomVersion, object: KubeObject, withSpec: boolean): FieldError[] {
  return [...validateValue(object, schema), ...(scale === undefined ? [] : validateScale(object, scale, withSpec))];
}

/** Errors of these types mean that a rule could meet a value that it does not expect. */
const BLOCKING = new Set(["FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany", "FieldValueTypeInvalid"]);

const NOT_CHECKED =
  "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";

function withRules(
  { rules }: CustomVersion,
  errors: FieldError[],
  object: KubeObject,
  old: KubeObject | undefined,
): FieldError[] {
  if (rules === undefined) return errors;
  if (errors.some(({ type }) => BLOCKING.has(type))) return [...errors, invalidValue("<nil>", undefined, NOT_CHECKED)];
  return [...errors, ...rules(object, old)];
}
