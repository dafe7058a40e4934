import type { IncomingMessage } from "node:http";
import type { z } from "zod";
import { BadRequest, shown } from "./bad-request.js";
import { valueFromQuery } from "./fields.js";

const MAX_BODY_BYTES = 1024 * 1024;
/** fetch() and `curl -d` send the second and third by default. */
const JSON_TYPES = ["application/json", "text/plain", "application/x-www-form-urlencoded"];
/** A text and the colon after it, or the beginning or end of an object or a list. */
const TOKENS = /("[^"\\]*(?:\\.[^"\\]*)*")\s*(:)?|[{}[\]]/g;
/** A valid body has at most 4 levels: a pod's containers' command. */
const MAX_LEVELS = 20;
/** Keeps the check of a body short: zod reports every value that does not fit. */
const MAX_VALUES = 10_000;

const WAY_OUT = 'send a JSON object, or the same fields in the query (?delayMs=5 for {"delayMs":5})';

/** The fields of a request's body and query. @throws BadRequest */
export async function givenFields(
  request: IncomingMessage,
  query: URLSearchParams,
  fields: z.ZodObject,
): Promise<Readonly<Record<string, unknown>>> {
  const given = new Map(Object.entries(await readBody(request)));
  for (const name of new Set(query.keys())) {
    if (given.has(name) || query.getAll(name).length > 1) throw givenTwice(name);
    given.set(name, valueFromQuery(fields, name, query.get(name) ?? ""));
  }
  return Object.fromEntries(given);
}

/** The JSON object in a request's body; {} without a body. */
async function readBody(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  const bytes = await readBytes(request);
  if (bytes.length === 0) return {};
  checkType(request.headers);
  let body: string;
  try {
    body = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new BadRequest(`the body is not UTF-8: ${WAY_OUT}`);
  }
  if (body.trim() === "") return {};
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    throw new BadRequest(`the body ${shown(body)} is not JSON: ${WAY_OUT}`);
  }
  checkBody(body);
  if (valueCount(value) > MAX_VALUES) throw new BadRequest(`the body has more than ${MAX_VALUES} values`);
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new BadRequest(`the body ${shown(value)} is not a JSON object: ${WAY_OUT}`);
  return value as Readonly<Record<string, unknown>>;
}

async function readBytes(request: IncomingMessage): Promise<Buffer> {
  const tooBig = new BadRequest(`the body is too big: at most ${MAX_BODY_BYTES} bytes are accepted`, undefined, 413);
  if (Number(request.headers["content-length"] ?? 0) > MAX_BODY_BYTES) throw tooBig;
  const parts: Buffer[] = [];
  let length = 0;
  // The request stays open when this ends early, because the sender of a body that is too big must get the answer.
  for await (const part of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    length += part.length;
    if (length > MAX_BODY_BYTES) throw tooBig;
    parts.push(part);
  }
  return Buffer.concat(parts);
}

function checkType({
  "content-type": type = "",
  "content-encoding": encoding = "identity",
}: IncomingMessage["headers"]) {
  if (encoding !== "identity")
    throw new BadRequest(
      `a body with content-encoding ${shown(encoding)} is not accepted: send it uncompressed`,
      undefined,
      415,
    );
  const [mime = "", ...parameters] = type.split(";").map((part) => part.trim().toLowerCase());
  const charset = parameters.find((one) => one.startsWith("charset="))?.replace(/^charset=|"/g, "") ?? "utf-8";
  if ((mime === "" || JSON_TYPES.includes(mime)) && charset === "utf-8") return;
  const what = [mime, ...parameters.filter((one) => one.startsWith("charset="))].join("; ");
  throw new BadRequest(`a body of ${shown(what)} is not accepted: expected application/json in UTF-8`, undefined, 415);
}

/**
 * Refuses what JSON.parse accepts: names that are twice in one object, and too many levels, for which JSON.stringify
 * takes seconds.
 *
 * @param json valid JSON
 * @throws BadRequest
 */
function checkBody(json: string): void {
  const open: Set<string>[] = [];
  for (const [token, text, colon] of json.matchAll(TOKENS)) {
    if (token === "{" || token === "[") open.push(new Set());
    else if (token === "}" || token === "]") open.pop();
    if (open.length > MAX_LEVELS) throw new BadRequest(`the body has more than ${MAX_LEVELS} levels`);
    if (text === undefined || colon === undefined) continue;
    const name = String(JSON.parse(text));
    const names = open.at(-1);
    if (names?.has(name) === true) throw givenTwice(name);
    names?.add(name);
  }
}

/** @param value of at most `MAX_LEVELS` levels */
function valueCount(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce<number>((count, item) => count + valueCount(item), 1);
}

function givenTwice(name: string): BadRequest {
  return new BadRequest(`${shown(name)} is given twice: give it once, in the body or in the query`, name);
}
