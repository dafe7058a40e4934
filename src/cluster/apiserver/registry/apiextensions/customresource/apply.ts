import { setOwnValue } from "../../../../../staging/apimachinery/own.js";
import { sameJson } from "../../../../../staging/apimachinery/same-json.js";
import { isRecord } from "../../../../../util/records.js";
import { fieldOf, itemsOf } from "../schema/structural.js";
import type { JsonSchema } from "../types.js";

/**
 * Merges an applied configuration into an object: maps field by field, lists as their type says.
 *
 * Mirrors the outcome of sigs.k8s.io/structured-merge-diff/v4/typed/merge.go for the types of a structural schema.
 */
export function mergeApplied(current: unknown, applied: unknown, schema: JsonSchema | undefined): unknown {
  if (Array.isArray(applied)) return Array.isArray(current) ? mergeList(current, applied, schema) : applied;
  if (!isRecord(applied) || !isRecord(current) || schema?.["x-kubernetes-map-type"] === "atomic") return applied;
  const merged: Record<string, unknown> = { ...current };
  for (const [key, value] of Object.entries(applied)) {
    const before = Object.hasOwn(current, key) ? current[key] : undefined;
    setOwnValue(merged, key, mergeApplied(before, value, schema === undefined ? undefined : fieldOf(schema, key)));
  }
  return merged;
}

function mergeList(
  current: readonly unknown[],
  applied: readonly unknown[],
  schema: JsonSchema | undefined,
): readonly unknown[] {
  const keys = schema?.["x-kubernetes-list-map-keys"] ?? [];
  switch (schema?.["x-kubernetes-list-type"]) {
    case "set":
      return [...current, ...applied.filter((one) => !current.some((other) => sameJson(one, other)))];
    case "map": {
      const keyOf = (item: unknown) => JSON.stringify(keys.map((key) => (isRecord(item) ? (item[key] ?? null) : null)));
      const items = schema === undefined ? undefined : itemsOf(schema);
      const wanted = new Map(applied.map((item) => [keyOf(item), item]));
      const kept = current.map((item) => {
        const key = keyOf(item);
        if (!wanted.has(key)) return item;
        const merged = mergeApplied(item, wanted.get(key), items);
        wanted.delete(key);
        return merged;
      });
      return [...kept, ...wanted.values()];
    }
    default:
      return applied;
  }
}
