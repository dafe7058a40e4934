import type { ApiResource } from "../../../../staging/apimachinery/api/resource.js";
import { resourceKeys } from "../keys.js";
import type { KindOfKey } from "./codec.js";

/** The kinds of all keys, and their beginnings: `/registry/pods/`. */
export interface KeySpace {
  readonly kindOf: KindOfKey;
  readonly prefixes: readonly string[];
}

/** By the first two parts of a key, or the first three (`/registry/services/specs/`). */
export function keySpace(definitions: readonly ApiResource[]): KeySpace {
  const byPrefix = new Map<string, ApiResource>();
  for (const definition of definitions) {
    const isStored = definition.virtual !== true && definition.storedAs === undefined;
    if (isStored) byPrefix.set(resourceKeys(definition).resourcePrefix, definition);
  }
  // The leases of API servers.
  const endpoints = byPrefix.get("/registry/services/endpoints/");
  if (endpoints !== undefined) byPrefix.set("/registry/masterleases/", endpoints);
  const kindOf: KindOfKey = (key) => {
    const second = key.indexOf("/", key.indexOf("/", 1) + 1);
    const third = key.indexOf("/", second + 1);
    return byPrefix.get(key.slice(0, second + 1)) ?? byPrefix.get(key.slice(0, third + 1));
  };
  return { kindOf, prefixes: [...byPrefix.keys()] };
}
