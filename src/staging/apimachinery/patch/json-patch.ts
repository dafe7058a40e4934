import { isDeepStrictEqual } from "node:util";
import { isRecord } from "../../../util/records.js";
import { jsonBytes } from "../json-bytes.js";
import { ownValue, setOwnValue } from "../own.js";
import { isDeeper, MAX_DEPTH } from "../scheme/json-syntax.js";

/**
 * JSON patch, RFC 6902. Mirrors github.com/evanphx/json-patch v4, which upstream uses. The document is never changed:
 * containers are copied before they are modified.
 */
export interface JsonPatchOperation {
  readonly op?: unknown;
  readonly path?: unknown;
  readonly from?: unknown;
  readonly value?: unknown;
}

/** The patch does not apply to the document: a missing path, a failed test, an unknown op. */
export class JsonPatchError extends Error {
  override readonly name = "JsonPatchError";
}

/** The JSON size limit of all copy operations. The API server's JSONPatchMaxCopyBytes. */
const MAX_COPIED_BYTES = 3 * 1024 * 1024;

/** @throws JsonPatchError */
export function applyJsonPatch(document: unknown, operations: readonly JsonPatchOperation[]): unknown {
  const patching = new Patching();
  try {
    const patched = operations.reduce<unknown>((current, operation) => patching.apply(current, operation), document);
    if (isDeeper(patched, MAX_DEPTH)) throw new JsonPatchError("exceeded max depth");
    return patching.sorted(patched);
  } catch (error) {
    // Moves can nest deep values until copying the result overflows the stack.
    if (error instanceof RangeError) throw new JsonPatchError("exceeded max depth", { cause: error });
    throw error;
  }
}

/** The state of one patch. Copies each container once and then modifies the copy, so many operations stay cheap. */
class Patching {
  /** containers that this patch has copied */
  readonly #own = new WeakSet<object>();
  #copiedBytes = 0;

  apply(document: unknown, operation: JsonPatchOperation): unknown {
    const path = pointer(operation.path, "path");
    switch (operation.op) {
      case "add":
        return this.#change(document, path, { kind: "add", value: operation.value ?? null });
      case "remove":
        return this.#change(document, path, { kind: "remove" });
      case "replace":
        return this.#change(document, path, { kind: "replace", value: operation.value ?? null });
      case "move": {
        const from = pointer(operation.from, "from");
        const value = find(document, from);
        return this.#change(this.#change(document, from, { kind: "remove" }), path, { kind: "add", value });
      }
      case "copy": {
        const value = this.#copy(find(document, pointer(operation.from, "from")));
        return this.#change(document, path, { kind: "add", value });
      }
      case "test":
        return test(document, path, operation.value ?? null);
      default:
        throw new JsonPatchError(`Unexpected kind: ${String(operation.op)}`);
    }
  }

  /** A copy must not share containers with the original. Copies of copies double in size, so their total is limited. */
  #copy(value: unknown): unknown {
    this.#copiedBytes += jsonBytes(value);
    if (this.#copiedBytes <= MAX_COPIED_BYTES) return structuredClone(value);
    throw new JsonPatchError(`the accumulated size increase of copy exceeds the limit ${MAX_COPIED_BYTES}`);
  }

  /** @returns the document with a change at `path`; the patch owns the containers along the path afterwards */
  #change(document: unknown, path: readonly string[], what: Change, depth = 0): unknown {
    const key = path[depth];
    if (key === undefined) return what.kind === "remove" ? undefined : what.value;
    const isLast = depth === path.length - 1;
    if (Array.isArray(document)) {
      const list = this.#owned(document as unknown[], () => [...document]);
      if (isLast) changeElement(list, key, what);
      else {
        const index = indexOf(key, list.length, false);
        list[index] = this.#change(list[index], path, what, depth + 1);
      }
      return list;
    }
    if (!isRecord(document)) throw new JsonPatchError(`missing container at ${key}`);
    // Differs from the RFC, like upstream's library: replacing a missing key adds it.
    if (what.kind === "remove" && !Object.hasOwn(document, key)) throw new JsonPatchError(`missing key ${key}`);
    const object = this.#owned(document, () => ({ ...document }));
    if (!isLast) setOwnValue(object, key, this.#change(ownValue(object, key), path, what, depth + 1));
    else if (what.kind === "remove") delete object[key];
    else setOwnValue(object, key, what.value);
    return object;
  }

  #owned<T extends object>(container: T, copy: () => T): T {
    if (this.#own.has(container)) return container;
    const copied = copy();
    this.#own.add(copied);
    return copied;
  }

  /** Upstream's messages show modified objects with sorted keys. */
  sorted(value: unknown): unknown {
    if (typeof value !== "object" || value === null || !this.#own.has(value)) return value;
    if (Array.isArray(value)) return value.map((item) => this.sorted(item));
    const entries = Object.entries(value).map(([key, item]) => [key, this.sorted(item)]);
    return sortKeys(Object.fromEntries(entries));
  }
}

function test(document: unknown, path: readonly string[], expected: unknown): unknown {
  if (isDeepStrictEqual(find(document, path), expected)) return document;
  throw new JsonPatchError(`testing value /${path.join("/")} failed`);
}

/** Splits `/a/b~1c/0` into keys. */
function pointer(text: unknown, what: string): string[] {
  if (typeof text !== "string") throw new JsonPatchError(`unable to decode ${what}`);
  const [first, ...keys] = text.split("/");
  if (first !== "") throw new JsonPatchError(`${what} is not a JSON pointer: ${text}`);
  if (keys.length > MAX_DEPTH) throw new JsonPatchError(`${what} exceeds max depth`);
  return keys.map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** As in upstream's library, a missing key of an object counts as null, but a path cannot continue below it. */
function find(document: unknown, path: readonly string[]): unknown {
  let value = document;
  for (const key of path) {
    if (Array.isArray(value)) value = value[indexOf(key, value.length, false)];
    else if (isRecord(value)) value = Object.hasOwn(value, key) ? value[key] : null;
    else throw new JsonPatchError(`missing path /${path.join("/")}`);
  }
  return value;
}

type Change = { readonly kind: "add" | "replace"; readonly value: unknown } | { readonly kind: "remove" };

/** Upstream's messages show modified objects with sorted keys. */
export function sortKeys(object: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).sort(([left], [right]) => (left < right ? -1 : 1)));
}

function changeElement(list: unknown[], key: string, what: Change): void {
  if (what.kind === "add") list.splice(indexOf(key, list.length, true), 0, what.value);
  else {
    const index = indexOf(key, list.length, false);
    if (what.kind === "remove") list.splice(index, 1);
    else list[index] = what.value;
  }
}

/** As in upstream's library, negative indexes count from the end. */
function indexOf(key: string, length: number, isInsertion: boolean): number {
  if (key === "-" && isInsertion) return length;
  if (!/^-?\d+$/.test(key)) throw new JsonPatchError(`not an index: ${key}`);
  const limit = isInsertion ? length : length - 1;
  const index = Number(key) < 0 ? Number(key) + limit + 1 : Number(key);
  if (index < 0 || index > limit) throw new JsonPatchError(`index ${key} out of bounds`);
  return index;
}
