import type { FieldError } from "../../../../../staging/apimachinery/errors.js";
import { messageOf } from "../../../../../util/errors.js";
import { forbidden, invalidValue, required } from "../../rest/field-errors.js";
import { itemsOf, valuesOf } from "../schema/structural.js";
import { compilePattern } from "../schema/value-validation.js";
import type { JsonSchema } from "../types.js";

/** Where a schema is: at the root, for the items of a list, for a field of an object. */
type Level = "root" | "item" | "field";

/**
 * Checks that a schema is structural: that it says the type of each field outside of anyOf, allOf, oneOf and not, and that
 * those name only fields that it has.
 *
 * Mirrors k8s.io/apiextensions-apiserver/pkg/apiserver/schema/validation.go (ValidateStructural) and complete.go.
 */
export function validateStructural(schema: JsonSchema, path: string): FieldError[] {
  const errors = [...invariants(schema, "root", path), ...completeness(schema, path)];
  const textOf = (error: FieldError) => `${error.field}: ${error.text}`;
  return errors.sort((a, b) => (textOf(a) < textOf(b) ? -1 : 1));
}

const TYPE_MISSING: Readonly<Record<Level, string>> = {
  root: "must not be empty at the root",
  item: "must not be empty for specified array items",
  field: "must not be empty for specified object fields",
};

function invariants(schema: JsonSchema, level: Level, path: string): FieldError[] {
  const items = itemsOf(schema);
  const values = valuesOf(schema);
  const { type = "", properties = {} } = schema;
  const isResource = schema["x-kubernetes-embedded-resource"] === true;
  const keepsUnknown = schema["x-kubernetes-preserve-unknown-fields"] === true;
  const errors: FieldError[] = [];
  if (type === "array" && items === undefined) errors.push(required(`${path}.items`, "must be specified"));
  if (items !== undefined) errors.push(...invariants(items, "item", `${path}.items`));
  for (const [name, one] of Object.entries(properties)) {
    errors.push(...invariants(one, "field", `${path}.properties[${name}]`));
  }
  if (schema.additionalProperties !== undefined && level === "root") {
    errors.push(forbidden(`${path}.additionalProperties`, "must not be used at the root"));
  }
  if (values !== undefined) errors.push(...invariants(values, "field", `${path}.additionalProperties`));
  errors.push(...extensions(schema, path), ...valueValidation(schema, level, path, intOrStringSkips(schema)));
  errors.push(...typeErrors(schema, level, path));
  if (isResource && schema.additionalProperties !== undefined) {
    const why = "must not be used if x-kubernetes-embedded-resource is set";
    errors.push(forbidden(`${path}.additionalProperties`, why));
  }
  if (level === "root" || isResource) errors.push(...metaFields(properties, path));
  const metadata = properties["metadata"];
  if (level === "root" && metadata !== undefined)
    errors.push(...rootMetadata(metadata, `${path}.properties[metadata]`));
  if (isResource && !keepsUnknown && Object.keys(properties).length === 0) {
    const why =
      "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
    errors.push(required(`${path}.properties`, why));
  }
  return errors;
}

function typeErrors(schema: JsonSchema, level: Level, path: string): FieldError[] {
  const { type = "" } = schema;
  const at = `${path}.type`;
  if (schema["x-kubernetes-embedded-resource"] === true && type !== "object") {
    const why = "must be object if x-kubernetes-embedded-resource is true";
    return [type === "" ? required(at, why) : invalidValue(at, type, why), ...rootType(type, level, at)];
  }
  const isFree =
    schema["x-kubernetes-int-or-string"] === true || schema["x-kubernetes-preserve-unknown-fields"] === true;
  if (type === "") return isFree ? [] : [required(at, TYPE_MISSING[level])];
  return rootType(type, level, at);
}

function rootType(type: string, level: Level, at: string): FieldError[] {
  return level === "root" && type !== "" && type !== "object"
    ? [invalidValue(at, type, "must be object at the root")]
    : [];
}

function extensions(schema: JsonSchema, path: string): FieldError[] {
  if (schema["x-kubernetes-int-or-string"] !== true) return [];
  return (["x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"] as const).flatMap((name) =>
    schema[name] === true
      ? [invalidValue(`${path}.${name}`, true, "must be false if x-kubernetes-int-or-string is true")]
      : [],
  );
}

function metaFields(properties: Readonly<Record<string, JsonSchema>>, path: string): FieldError[] {
  const wanted = { kind: "string", apiVersion: "string", metadata: "object" };
  return Object.entries(wanted).flatMap(([name, type]) => {
    const one = properties[name];
    if (one === undefined || one.type === type) return [];
    return [invalidValue(`${path}.properties[${name}].type`, one.type ?? "", `must be ${type}`)];
  });
}

/** Of the metadata only the name can be restricted: all else is given. */
function rootMetadata({ type: _type, default: _default, ...rest }: JsonSchema, path: string): FieldError[] {
  const { properties = {}, description: _description, ...others } = rest;
  const isNamed = Object.keys(properties).every((one) => one === "name" || one === "generateName");
  const isBare = rest.description === undefined && Object.keys(others).length === 0 && isNamed;
  const why = "must not specify anything other than name and generateName, but metadata is implicitly specified";
  return isBare ? [] : [forbidden(path, why)];
}

/** Which anyOf may have types. */
interface Skips {
  readonly anyOf: boolean;
  readonly firstAllOf: boolean;
}

const NO_SKIPS: Skips = { anyOf: false, firstAllOf: false };

/** An int-or-string may say so again. Mirrors isIntOrStringAnyOfPattern and isIntOrStringAllOfPattern. */
function intOrStringSkips({ anyOf, allOf }: JsonSchema): Skips {
  return { anyOf: isIntOrString(anyOf), firstAllOf: isIntOrString(allOf?.[0]?.anyOf) };
}

function isIntOrString(anyOf: readonly JsonSchema[] | undefined): boolean {
  return JSON.stringify(anyOf) === '[{"type":"integer"},{"type":"string"}]';
}

function valueValidation(schema: JsonSchema, level: Level, path: string, skips: Skips): FieldError[] {
  const { anyOf = [], allOf = [], oneOf = [], not, pattern = "" } = schema;
  const errors: FieldError[] = [];
  const skipped = skips.anyOf ? [] : anyOf;
  for (const [i, one] of skipped.entries()) errors.push(...nested(one, level, `${path}.anyOf[${i}]`));
  allOf.forEach((one, i) => {
    errors.push(
      ...nested(one, level, `${path}.allOf[${i}]`, { anyOf: skips.firstAllOf && i === 0, firstAllOf: false }),
    );
  });
  for (const [i, one] of oneOf.entries()) errors.push(...nested(one, level, `${path}.oneOf[${i}]`));
  if (not !== undefined) errors.push(...nested(not, level, `${path}.not`));
  if (pattern === "") return errors;
  try {
    compilePattern(pattern);
  } catch (error) {
    const why = `must be a valid regular expression, but isn't: ${messageOf(error)}`;
    errors.push(invalidValue(`${path}.pattern`, pattern, why));
  }
  return errors;
}

/** What schemas inside of anyOf, allOf, oneOf and not cannot have, with upstream's words. */
const FORBIDDEN_INSIDE: readonly (readonly [name: keyof JsonSchema, what: string])[] = [
  ["type", "empty"],
  ["additionalProperties", "undefined"],
  ["default", "undefined"],
  ["title", "empty"],
  ["description", "empty"],
  ["nullable", "false"],
  ["x-kubernetes-preserve-unknown-fields", "false"],
  ["x-kubernetes-embedded-resource", "false"],
  ["x-kubernetes-int-or-string", "false"],
  ["x-kubernetes-list-map-keys", "empty"],
  ["x-kubernetes-list-type", "undefined"],
  ["x-kubernetes-map-type", "undefined"],
  ["x-kubernetes-validations", "empty"],
];

function nested(schema: JsonSchema, level: Level, path: string, skips = NO_SKIPS): FieldError[] {
  const items = itemsOf(schema);
  const errors = valueValidation(schema, level, path, skips);
  if (items !== undefined) errors.push(...nested(items, level, `${path}.items`));
  for (const [name, one] of Object.entries(schema.properties ?? {})) {
    errors.push(...nested(one, "field", `${path}.properties[${name}]`));
  }
  for (const [name, what] of FORBIDDEN_INSIDE) {
    const value = schema[name];
    if (value === undefined || value === false || value === "") continue;
    errors.push(forbidden(`${path}.${name}`, `must be ${what} to be structural`));
  }
  if (schema.properties?.["metadata"] !== undefined) {
    errors.push(forbidden(`${path}.properties[metadata]`, "must not be specified in a nested context"));
  }
  return errors;
}

/** Each field that only checks a value needs a place outside. Mirrors validateStructuralCompleteness. */
function completeness(schema: JsonSchema, path: string): FieldError[] {
  const items = itemsOf(schema);
  const values = valuesOf(schema);
  return [
    ...nestedOf(schema, path).flatMap(([one, at]) => complete(one, schema, at, path)),
    ...(items === undefined ? [] : completeness(items, `${path}.items`)),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, one]) =>
      completeness(one, `${path}.properties[${name}]`),
    ),
    ...(values === undefined ? [] : completeness(values, `${path}.additionalProperties`)),
  ];
}

function nestedOf(schema: JsonSchema, path: string): (readonly [JsonSchema, string])[] {
  const { anyOf = [], allOf = [], oneOf = [], not } = schema;
  return [
    ...anyOf.map((one, i) => [one, `${path}.anyOf[${i}]`] as const),
    ...allOf.map((one, i) => [one, `${path}.allOf[${i}]`] as const),
    ...oneOf.map((one, i) => [one, `${path}.oneOf[${i}]`] as const),
    ...(not === undefined ? [] : [[not, `${path}.not`] as const]),
  ];
}

function complete(inner: JsonSchema, outer: JsonSchema, at: string, outerPath: string): FieldError[] {
  const errors = nestedOf(inner, at).flatMap(([one, path]) => complete(one, outer, path, outerPath));
  const items = itemsOf(inner);
  if (items !== undefined) {
    const below = itemsOf(outer);
    const place = `${outerPath}.items`;
    if (below === undefined) errors.push(required(place, `because it is defined in ${at}.items`));
    else errors.push(...complete(items, below, `${at}.items`, place));
  }
  for (const [name, one] of Object.entries(inner.properties ?? {})) {
    const innerAt = `${at}.properties[${name}]`;
    const property = outer.properties?.[name];
    const values = valuesOf(outer);
    if (property !== undefined) errors.push(...complete(one, property, innerAt, `${outerPath}.properties[${name}]`));
    else if (values !== undefined) errors.push(...complete(one, values, innerAt, `${outerPath}.additionalProperties`));
    else errors.push(required(`${outerPath}.properties[${name}]`, `because it is defined in ${innerAt}`));
  }
  return errors;
}
