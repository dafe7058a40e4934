import { setOwnValue } from "../../../../../staging/apimachinery/own.js";
import { isRecord } from "../../../../../util/records.js";
import type { JsonSchema } from "../types.js";
import { asResource, itemsOf, META_FIELDS, valuesOf } from "./structural.js";

/** Reports the path of a field that was dropped: `spec.list[0].x`. */
export type OnUnknown = (path: string) => void;

/**
 * Drops the fields that a schema does not have. Neither the value nor a part of it is changed.
 *
 * Mirrors k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning/algorithm.go (PruneWithOptions).
 * @param isRoot keeps apiVersion, kind and metadata
 */
export function prune(value: unknown, schema: JsonSchema, isRoot: boolean, unknown?: OnUnknown): unknown {
  return new Pruning(unknown).value(value, isRoot ? asResource(schema) : schema);
}

class Pruning {
  readonly #path: (string | number)[] = [];

  constructor(readonly unknown: OnUnknown | undefined) {}

  value(value: unknown, schema: JsonSchema | undefined): unknown {
    if (Array.isArray(value)) return this.#list(value, schema);
    return isRecord(value) ? this.#map(value, schema) : value;
  }

  #map(map: Record<string, unknown>, schema: JsonSchema | undefined): Record<string, unknown> {
    const keepsAll = schema?.["x-kubernetes-preserve-unknown-fields"] === true;
    const isResource = schema?.["x-kubernetes-embedded-resource"] === true;
    const properties = schema?.properties;
    let changed: Record<string, unknown> | undefined;
    for (const key in map) {
      if (isResource && META_FIELDS.has(key)) continue;
      const isProperty = properties !== undefined && Object.hasOwn(properties, key);
      if (!isProperty && schema?.additionalProperties === undefined) {
        if (keepsAll) continue;
        if (this.unknown !== undefined && !(this.#path.length === 0 && META_FIELDS.has(key))) this.#report(key);
        changed ??= { ...map };
        delete changed[key];
        continue;
      }
      const below = isProperty ? properties[key] : valuesOf(schema as JsonSchema);
      this.#path.push(key);
      const kept = this.value(map[key], below);
      this.#path.pop();
      if (kept === map[key]) continue;
      changed ??= { ...map };
      setOwnValue(changed, key, kept);
    }
    return changed ?? map;
  }

  #list(list: readonly unknown[], schema: JsonSchema | undefined): readonly unknown[] {
    const items = schema === undefined ? undefined : itemsOf(schema);
    if (items === undefined && schema?.["x-kubernetes-preserve-unknown-fields"] === true) return list;
    let changed: unknown[] | undefined;
    for (let i = 0; i < list.length; i++) {
      this.#path.push(i);
      const kept = this.value(list[i], items);
      this.#path.pop();
      if (kept === list[i]) continue;
      changed ??= [...list];
      changed[i] = kept;
    }
    return changed ?? list;
  }

  #report(key: string): void {
    let path = "";
    for (const part of [...this.#path, key]) {
      if (typeof part === "number") path += `[${part}]`;
      else path += path === "" ? part : `.${part}`;
    }
    this.unknown?.(path);
  }
}
