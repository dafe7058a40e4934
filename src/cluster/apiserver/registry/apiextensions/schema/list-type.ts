import type { FieldError } from "../../../../../staging/apimachinery/errors.js";
import { goMapJson } from "../../../../../staging/apimachinery/go-map-json.js";
import { isRecord } from "../../../../../util/records.js";
import { duplicate, invalidValue } from "../../rest/field-errors.js";
import type { JsonSchema } from "../types.js";
import { goLiteral } from "./go-literal.js";
import { itemsOf, valuesOf } from "./structural.js";

/**
 * Checks that sets have no item twice, and lists of type map no key.
 *
 * Mirrors k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype/validation.go (ValidateListSetsAndMaps).
 */
export function validateListTypes(value: unknown, schema: JsonSchema | undefined, path = ""): FieldError[] {
  if (schema === undefined) return [];
  if (Array.isArray(value)) return validateList(value, schema, path);
  if (!isRecord(value)) return [];
  const { properties = {} } = schema;
  const values = valuesOf(schema);
  return Object.entries(value).flatMap(([key, item]) => {
    if (values !== undefined) return validateListTypes(item, values, `${path}[${key}]`);
    if (!Object.hasOwn(properties, key)) return [];
    return validateListTypes(item, properties[key], path === "" ? key : `${path}.${key}`);
  });
}

function validateList(list: readonly unknown[], schema: JsonSchema, path: string): FieldError[] {
  const items = itemsOf(schema);
  const below = list.flatMap((item, i) => validateListTypes(item, items, `${path}[${i}]`));
  switch (schema["x-kubernetes-list-type"]) {
    case "set":
      return [...duplicatesIn(list, path), ...below];
    case "map":
      return [...validateMap(list, schema["x-kubernetes-list-map-keys"] ?? [], path), ...below];
    default:
      return below;
  }
}

function validateMap(list: readonly unknown[], keys: readonly string[], path: string): FieldError[] {
  const wrong = list.findIndex((item) => item !== null && !isRecord(item));
  if (wrong >= 0) {
    const text = "must be an object for an array of list-type map";
    return [invalidValue(`${path}[${wrong}]`, goLiteral(list[wrong]), text)];
  }
  const keyOf = (item: unknown) =>
    Object.fromEntries(
      isRecord(item) ? keys.filter((key) => Object.hasOwn(item, key)).map((key) => [key, item[key]]) : [],
    );
  return duplicatesIn(list.map(keyOf), path);
}

/** One error for each value that is there more than once, at its second place. */
function duplicatesIn(values: readonly unknown[], path: string): FieldError[] {
  const counts = new Map<string, number>();
  return values.flatMap((value, i) => {
    const text = goMapJson(value);
    const count = (counts.get(text) ?? 0) + 1;
    counts.set(text, count);
    return count === 2 ? [duplicate(`${path}[${i}]`, goLiteral(value))] : [];
  });
}
