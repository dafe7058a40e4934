import { existsSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ANONYMOUS, Face } from "./support.js";

/** Responses of a real kube-apiserver, recorded outside the repository if available. */
const RECORDING = "../shared/recordings/apiserver-v1.25/discovery.json";

interface Item {
  readonly name: string;
  readonly as?: string;
  readonly request?: {
    readonly method: string;
    readonly path: string;
    readonly headers: Record<string, string>;
    readonly body?: unknown;
    readonly bodyText?: string;
  };
  readonly response?: { readonly status: number; readonly headers: Record<string, unknown>; readonly body: unknown };
}

const HEALTH = "only checks that can fail; the embedded storage has the place of etcd";

/** Items whose responses differ, and the reason. */
const DIFFERENT: Readonly<Record<string, string>> = {
  "GET /healthz?verbose": HEALTH,
  "GET /livez?verbose": HEALTH,
  "GET /readyz?verbose": HEALTH,
  "GET /readyz/etcd": HEALTH,
  "GET /readyz?verbose&exclude=etcd": HEALTH,
  "accept: protobuf": "its base64 holds a uid and managedFields",
  "accept: protobuf or JSON, as client-go sends": "a client that accepts JSON gets JSON",
  "accept: application/yaml": "managedFields are not kept",
  "accept: application/json;q=0.5,application/yaml": "managedFields are not kept",
};

const HEADERS = ["cache-control", "content-type", "x-content-type-options", "accept-ranges", "vary", "warning"];
/** Documents that list all resources: other tests compare them, group by group. */
const LISTS = new Set(["GET /apis", "root: list of paths", "openapi v3 index", "method: DELETE /apis"]);

function isProtobuf(body: unknown): body is { readonly base64: string } {
  return typeof body === "object" && body !== null && "base64" in body;
}

function shapeOf(body: unknown): unknown {
  if (typeof body !== "object" || body === null) return body;
  const { kind, reason, message, code, details, status } = body as Record<string, unknown>;
  return kind === "Status" ? { kind, reason, message, code, details, status } : { kind };
}

const items: Item[] = existsSync(RECORDING) ? JSON.parse(readFileSync(RECORDING, "utf8")).items : [];

describe.skipIf(items.length === 0)(`replay of discovery.json (needs ${RECORDING})`, () => {
  let face: Face;
  beforeAll(async () => {
    face = await Face.open();
  });
  afterAll(() => face.close());

  const exchanges = items.flatMap((item) =>
    item.request !== undefined && item.response !== undefined && item.request.method !== "FOO"
      ? [{ ...item, request: item.request, response: item.response }]
      : [],
  );

  test.each(exchanges)("$name", async ({ name, as, request, response }) => {
    const { method, path, headers, body = request.bodyText } = request;
    const options = {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
      ...(as === "anonymous" ? { as: ANONYMOUS } : {}),
    };
    const answer = await face.ask(path, options);
    const pick = (all: Record<string, unknown>) =>
      Object.fromEntries(HEADERS.map((key) => [key, Array.isArray(all[key]) ? all[key].join(", ") : all[key]]));
    const isText = typeof response.body === "string" && !LISTS.has(name) && !response.body.startsWith("…");
    const seen = {
      status: answer.status,
      ...pick(answer.headers),
      body: isText ? answer.text : shapeOf(answer.body ?? null),
    };
    const want = {
      status: response.status,
      ...pick(response.headers),
      body: isText ? response.body : shapeOf(response.body),
    };
    if (!isText && typeof response.body === "string") Object.assign(want, { body: seen.body });
    if (isProtobuf(response.body)) {
      Object.assign(want, { body: response.body.base64 });
      Object.assign(seen, { body: answer.bytes.toString("base64") });
    }
    if (name in DIFFERENT) expect(seen, "no longer differs").not.toEqual(want);
    else expect(seen).toEqual(want);
  });
});
