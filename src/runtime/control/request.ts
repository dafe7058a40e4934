import type { IncomingMessage } from "node:http";
import { BadRequest } from "./bad-request.js";
import { checkBody, givenTwice } from "./body-check.js";
import { type Fields, objectOf, shown } from "./fields.js";

const MAX_BODY_BYTES = 1024 * 1024;
/** The second and third are what fetch() and `curl -d` say of a body when nobody tells them what it is. */
const JSON_TYPES = ["application/json", "text/plain", "application/x-www-form-urlencoded"];
const WAY_OUT = 'send a JSON object, or the same fields in the query (?delayMs=5 for {"delayMs":5})';

/** What a request says, by field: its body's JSON object, and its query. @throws BadRequest */
export async function givenFields(
  request: IncomingMessage,
  query: URLSearchParams,
  fields: Fields,
): Promise<Readonly<Record<string, unknown>>> {
  const given = new Map(Object.entries(await readBody(request)));
  for (const name of new Set(query.keys())) {
    if (given.has(name) || query.getAll(name).length > 1) throw givenTwice(name);
    const value = query.get(name) ?? "";
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (field !== undefined && field.fromText === undefined)
      throw new BadRequest(`${name} is ${field.expected}: it can be given in the body only`, name);
    given.set(name, field?.fromText?.(value) ?? value);
  }
  return Object.fromEntries(given);
}

/** A request's JSON object; none is the same as an empty one. */
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
  const object = objectOf(value);
  if (object === undefined) throw new BadRequest(`the body ${shown(value)} is no JSON object: ${WAY_OUT}`);
  return object;
}

async function readBytes(request: IncomingMessage): Promise<Buffer> {
  const tooBig = new BadRequest(`the body is too big: at most ${MAX_BODY_BYTES} bytes are read`, undefined, 413);
  if (Number(request.headers["content-length"] ?? 0) > MAX_BODY_BYTES) throw tooBig;
  const parts: Buffer[] = [];
  let length = 0;
  // Not destroyed when this ends early: who sends too much must still get the answer.
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
      `a body with content-encoding ${shown(encoding)} is not read: send it as it is`,
      undefined,
      415,
    );
  const [mime = "", ...parameters] = type.split(";").map((part) => part.trim().toLowerCase());
  const charset = parameters.find((one) => one.startsWith("charset="))?.replace(/^charset=|"/g, "") ?? "utf-8";
  if ((mime === "" || JSON_TYPES.includes(mime)) && charset === "utf-8") return;
  const what = [mime, ...parameters.filter((one) => one.startsWith("charset="))].join("; ");
  throw new BadRequest(`a body of ${shown(what)} is not read: expected application/json in UTF-8`, undefined, 415);
}
