import type { FieldError } from "../../../../../staging/apimachinery/errors.js";
import { forbidden, invalidValue, notSupported, required } from "../../rest/field-errors.js";
import { goLiteral } from "../schema/go-literal.js";
import { itemsOf, META_FIELDS, valuesOf } from "../schema/structural.js";
import type { JsonSchema, ValidationRule } from "../types.js";

/** What holds for the schemas below an object's metadata. */
interface Place {
  readonly isRoot: boolean;
  readonly isInMeta: boolean;
  /** why a default is not allowed here */
  readonly noDefaults?: string;
}

/**
 * The rules for each schema of a definition, wherever it is.
 *
 * Mirrors ValidateCustomResourceDefinitionOpenAPISchema in
 * k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go.
 */
export function validateSchema(schema: JsonSchema, path: string): FieldError[] {
  return validate(schema, path, { isRoot: true, isInMeta: false });
}

function validate(schema: JsonSchema, path: string, place: Place): FieldError[] {
  const errors = [...unsupported(schema, path, place), ...listRules(schema, path), ...ruleRules(schema, path)];
  if (schema.uniqueItems === true) {
    const why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
    errors.push(forbidden(`${path}.uniqueItems`, why));
  }
  const inner: Place = { ...place, isRoot: false };
  const visit = (one: JsonSchema | undefined, at: string, where = inner) => {
    if (one !== undefined) errors.push(...validate(one, at, where));
  };
  const { properties = {}, additionalProperties } = schema;
  const values = valuesOf(schema);
  if (additionalProperties !== undefined && additionalProperties !== true && Object.keys(properties).length > 0) {
    const why = "additionalProperties and properties are mutual exclusive";
    errors.push(forbidden(`${path}.additionalProperties`, why));
  }
  const noDefaults = "inside additionalProperties applying to object metadata";
  visit(values, `${path}.additionalProperties`, place.isInMeta ? { ...inner, noDefaults } : inner);
  const isResource = place.isRoot || schema["x-kubernetes-embedded-resource"] === true;
  for (const [name, one] of Object.entries(properties)) {
    const isMeta = isResource && META_FIELDS.has(name);
    const reason = place.isRoot && isMeta ? { noDefaults: `in top-level ${name}` } : {};
    visit(one, `${path}.properties[${name}]`, isMeta ? { ...inner, isInMeta: true, ...reason } : inner);
  }
  visit(schema.not, `${path}.not`);
  for (const name of ["allOf", "oneOf", "anyOf"] as const) {
    for (const [i, one] of (schema[name] ?? []).entries()) visit(one, `${path}.${name}[${i}]`);
  }
  visit(itemsOf(schema), `${path}.items`);
  return errors;
}

const TYPES = ["array", "boolean", "integer", "number", "object", "string"];

/** Keywords that no schema here may have. */
const UNSUPPORTED = ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"] as const;

/** Mirrors specStandardValidatorV3.validate. */
function unsupported(schema: JsonSchema, path: string, { isInMeta, noDefaults }: Place): FieldError[] {
  const { type = "" } = schema;
  const errors: FieldError[] = [];
  if (type !== "" && !TYPES.includes(type)) errors.push(notSupported(`${path}.type`, type, TYPES));
  if (schema.default !== undefined && noDefaults !== undefined) {
    errors.push(forbidden(`${path}.default`, `must not be set ${noDefaults}`));
  }
  for (const name of UNSUPPORTED) {
    if (schema[name] !== undefined && schema[name] !== "") {
      errors.push(forbidden(`${path}.${name}`, `${name} is not supported`));
    }
  }
  if (type === "null") {
    errors.push(forbidden(`${path}.type`, "type cannot be set to null, use nullable as an alternative"));
  }
  if (Array.isArray(schema.items) && schema.items.length > 0) {
    errors.push(forbidden(`${path}.items`, "items must be a schema object and not an array"));
  }
  if (isInMeta && schema["x-kubernetes-embedded-resource"] === true) {
    errors.push(forbidden(`${path}.x-kubernetes-embedded-resource`, "must not be used inside of resource meta"));
  }
  if (schema["x-kubernetes-preserve-unknown-fields"] === false) {
    const at = `${path}.x-kubernetes-preserve-unknown-fields`;
    errors.push(invalidValue(at, false, "must be true or undefined"));
  }
  return errors;
}

const LIST_TYPE = "x-kubernetes-list-type";
const MAP_TYPE = "x-kubernetes-map-type";
const MAP_KEYS = "x-kubernetes-list-map-keys";

function listRules(schema: JsonSchema, path: string): FieldError[] {
  const { type = "", [LIST_TYPE]: listType, [MAP_TYPE]: mapType, [MAP_KEYS]: keys = [] } = schema;
  const errors: FieldError[] = [];
  const wrongType = (why: string) => {
    errors.push(type === "" ? required(`${path}.type`, why) : invalidValue(`${path}.type`, type, why));
  };
  if (mapType !== undefined && type !== "object") wrongType(`must be object if ${MAP_TYPE} is specified`);
  if (mapType !== undefined && mapType !== "atomic" && mapType !== "granular") {
    errors.push(notSupported(`${path}.${MAP_TYPE}`, mapType, ["atomic", "granular"]));
  }
  if (listType !== undefined && type !== "array") wrongType(`must be array if ${LIST_TYPE} is specified`);
  else if (listType === "set") errors.push(...atomicItems(itemsOf(schema), `${path}.items`));
  if (listType !== undefined && !["atomic", "set", "map"].includes(listType)) {
    errors.push(notSupported(`${path}.${LIST_TYPE}`, listType, ["atomic", "set", "map"]));
  }
  if (keys.length > 0 && listType !== "map") {
    const why = `must be map if ${MAP_KEYS} is non-empty`;
    const at = `${path}.${LIST_TYPE}`;
    errors.push(listType === undefined ? required(at, why) : invalidValue(at, listType, why));
  }
  if (listType === "map") errors.push(...mapRules(schema, keys, path));
  if ((listType === "set" || listType === "map") && itemsOf(schema)?.nullable === true) {
    errors.push(forbidden(`${path}.items.nullable`, `cannot be nullable when ${LIST_TYPE} is ${listType}`));
  }
  return errors;
}

/** The items of a set are compared as a whole. */
function atomicItems(items: JsonSchema | undefined, path: string): FieldError[] {
  const { type, [LIST_TYPE]: listType, [MAP_TYPE]: mapType } = items ?? {};
  const why = `must be atomic as item of a list with ${LIST_TYPE}=set`;
  if (type === "array" && listType !== undefined && listType !== "atomic") {
    return [invalidValue(`${path}.${LIST_TYPE}`, listType, why)];
  }
  return type === "object" && mapType !== "atomic" ? [invalidValue(`${path}.${MAP_TYPE}`, mapType, why)] : [];
}

function mapRules(schema: JsonSchema, keys: readonly string[], path: string): FieldError[] {
  const items = itemsOf(schema);
  const errors: FieldError[] = [];
  const keysAt = `${path}.${MAP_KEYS}`;
  if (keys.length === 0) errors.push(required(keysAt, `must not be empty if ${LIST_TYPE} is map`));
  if (items === undefined) {
    return [...errors, required(`${path}.items`, `must have a schema if ${LIST_TYPE} is map`)];
  }
  if (items.type !== "object") {
    const why = `must be object if parent array's ${LIST_TYPE} is map`;
    return [...errors, invalidValue(`${path}.items.type`, items.type ?? "", why)];
  }
  const seen = new Set<string>();
  for (const key of keys) {
    const property = items.properties?.[key];
    const at = `${path}.items.properties[${key}]`;
    if (property === undefined) {
      errors.push(invalidValue(keysAt, goLiteral(keys), "entries must all be names of item properties"));
    } else if (property.type === "array" || property.type === "object") {
      const why = `must be a scalar type if parent array's ${LIST_TYPE} is map`;
      errors.push(invalidValue(`${at}.type`, items.type, why));
    }
    if (seen.has(key)) errors.push(invalidValue(keysAt, goLiteral(keys), "must not contain duplicate entries"));
    seen.add(key);
    if (property === undefined) continue;
    if (items.required?.includes(key) !== true && property.default === undefined) {
      const why = `this property is in ${MAP_KEYS}, so it must have a default or be a required property`;
      errors.push(required(`${at}.default`, why));
    }
    if (property.nullable === true) {
      const why = `this property is in ${MAP_KEYS}, so it cannot be nullable`;
      errors.push(forbidden(`${at}.nullable`, why));
    }
  }
  return errors;
}

const REASONS = ["FieldValueRequired", "FieldValueForbidden", "FieldValueInvalid", "FieldValueDuplicate"];

/** The texts of rules; the expressions are compiled when all else is valid. */
function ruleRules({ "x-kubernetes-validations": rules = [] }: JsonSchema, path: string): FieldError[] {
  return rules.flatMap((rule, i) => validateRule(rule, `${path}.x-kubernetes-validations[${i}]`));
}

function validateRule({ rule, message = "", reason = "" }: ValidationRule, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (rule.trim() === "") errors.push(required(`${path}.rule`, "rule is not specified"));
  else if (message !== "" && message.trim() === "") {
    errors.push(invalidValue(`${path}.message`, message, "message must be non-empty if specified"));
  } else if (/[\n\r]/.test(message.trim())) {
    errors.push(invalidValue(`${path}.message`, message, "message must not contain line breaks"));
  } else if (/[\n\r]/.test(rule.trim()) && message.trim() === "") {
    errors.push(required(`${path}.message`, "message must be specified if rule contains line breaks"));
  }
  if (reason !== "" && !REASONS.includes(reason)) errors.push(notSupported(`${path}.reason`, reason, REASONS));
  return errors;
}
