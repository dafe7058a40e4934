import { inspect, isDeepStrictEqual } from "node:util";
import { messageOf } from "../../../util/errors.js";

const MOST_CHARACTERS = 400;
const MAX_DEPTH = 30;

/** A value as one short line of JavaScript. */
export function shown(value: unknown): string {
  // Its stack is of this program.
  if (value instanceof Error) return `[${value.name}: ${messageOf(value).slice(0, MOST_CHARACTERS)}]`;
  const text = inspect(value, {
    depth: 8,
    breakLength: Number.POSITIVE_INFINITY,
    compact: true,
    // A method of the learner's must not run here.
    customInspect: false,
    maxArrayLength: 20,
    maxStringLength: 200,
  }).replaceAll("[Object: null prototype] ", "");
  return text.length <= MOST_CHARACTERS ? text : `${text.slice(0, MOST_CHARACTERS)}…`;
}

/** `renewInterval(40)` */
export function shownCall(name: string, args: readonly unknown[]): string {
  return `${name}(${args.map((one) => (isFakeName(one) ? String(one).slice(1) : shown(one))).join(", ")})`;
}

/** Whether a value is a promise, or can be awaited as one. */
export function isPromise(value: unknown): boolean {
  return (
    typeof value === "object" && value !== null && typeof (value as { readonly then?: unknown }).then === "function"
  );
}

/** A text argument that stands for a fake. */
export function isFakeName(value: unknown): value is string {
  return typeof value === "string" && /^\$[a-z][\w.-]*$/i.test(value);
}

/** Whether two values are the same as JSON, where a missing field, undefined and an empty list of a field are the same. */
export function isSame(one: unknown, other: unknown): boolean {
  return isDeepStrictEqual(plain(one), plain(other));
}

/** Without undefined fields, and null for a missing value. What is no JSON stays itself, so that it equals nothing that is. */
function plain(value: unknown, depth = 0): unknown {
  if (value === undefined || value === null) return null;
  if (depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) return value.map((one) => plain(one, depth + 1));
  if (typeof value !== "object" || (Object.getPrototypeOf(value) ?? Object.prototype) !== Object.prototype)
    return value;
  const fields = Object.entries(value).filter(([, one]) => !isMissing(one));
  return Object.fromEntries(fields.map(([name, one]) => [name, plain(one, depth + 1)]));
}

/** As Go's JSON: a field without a value, or with an empty list. */
function isMissing(field: unknown): boolean {
  return field === undefined || field === null || (Array.isArray(field) && field.length === 0);
}

/** Makes a value and everything in it read-only. */
export function frozen<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const one of Object.values(value)) frozen(one);
  }
  return value;
}
