import { goQuote } from "../../apimachinery/scheme/go-text.js";
import { isRecord } from "../../util/records.js";

/** Careful reading of stored objects, whose fields are `unknown` at this layer. */

/** @returns "" for anything that is no string */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** @returns an empty list for anything that is no list; its strings otherwise */
export function stringsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : [];
}

export function recordsOf(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** Walks down named fields: `fieldOf(pod, "spec", "nodeName")`. */
export function fieldOf(value: unknown, ...path: readonly string[]): unknown {
  let current = value;
  for (const name of path) {
    if (!isRecord(current)) return undefined;
    current = current[name];
  }
  return current;
}

/** A list in Go's %q: `["a" "b"]`. */
export function quoteList(texts: readonly string[]): string {
  return `[${texts.map(goQuote).join(" ")}]`;
}
