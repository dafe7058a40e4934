import { isDeepStrictEqual } from "node:util";

/**
 * JSON patch, RFC 6902. Mirrors github.com/evanphx/json-patch v4, which upstream uses.
 * The document is never changed: what is written to is copied first.
 */
export interface JsonPatchOperation {
  readonly op?: unknown;
  readonly path?: unknown;
  readonly from?: unknown;
  readonly value?: unknown;
}

/** The patch does not fit the document: a missing path, a failed test, an unknown op. */
export class JsonPatchError extends Error {
  override readonly name = "JsonPatchError";
}

/** @throws JsonPatchError */
export function applyJsonPatch(document: unknown, operations: readonly JsonPatchOperation[]): unknown {
  return operations.reduce<unknown>(applyOperation, document);
}

function applyOperation(document: unknown, operation: JsonPatchOperation): unknown {
  const path = pointer(operation.path, "path");
  switch (operation.op) {
    case "add":
      return change(document, path, { kind: "add", value: operation.value ?? null });
    case "remove":
      return change(document, path, { kind: "remove" });
    case "replace":
      return change(document, path, { kind: "replace", value: operation.value ?? null });
    case "move": {
      const from = pointer(operation.from, "from");
      return change(change(document, from, { kind: "remove" }), path, { kind: "add", value: find(document, from) });
    }
    case "copy":
      return change(document, path, { kind: "add", value: find(document, pointer(operation.from, "from")) });
    case "test":
      return test(document, path, operation.value ?? null);
    default:
      throw new JsonPatchError(`Unexpected kind: ${String(operation.op)}`);
  }
}

function test(document: unknown, path: readonly string[], expected: unknown): unknown {
  if (isDeepStrictEqual(find(document, path), expected)) return document;
  throw new JsonPatchError(`testing value /${path.join("/")} failed`);
}

/** `/a/b~1c/0` as keys. */
function pointer(text: unknown, what: string): string[] {
  if (typeof text !== "string") throw new JsonPatchError(`unable to decode ${what}`);
  const [first, ...keys] = text.split("/");
  if (first !== "") throw new JsonPatchError(`${what} is not a JSON pointer: ${text}`);
  return keys.map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** A key that an object has not holds null, as in the library that upstream uses; but nothing can be inside of it. */
function find(document: unknown, path: readonly string[]): unknown {
  let value = document;
  for (const key of path) {
    if (Array.isArray(value)) value = value[indexOf(key, value.length, false)];
    else if (isObject(value)) value = Object.hasOwn(value, key) ? value[key] : null;
    else throw new JsonPatchError(`missing path /${path.join("/")}`);
  }
  return value;
}

type Change = { readonly kind: "add" | "replace"; readonly value: unknown } | { readonly kind: "remove" };

/** @returns the document with the place at `path` changed; the containers on the way are copies */
function change(document: unknown, path: readonly string[], what: Change): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return what.kind === "remove" ? undefined : what.value;
  if (Array.isArray(document)) {
    const copy = [...(document as readonly unknown[])];
    if (rest.length > 0) {
      const index = indexOf(key, copy.length, false);
      copy[index] = change(copy[index], rest, what);
    } else changeElement(copy, key, what);
    return copy;
  }
  if (!isObject(document)) throw new JsonPatchError(`missing container at ${key}`);
  // To replace what is not there adds it: the library's way, against the RFC's.
  if (what.kind === "remove" && !Object.hasOwn(document, key)) throw new JsonPatchError(`missing key ${key}`);
  const copy = { ...document };
  if (rest.length > 0) copy[key] = change(copy[key], rest, what);
  else if (what.kind === "remove") delete copy[key];
  else copy[key] = what.value;
  return sortKeys(copy);
}

/** Upstream's messages show what was written to with its keys in order. */
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

/** Negative indexes count from the end, as in the library that upstream uses. */
function indexOf(key: string, length: number, isInsertion: boolean): number {
  if (key === "-" && isInsertion) return length;
  if (!/^-?\d+$/.test(key)) throw new JsonPatchError(`not an index: ${key}`);
  const limit = isInsertion ? length : length - 1;
  const index = Number(key) < 0 ? Number(key) + limit + 1 : Number(key);
  if (index < 0 || index > limit) throw new JsonPatchError(`index ${key} out of bounds`);
  return index;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
