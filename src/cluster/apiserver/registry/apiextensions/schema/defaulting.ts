import { setOwnValue } from "../../../../../staging/apimachinery/own.js";
import { isRecord } from "../../../../../util/records.js";
import type { JsonSchema } from "../types.js";
import { fieldOf, itemsOf } from "./structural.js";

/**
 * Adds the defaults of a schema, and drops nulls that it does not allow. Neither the value nor a part of it is changed.
 *
 * Mirrors k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting (Default, PruneNonNullableNullsWithoutDefaults).
 * Differs: a default becomes part of the object, which never changes, instead of a copy.
 */
export function withDefaults(value: unknown, schema: JsonSchema | undefined): unknown {
  if (Array.isArray(value)) return withDefaultItems(value, schema);
  return isRecord(value) ? withDefaultFields(value, schema) : value;
}

function withDefaultFields(map: Record<string, unknown>, schema: JsonSchema | undefined): Record<string, unknown> {
  let changed: Record<string, unknown> | undefined;
  const change = (): Record<string, unknown> => {
    changed ??= { ...map };
    return changed;
  };
  for (const key in map) {
    const below = schema === undefined ? undefined : fieldOf(schema, key);
    const value = map[key];
    if (value === null && below !== undefined && below.nullable !== true) {
      if (below.default === undefined) delete change()[key];
      else setOwnValue(change(), key, withDefaults(below.default, below));
      continue;
    }
    const complete = withDefaults(value, below);
    if (complete !== value) setOwnValue(change(), key, complete);
  }
  const properties = schema?.properties;
  for (const key in properties) {
    const below = properties[key];
    if (below?.default === undefined || Object.hasOwn(map, key)) continue;
    setOwnValue(change(), key, withDefaults(below.default, below));
  }
  return changed ?? map;
}

function withDefaultItems(list: readonly unknown[], schema: JsonSchema | undefined): readonly unknown[] {
  const items = schema === undefined ? undefined : itemsOf(schema);
  let changed: unknown[] | undefined;
  for (let i = 0; i < list.length; i++) {
    const value = list[i];
    const isMissing = value === null && items !== undefined && items.nullable !== true;
    const complete = isMissing ? withDefaults(items.default ?? null, items) : withDefaults(value, items);
    if (complete === value) continue;
    changed ??= [...list];
    changed[i] = complete;
  }
  return changed ?? list;
}
