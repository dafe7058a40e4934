import { isRecord } from "../../util/records.js";
import { ACTORS, type Fact, type TraceEvent } from "../events.js";

type Check = (value: unknown) => boolean;
type FactOf<Kind> = Extract<Fact, { readonly kind: Kind }>;
type Fields<T> = { readonly [Name in keyof T]-?: Check };

/** The latest time that a Date can hold. */
const MAX_DATE_MS = 8.64e15;

const isText: Check = (value) => typeof value === "string";
const isNumber: Check = (value) => typeof value === "number" && Number.isFinite(value);
const isDuration: Check = (value) => typeof value === "number" && value >= 0 && value < MAX_DATE_MS;
const isTexts: Check = (value) => Array.isArray(value) && value.every(isText);
const isUpstream: Check = (value) => isRecord(value) && isText(value["file"]) && isText(value["func"]);
const isConstant: Check = (value) =>
  isRecord(value) && isText(value["name"]) && isText(value["value"]) && optional(isText)(value["release"]);
const isChange: Check = (value) => isRecord(value) && isText(value["op"]) && isText(value["path"]);
const isTable: Check = (value) => isRecord(value) && isTexts(value["columns"]) && listOf(isTexts)(value["rows"]);
const isStoryStep: Check = (value) =>
  isRecord(value) &&
  isText(value["fact"]) &&
  isText(value["text"]) &&
  [value["why"], value["topic"]].every(optional(isText)) &&
  optional(isUpstream)(value["upstream"]);
const isAnything: Check = () => true;
const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);
const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);

const isActor: Check = (value) => (ACTORS as readonly unknown[]).includes(value);

const STAMP: Fields<Omit<TraceEvent, "kind">> = {
  seq: isNumber,
  id: (value) => typeof value === "string" && /^[0-9a-f]{16}$/.test(value),
  atMs: (value) => typeof value === "number" && Math.abs(value) <= MAX_DATE_MS,
  actor: isActor,
  instance: optional(isText),
  chapter: optional(isText),
  pod: optional(isText),
  causedBy: optional(isText),
  origin: optional(isText),
  every: optional(isText),
  peer: optional((value) => isRecord(value) && isActor(value["actor"]) && optional(isText)(value["instance"])),
  level: isNumber,
};

/** The fields of each kind; tsc checks that none is missing. */
const FIELDS: { readonly [Kind in Fact["kind"]]: Fields<Omit<FactOf<Kind>, "kind">> } = {
  step: { title: isText, upstream: optional(isUpstream) },
  request: {
    method: isText,
    path: isText,
    server: isText,
    identity: isText,
    status: optional(isNumber),
    durationMs: isDuration,
    auditId: isText,
    version: optional(isText),
    failure: optional(isText),
    outcome: optional(isText),
    requestBody: isAnything,
    responseBody: isAnything,
  },
  rpc: {
    service: isText,
    method: isText,
    endpoint: isText,
    code: optional(isText),
    durationMs: isDuration,
    outcome: optional(isText),
    requestBody: isAnything,
    responseBody: isAnything,
  },
  decision: {
    what: isText,
    why: isText,
    constants: optional(listOf(isConstant)),
    changes: optional(listOf(isChange)),
    compared: optional(isTable),
    upstream: optional(isUpstream),
    auditId: optional(isText),
  },
  state: {
    subject: isText,
    what: isText,
    from: optional(isText),
    to: isText,
    upstream: optional(isUpstream),
    version: optional(isText),
  },
  watch: { type: isText, resource: isText, object: isText },
  event: { type: isText, reason: isText, message: isText, object: isText, upstream: optional(isUpstream) },
  note: { text: isText, upstream: optional(isUpstream) },
  table: {
    title: isText,
    columns: isTexts,
    rows: listOf(isTexts),
    omittedRows: optional(isNumber),
    upstream: optional(isUpstream),
  },
  frame: {
    direction: isText,
    framing: isText,
    type: isText,
    channel: optional(isText),
    streamId: optional(isNumber),
    length: isNumber,
    head: optional(isText),
    note: optional(isText),
  },
  error: { message: isText, hint: optional(isText) },
  story: { title: isText, steps: listOf(isStoryStep) },
};

/**
 * Checks a value from a file, so that readers of facts can rely on their types. Also runs in a browser.
 * @returns what is wrong with it; undefined for a fact
 */
export function faultOf(value: unknown): string | undefined {
  if (!isRecord(value)) return "it is not a JSON object";
  const { kind } = value;
  if (typeof kind !== "string") return 'it is not a fact: it has no "kind"';
  if (!Object.hasOwn(FIELDS, kind)) return `its kind "${kind.slice(0, 40)}" is not known`;
  return wrongField(value, STAMP) ?? wrongField(value, FIELDS[kind as Fact["kind"]]);
}

function wrongField(
  fact: Readonly<Record<string, unknown>>,
  fields: Readonly<Record<string, Check>>,
): string | undefined {
  for (const name in fields) {
    const value = fact[name];
    if (fields[name]?.(value) !== false) continue;
    return value === undefined ? `it has no "${name}"` : `its "${name}" is ${JSON.stringify(value).slice(0, 60)}`;
  }
  return undefined;
}
