import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { RequestMatch } from "../../../../../src/cluster/apiserver/endpoints/faults/request-match.js";
import {
  type RequestFault,
  ServerFaults,
} from "../../../../../src/cluster/apiserver/endpoints/faults/server-faults.js";
import { Trace } from "../../../../../src/trace/trace.js";
import { FakeClock } from "../../../../support/fake-clock.js";
import { Face } from "../../server/support.js";

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const ADMIN = "kubernetes-admin";

let faults: ServerFaults;
let face: Face;
const notes: string[] = [];
beforeAll(async () => {
  faults = new ServerFaults();
  const trace = new Trace(new FakeClock());
  trace.addSink({ level: 1, write: (event) => event.kind === "note" && notes.push(event.text) });
  face = await Face.open({ faults, trace });
});
afterAll(() => face.close());
beforeEach(() => void notes.splice(0));

/** Runs the body while a fault meets the requests of the match. */
async function during<T>(match: RequestMatch, fault: RequestFault, body: () => Promise<T>): Promise<T> {
  faults.requests.set(match, fault);
  try {
    return await body();
  } finally {
    faults.requests.set(match, undefined);
  }
}

const CODES: readonly (readonly [code: number, reason: string | undefined, message: string, details?: object])[] = [
  [400, "BadRequest", "the server rejected our request for an unknown reason"],
  [401, "Unauthorized", "Unauthorized"],
  [403, "Forbidden", 'configmaps "a" is forbidden: chaos', { name: "a", kind: "configmaps" }],
  [404, "NotFound", 'configmaps "a" not found', { name: "a", kind: "configmaps" }],
  [
    409,
    "Conflict",
    'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again',
    { name: "a", kind: "configmaps" },
  ],
  [410, "Expired", "The resourceVersion for the provided list is too old."],
  [429, "TooManyRequests", "Too many requests, please try again later."],
  [500, "InternalError", "Internal error occurred: chaos", { causes: [{ message: "chaos" }] }],
  [503, "ServiceUnavailable", "the server is currently unable to handle the request"],
  [504, "Timeout", "Timeout: request did not complete within the allotted timeout", {}],
  [507, undefined, "the server responded with the status code 507 but did not return more information"],
];

test.for(CODES)("answers %i with upstream's Status", async ([code, reason, message, details]) => {
  const answer = await during({}, { code }, () => face.ask(`${CONFIG_MAPS}/a`));
  expect(answer.status).toBe(code);
  expect(answer.headers["content-type"]).toBe("application/json");
  expect(answer.headers["audit-id"]).toMatch(/^[0-9a-f-]{36}$/);
  expect(answer.body).toEqual({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    ...(reason === undefined ? {} : { reason }),
    ...(details === undefined ? {} : { details }),
    code,
  });
  expect(notes).toEqual([`chaos answers ${code} to GET ${CONFIG_MAPS}/a`]);
  expect((await face.ask(CONFIG_MAPS)).status).toBe(200);
});

test("429 says when to come again", async () => {
  const answer = await during({}, { code: 429, retryAfterSeconds: 7 }, () => face.ask(CONFIG_MAPS));
  expect(answer.headers["retry-after"]).toBe("7");
  expect(answer.body.details).toEqual({ retryAfterSeconds: 7 });
});

describe("a fault meets only the requests of its match", () => {
  test.each<readonly [RequestMatch, met: boolean]>([
    [{ user: ADMIN }, true],
    [{ user: "system:node:n" }, false],
    [{ verb: "list,get" }, true],
    [{ verb: "update" }, false],
    [{ resource: "*" }, true],
    [{ resource: "configmaps" }, true],
    [{ resource: "configmaps/*" }, true],
    [{ resource: "configmaps/status" }, false],
    [{ resource: "pods" }, false],
    [{ namespace: "default", name: "a" }, true],
    [{ namespace: "kube-system" }, false],
    [{ name: "b" }, false],
    [{ user: ADMIN, verb: "get", resource: "pods" }, false],
  ])("%o: %s", async (match, met) => {
    const answer = await during(match, { code: 503 }, () => face.ask(`${CONFIG_MAPS}/a`));
    expect(answer.status).toBe(met ? 503 : 404);
  });
});

test("count: so many requests", async () => {
  const codes = await during({}, { code: 503, count: 2 }, async () => {
    const answers = [await face.ask(CONFIG_MAPS), await face.ask(CONFIG_MAPS), await face.ask(CONFIG_MAPS)];
    return answers.map(({ status }) => status);
  });
  expect(codes).toEqual([503, 503, 200]);
});

test("a delayed request is handled when its time has passed", async () => {
  const answer = await during({}, { delayMs: 20_000 }, async () => {
    const waiting = face.ask(CONFIG_MAPS);
    await expect.poll(() => notes).toEqual([`chaos delays GET ${CONFIG_MAPS} by 20 s`]);
    await face.clock.advance(20_000);
    return waiting;
  });
  expect(answer.status).toBe(200);
});

test("a dropped connection has no answer", async () => {
  const as = { ...face.admin };
  await expect(during({}, { drops: true }, () => face.ask(CONFIG_MAPS, { as }))).rejects.toThrow("socket hang up");
  expect(notes).toEqual([`chaos drops the connection of GET ${CONFIG_MAPS}`]);
});

test("a body that comes with a refused request is read, and the connection stays in use", async () => {
  const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } };
  const asked = { method: "POST", body };
  const refused = await during({ verb: "create" }, { code: 503 }, () => face.ask(CONFIG_MAPS, asked));
  expect([refused.status, refused.headers.connection]).toEqual([503, "keep-alive"]);
  expect((await face.ask(CONFIG_MAPS, asked)).status).toBe(201);
});

test("an expired certificate: 401 for its user, until it is renewed", async () => {
  faults.expired.add(ADMIN);
  const refused = await face.ask(CONFIG_MAPS);
  faults.expired.delete(ADMIN);
  expect([refused.status, refused.body.reason, refused.body.message]).toEqual([401, "Unauthorized", "Unauthorized"]);
  expect(notes).toEqual([`chaos: the certificate of ${ADMIN} has expired`]);
  expect((await face.ask(CONFIG_MAPS)).status).toBe(200);
});
