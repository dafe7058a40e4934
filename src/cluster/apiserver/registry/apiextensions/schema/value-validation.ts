import { RE2JS } from "re2js";
import { type FieldError, MAX_CAUSES } from "../../../../../staging/apimachinery/errors.js";
import { goMapJson } from "../../../../../staging/apimachinery/go-map-json.js";
import { isRecord } from "../../../../../util/records.js";
import { invalidValue, notSupported, required, tooMany } from "../../rest/field-errors.js";
import type { JsonSchema } from "../types.js";
import { hasFormat, isCheckedFormat } from "./formats.js";
import { goLiteral } from "./go-literal.js";
import { itemsOf } from "./structural.js";

/**
 * Validates a value against a schema.
 *
 * Mirrors k8s.io/kube-openapi/pkg/validation/validate, with the errors of
 * k8s.io/apiextensions-apiserver/pkg/apiserver/validation/validation.go (ValidateCustomResource).
 * @param prefix of the fields in the errors, as for defaults
 */
export function validateValue(value: unknown, schema: JsonSchema, prefix = ""): FieldError[] {
  const result = new Result();
  validate(value, schema, "", result);
  if (prefix === "") return result.errors;
  return result.errors.map((error) => ({
    ...error,
    field: error.field === "" || error.field === NOWHERE ? prefix : `${prefix}.${error.field}`,
  }));
}

/** The field of errors that have no place upstream. */
const NOWHERE = "<nil>";

/** The pattern of a schema. Runs in linear time. @throws when it is not a pattern */
export function compilePattern(pattern: string): RE2JS {
  let compiled = patterns.get(pattern);
  if (compiled === undefined) {
    compiled = RE2JS.compile(pattern);
    if (patterns.size >= MAX_PATTERNS) patterns.clear();
    patterns.set(pattern, compiled);
  }
  return compiled;
}

/** Compiled patterns by text, a cache of constants. */
const patterns = new Map<string, RE2JS>();
const MAX_PATTERNS = 1000;

/** Errors, and the number of checks that passed: of several alternatives, the errors of the nearest one are shown. */
class Result {
  readonly errors: FieldError[] = [];
  matches = 0;

  check(passes: boolean, error: () => FieldError): void {
    if (passes) this.matches++;
    else if (this.errors.length < MAX_CAUSES) this.errors.push(error());
  }

  merge({ errors, matches }: Result): void {
    for (const one of errors) this.errors.push(one);
    this.matches += matches;
  }
}

const MAX_DEPTH = 500;

function validate(value: unknown, schema: JsonSchema, path: string, result: Result, depth = 0): void {
  if (depth > MAX_DEPTH) return;
  checkType(value, schema, path, result);
  if (value === null) {
    checkEnum(value, schema, path, result);
    return;
  }
  checkCombinations(value, schema, path, result, depth);
  if (typeof value === "string") checkText(value, schema, path, result);
  else if (typeof value === "number") checkNumber(value, schema, path, result);
  else if (Array.isArray(value)) checkList(value, schema, path, result, depth);
  checkEnum(value, schema, path, result);
  if (isRecord(value)) checkObject(value, schema, path, result, depth);
  result.matches++;
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}

/** The types that a schema allows. */
function typesOf({ type = "", "x-kubernetes-int-or-string": isIntOrString }: JsonSchema): readonly string[] {
  if (isIntOrString === true) return ["integer", "string"];
  return type === "" ? [] : [type];
}

function checkType(value: unknown, schema: JsonSchema, path: string, result: Result): void {
  const types = typesOf(schema);
  if (types.length === 0) return;
  const actual = typeOf(value);
  const { format = "", nullable } = schema;
  // A text with a format is checked by its format alone.
  const isFormatted = typeof value === "string" && format !== "" && isCheckedFormat(format) && !isNumeric(types);
  const fits =
    value === null
      ? nullable === true
      : isFormatted || types.includes(actual) || (actual === "integer" && types.includes("number"));
  result.check(fits, () => typeError(path, types.join(","), actual));
}

function isNumeric(types: readonly string[]): boolean {
  return types.includes("number") || types.includes("integer");
}

function typeError(path: string, type: string, actual: string): FieldError {
  const text = `${path} in body must be of type ${type}: ${JSON.stringify(actual)}`;
  return { ...invalidValue(fieldOfPath(path), actual, text), type: "FieldValueTypeInvalid" };
}

/** The path of a map's key at the root begins with a dot. */
function fieldOfPath(path: string): string {
  return path.startsWith(".") ? path.slice(1) : path;
}

function checkText(text: string, schema: JsonSchema, path: string, result: Result): void {
  const { maxLength, minLength, pattern = "", format = "" } = schema;
  const field = fieldOfPath(path);
  if (maxLength !== undefined || minLength !== undefined) {
    const length = lengthOf(text);
    if (maxLength !== undefined) {
      const error = {
        type: "FieldValueTooLong",
        field,
        text: `Too long: may not be longer than ${maxLength}`,
      } as const;
      result.check(length <= maxLength, () => error);
    }
    if (minLength !== undefined) {
      const why = `${path} in body should be at least ${minLength} chars long`;
      result.check(length >= minLength, () => invalidValue(field, text, why));
    }
  }
  if (pattern !== "") {
    const why = `${path} in body should match '${pattern}'`;
    result.check(compilePattern(pattern).matcher(text).find(), () => invalidValue(field, text, why));
  }
  if (format !== "" && isCheckedFormat(format)) {
    const why = `${path} in body must be of type ${format}: ${JSON.stringify(text)}`;
    result.check(hasFormat(text, format), () => ({
      ...invalidValue(field, text, why),
      type: "FieldValueTypeInvalid",
    }));
  }
}

/** In characters, as Go counts runes. */
function lengthOf(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

function checkNumber(value: number, schema: JsonSchema, path: string, result: Result): void {
  const { maximum, exclusiveMaximum, minimum, exclusiveMinimum, multipleOf } = schema;
  const wrong = (why: string) => () => invalidValue(fieldOfPath(path), value, `${path} in body should be ${why}`);
  if (multipleOf !== undefined) {
    const times = value / multipleOf;
    result.check(Math.abs(times - Math.round(times)) < 1e-9, wrong(`a multiple of ${multipleOf}`));
  }
  if (maximum !== undefined) {
    if (exclusiveMaximum === true) result.check(value < maximum, wrong(`less than ${maximum}`));
    else result.check(value <= maximum, wrong(`less than or equal to ${maximum}`));
  }
  if (minimum !== undefined) {
    if (exclusiveMinimum === true) result.check(value > minimum, wrong(`greater than ${minimum}`));
    else result.check(value >= minimum, wrong(`greater than or equal to ${minimum}`));
  }
  checkRange(value, schema, path, result);
}

const LIMITS: Readonly<Record<string, number>> = { int32: 2 ** 31, int64: 2 ** 63 };

/** Mirrors IsValueValidAgainstRange: its error has no place of its own. */
function checkRange(value: number, { type, format = "" }: JsonSchema, path: string, result: Result): void {
  const limit = type === "integer" ? LIMITS[format] : undefined;
  if (limit === undefined || !Number.isInteger(value)) return;
  const why = `Checked value must be of type integer with format ${format} in ${path}`;
  result.check(value < limit && value >= -limit, () => invalidValue(NOWHERE, "", why));
}

function checkList(list: readonly unknown[], schema: JsonSchema, path: string, result: Result, depth: number): void {
  const { maxItems, minItems } = schema;
  const field = fieldOfPath(path);
  const items = itemsOf(schema);
  if (items !== undefined) {
    for (let i = 0; i < list.length; i++) validate(list[i], items, `${path}[${i}]`, result, depth + 1);
  }
  if (minItems !== undefined) {
    const why = `${path} in body should have at least ${minItems} items`;
    result.check(list.length >= minItems, () => invalidValue(field, list.length, why));
  }
  if (maxItems !== undefined) result.check(list.length <= maxItems, () => tooMany(field, list.length, maxItems));
}

function checkObject(
  map: Record<string, unknown>,
  schema: JsonSchema,
  path: string,
  result: Result,
  depth: number,
): void {
  const { properties = {}, additionalProperties, required: names = [], maxProperties, minProperties } = schema;
  const field = fieldOfPath(path);
  for (const key in map) {
    if (Object.hasOwn(properties, key)) {
      const at = path === "" ? key : `${path}.${key}`;
      validate(map[key], properties[key] as JsonSchema, at, result, depth + 1);
    } else if (typeof additionalProperties === "object") {
      validate(map[key], additionalProperties, `${path}.${key}`, result, depth + 1);
    } else if (additionalProperties === false) {
      result.check(false, () => invalidValue(field, key, `${path}.${key} in body is a forbidden property`));
    }
  }
  for (const name of names) {
    result.check(Object.hasOwn(map, name), () => required(fieldOfPath(`${path}.${name}`)));
  }
  if (maxProperties === undefined && minProperties === undefined) return;
  const count = Object.keys(map).length;
  if (minProperties !== undefined) {
    const why = `${path} in body should have at least ${minProperties} properties`;
    result.check(count >= minProperties, () => invalidValue(field, count, why));
  }
  if (maxProperties !== undefined) result.check(count <= maxProperties, () => tooMany(field, count, maxProperties));
}

function checkEnum(value: unknown, schema: JsonSchema, path: string, result: Result): void {
  const allowed = schema.enum;
  if (allowed === undefined || allowed.length === 0) return;
  const isAllowed = allowed.some((one) => one === value || (isStructured(one) && goMapJson(one) === goMapJson(value)));
  result.check(isAllowed, () => {
    const names = allowed.map((one) => (typeof one === "string" ? one : goMapJson(one)));
    return notSupported(fieldOfPath(path), goLiteral(value), names);
  });
}

function isStructured(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

/** Mirrors schemaPropsValidator.Validate. */
function checkCombinations(value: unknown, schema: JsonSchema, path: string, result: Result, depth: number): void {
  const { anyOf = [], oneOf = [], allOf = [], not } = schema;
  const tried = (one: JsonSchema) => {
    const own = new Result();
    validate(value, one, path, own, depth + 1);
    return own;
  };
  const fail = (why: string) => result.check(false, () => invalidValue(NOWHERE, "", `${JSON.stringify(path)} ${why}`));
  if (anyOf.length > 0) {
    const results = anyOf.map(tried);
    const valid = results.find(isValid);
    if (valid === undefined) fail("must validate at least one schema (anyOf)");
    result.merge(valid ?? nearest(results));
  }
  if (oneOf.length > 0) {
    const results = oneOf.map(tried);
    const valid = results.filter(isValid);
    const found = valid.length === 0 ? "Found none valid" : `Found ${valid.length} valid alternatives`;
    if (valid.length !== 1) fail(`must validate one and only one schema (oneOf). ${found}`);
    if (valid.length === 0) result.merge(nearest(results));
    else if (valid[0] !== undefined) result.merge(valid[0]);
  }
  if (allOf.length > 0) {
    const results = allOf.map(tried);
    for (const one of results) result.merge(one);
    const count = results.filter(isValid).length;
    if (count < results.length) fail(`must validate all the schemas (allOf)${count === 0 ? ". None validated" : ""}`);
  }
  if (not !== undefined && isValid(tried(not))) fail("must not validate the schema (not)");
}

function isValid({ errors }: Result): boolean {
  return errors.length === 0;
}

function nearest(results: readonly Result[]): Result {
  return results.reduce((best, one) => (one.matches > best.matches ? one : best));
}
