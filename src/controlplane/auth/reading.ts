import { goQuote } from "../../apimachinery/scheme/go-text.js";
import { isRecord } from "../../util/records.js";

/** Reads fields of objects of unknown kinds: claims of tokens, bodies of reviews. */

/** @returns "" for a value that is not a string */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** @returns the strings of a list; [] for a value that is not a list */
export function stringsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : [];
}

/** Follows a path of fields: `fieldOf(pod, "spec", "nodeName")`. */
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
