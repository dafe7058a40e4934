import { Chalk } from "chalk";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { KubeClient, KubeRequest } from "../../../src/staging/client-go/rest/client.js";
import { createClient } from "../../../src/staging/client-go/rest/create-client.js";
import type { TraceEvent } from "../../../src/trace/events.js";
import { Secrets } from "../../../src/trace/redaction/secrets.js";
import { TerminalSink } from "../../../src/trace/terminal/terminal-sink.js";
import { Trace } from "../../../src/trace/trace.js";
import { messageOf } from "../../../src/util/errors.js";
import { SystemRandom } from "../../../src/util/random.js";
import { Face } from "../../cluster/apiserver/server/support.js";
import { FakeClock } from "../../support/fake-clock.js";
import { formsFound, randomSecret } from "../../support/secret-search.js";

const SECRETS = "/api/v1/namespaces/default/secrets";
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

let face: Face;
beforeAll(async () => {
  face = await Face.open();
});
afterAll(() => face.close());

interface Run {
  readonly client: KubeClient;
  readonly trace: Trace;
  /** everything that a terminal at -v 4 and a trace file show */
  shown(): string;
}

function open(accept?: string): Run {
  const clock = new FakeClock();
  const trace = new Trace(clock, true);
  const events: TraceEvent[] = [];
  const lines: string[] = [];
  trace.addSink({ write: (event) => events.push(event) });
  const options = {
    chalk: new Chalk({ level: 0 }),
    width: () => 100_000,
    unicode: true,
    verbosity: 4,
    startMs: 0,
  } as const;
  trace.addSink(new TerminalSink(options, { write: (text: string) => void lines.push(text) }));
  const authorize = async (headers: Record<string, string | string[]>) => {
    if (accept !== undefined) headers["Accept"] = accept;
  };
  const client = createClient(
    { ...face.controlPlane.admin, authorize },
    { clock, trace, random: new SystemRandom(), actor: "user" },
  );
  return { client, trace, shown: () => `${JSON.stringify(events)}\n${lines.join("\n")}` };
}

let count = 0;
const base64 = (text: string) => Buffer.from(text).toString("base64");

function secretObject(name: string, fields: object, annotations: object = {}) {
  return { apiVersion: "v1", kind: "Secret", metadata: { name, annotations }, ...fields };
}

/** A stored secret that the traced client has not seen. */
async function stored(value: string): Promise<string> {
  const name = `stored-${++count}`;
  const applied = JSON.stringify(secretObject(name, { stringData: { password: value } }));
  const body = secretObject(name, { data: { password: base64(value) } }, { [LAST_APPLIED]: applied });
  expect((await face.ask(SECRETS, { method: "POST", body })).status).toBe(201);
  return name;
}

function patch(contentType: string, body: (value: string) => unknown) {
  return async (value: string): Promise<KubeRequest> => ({
    method: "PATCH",
    path: `${SECRETS}/${await stored(value)}`,
    query: contentType.includes("apply") ? { fieldManager: "me", force: true } : {},
    contentType: contentType as "application/json-patch+json",
    body: body(value),
  });
}

const JSON_PATCH = "application/json-patch+json";
const MERGE = "application/merge-patch+json";
const STRATEGIC = "application/strategic-merge-patch+json";
const APPLY = "application/apply-patch+yaml";

const pullSecret = (value: string) =>
  JSON.stringify({ auths: { "r.example": { password: value, auth: base64(`me:${value}`) } } });
const kubeconfig = (value: string) => ({
  apiVersion: "v1",
  kind: "Config",
  users: [{ name: "u", user: { token: value, password: value, "client-key-data": base64(value) } }],
});

/** Each way of a value through a request and its response. The server answers as usual; the trace shows both. */
const ways: readonly (readonly [string, (value: string) => Promise<KubeRequest>, string?])[] = [
  ["create with data", async (value) => post(secretObject(`c-${++count}`, { data: { a: base64(value) } }))],
  ["create with stringData", async (value) => post(secretObject(`c-${++count}`, { stringData: { a: value } }))],
  ["create in a list of values", async (value) => post(secretObject(`c-${++count}`, { stringData: [value] }))],
  [
    "create with a pull secret",
    async (value) =>
      post(
        secretObject(`c-${++count}`, {
          type: "kubernetes.io/dockerconfigjson",
          stringData: { ".dockerconfigjson": pullSecret(value) },
        }),
      ),
  ],
  [
    "create with an invalid pull secret",
    async (value) =>
      post(
        secretObject(`c-${++count}`, {
          type: "kubernetes.io/dockerconfigjson",
          stringData: { ".dockerconfigjson": value },
        }),
      ),
  ],
  [
    "create with a kubeconfig",
    async (value) => post(secretObject(`c-${++count}`, { stringData: { config: JSON.stringify(kubeconfig(value)) } })),
  ],
  [
    "apply by kubectl",
    async (value) =>
      post(
        secretObject(
          `c-${++count}`,
          { data: { a: base64(value) } },
          { [LAST_APPLIED]: JSON.stringify(secretObject("x", { data: { a: base64(value) } })) },
        ),
      ),
  ],
  [
    "apply by kubectl, with text that is not JSON",
    async (value) => post(secretObject(`c-${++count}`, {}, { [LAST_APPLIED]: `{"data": "${value}` })),
  ],
  [
    "replace",
    async (value) => ({
      method: "PUT",
      path: `${SECRETS}/${await stored(value)}`,
      body: secretObject(`stored-${count}`, { stringData: { password: value } }),
    }),
  ],
  ["merge patch", patch(MERGE, (value) => ({ stringData: { b: value } }))],
  [
    "strategic merge patch",
    patch(STRATEGIC, (value) => ({
      data: { b: base64(value) },
      metadata: { annotations: { [LAST_APPLIED]: JSON.stringify(secretObject("x", { data: { b: base64(value) } })) } },
    })),
  ],
  [
    "JSON patch of a key",
    patch(JSON_PATCH, (value) => [{ op: "replace", path: "/data/password", value: base64(value) }]),
  ],
  ["JSON patch of all data", patch(JSON_PATCH, (value) => [{ op: "add", path: "/data", value: { c: base64(value) } }])],
  [
    "JSON patch of an annotation",
    patch(JSON_PATCH, (value) => [
      { op: "add", path: "/metadata/annotations", value: { [LAST_APPLIED]: `x${value}` } },
    ]),
  ],
  ["JSON patch with a test", patch(JSON_PATCH, (value) => [{ op: "test", path: "/data/password", value: value }])],
  ["server-side apply", patch(APPLY, (value) => secretObject(`stored-${count}`, { data: { d: base64(value) } }))],
  ["a merge patch that is invalid", patch(MERGE, (value) => ({ data: value }))],
  ["a strategic merge patch that is invalid", patch(STRATEGIC, (value) => ({ data: [value] }))],
  ["a value that is not base64", patch(MERGE, (value) => ({ data: { password: value } }))],
  ["a name that repeats the value", async (value) => post(secretObject(`"${value}`, { stringData: { a: value } }))],
  ["get", async (value) => ({ method: "GET", path: `${SECRETS}/${await stored(value)}` })],
  [
    "list",
    async (value) => ({
      method: "GET",
      path: SECRETS,
      query: { fieldSelector: `metadata.name=${await stored(value)}` },
    }),
  ],
  [
    "list of all namespaces",
    async (value) => ({
      method: "GET",
      path: "/api/v1/secrets",
      query: { fieldSelector: `metadata.name=${await stored(value)}` },
    }),
  ],
  [
    "table",
    async (value) => ({
      method: "GET",
      path: SECRETS,
      query: { fieldSelector: `metadata.name=${await stored(value)}` },
    }),
    "application/json;as=Table;v=v1;g=meta.k8s.io",
  ],
  [
    "table with objects",
    async (value) => ({
      method: "GET",
      path: SECRETS,
      query: { includeObject: "Object", fieldSelector: `metadata.name=${await stored(value)}` },
    }),
    "application/json;as=Table;v=v1;g=meta.k8s.io",
  ],
  [
    "metadata only",
    async (value) => ({ method: "GET", path: `${SECRETS}/${await stored(value)}` }),
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
  ],
  ["as YAML", async (value) => ({ method: "GET", path: `${SECRETS}/${await stored(value)}` }), "application/yaml"],
  [
    "as protobuf",
    async (value) => ({ method: "GET", path: `${SECRETS}/${await stored(value)}` }),
    "application/vnd.kubernetes.protobuf",
  ],
  [
    "token review",
    async (value) => ({
      method: "POST",
      path: "/apis/authentication.k8s.io/v1/tokenreviews",
      body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", metadata: {}, spec: { token: value } },
    }),
  ],
  [
    "a kubeconfig as a body",
    async (value) => ({ method: "POST", path: "/api/v1/namespaces/default/configmaps", body: kubeconfig(value) }),
  ],
  [
    "a wrong path",
    async (value) => ({ method: "POST", path: `${SECRETS}/no/such/path`, body: { data: { a: base64(value) } } }),
  ],
];

function post(body: unknown): KubeRequest {
  return { method: "POST", path: SECRETS, body };
}

describe("no trace shows a secret that passes through a request", () => {
  test.each(ways.map(([name, make, accept]) => ({ name, make, accept })))("$name", async ({ make, accept }) => {
    const value = randomSecret();
    const request = await make(value);
    const run = open(accept);
    const error = await run.client.expect(request).then(() => "", messageOf);
    expect(formsFound(run.shown() + error, value)).toEqual([]);
    await run.client.close();
  });

  test("watch, and what is said about a value afterwards", async () => {
    const value = randomSecret();
    const name = await stored(value);
    const run = open();
    const stop = new AbortController();
    const query = { fieldSelector: `metadata.name=${name}`, resourceVersion: "0" };
    for await (const { object } of run.client.watch(SECRETS, query, stop.signal)) {
      expect((object as { data?: { password?: string } }).data?.password, "the program gets the value").toBe(
        base64(value),
      );
      stop.abort();
    }
    const actor = "kubelet";
    const words = [
      value,
      base64(value),
      base64(`x${value}`),
      base64(`me:${value}`),
      encodeURIComponent(value),
      JSON.stringify(value),
    ];
    for (const text of words) run.trace.emit({ kind: "note", text: `echo ${text}!` }, { actor });
    run.trace.emit({ kind: "error", message: `exec: "${value}": not found`, hint: value }, { actor });
    run.trace.emit({ kind: "table", title: "t", columns: ["c"], rows: [[value]] }, { actor });
    expect(formsFound(run.shown(), value)).toEqual([]);
    await run.client.close();
  });

  test("a token request", async () => {
    await face.ask("/api/v1/namespaces/default/serviceaccounts", {
      method: "POST",
      body: { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "robot" } },
    });
    const run = open();
    const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", metadata: {}, spec: {} };
    const path = "/api/v1/namespaces/default/serviceaccounts/robot/token";
    const { status } = await run.client.expect<{ status: { token: string } }>({ method: "POST", path, body });
    run.trace.emit({ kind: "note", text: `curl with ${status.token}` }, { actor: "user" });
    expect(status.token.split(".").length).toBe(3);
    for (const part of status.token.split(".").slice(1)) expect(run.shown()).not.toContain(part);
    await run.client.close();
  });

  test("the client's own token", async () => {
    const value = randomSecret().replace(/[^a-z0-9]/g, "");
    const run = open();
    await using other = createClient(
      { server: "https://127.0.0.1:1", token: value },
      { clock: new FakeClock(), trace: run.trace, random: new SystemRandom(), actor: "user" },
    );
    run.trace.emit({ kind: "note", text: `sent ${value} to ${other.config.server}` }, { actor: "user" });
    expect(run.shown()).not.toContain(value);
    await run.client.close();
  });
});

describe("what is not secret stays", () => {
  test("names, other entries, common words", async () => {
    const run = open();
    const type = "bootstrap.kubernetes.io/token";
    const data = { "auth-extra-groups": "system:bootstrappers:kubeadm:default", "token-secret": "0123456789abcdef" };
    await run.client
      .expect(
        post({
          ...secretObject("bootstrap-token-abcdef", { type, stringData: data }),
          metadata: { name: "bootstrap-token-abcdef", namespace: "default" },
        }),
      )
      .catch(() => {});
    await run.client.expect(
      post(secretObject("words", { stringData: { a: "production", b: "short", username: "kubernetes-admin" } })),
    );
    for (const text of ["group system:bootstrappers:kubeadm:default", "in production", "short", "kubernetes-admin"]) {
      run.trace.emit({ kind: "note", text }, { actor: "user" });
      expect(run.shown()).toContain(`"text":"${text}"`);
    }
    run.trace.emit({ kind: "note", text: "it sent 0123456789abcdef" }, { actor: "user" });
    expect(run.shown()).toContain("it sent ****");
    await run.client.close();
  });

  test("the oldest of many values is forgotten, the newest is masked", () => {
    const secrets = new Secrets();
    const value = (i: number) => `value-${String(i).padStart(6, "0")}`;
    for (let i = 0; i <= 2_000; i++) secrets.learn(value(i));
    expect([secrets.mask(value(0)), secrets.mask(value(1)), secrets.mask(value(2_000))]).toEqual([
      value(0),
      "****",
      "****",
    ]);
  });
});

test("the search finds a value and its base64 at each alignment", () => {
  const value = randomSecret();
  const all = [value, base64(value), base64(`x${value}`), base64(`xy${value}z`)];
  expect(formsFound(all.join("\n"), value).length).toBe(4);
  for (const text of all) expect(formsFound(text, value).length).toBe(1);
});

test("a token that this process knows is masked at an Event's place too", () => {
  const secrets = new Secrets();
  const text = "events default/second.18f0a1b2c3d4e5f6";
  expect(secrets.mask(text)).toBe(text);
  secrets.learn("second.18f0a1b2c3d4e5f6");
  expect(secrets.mask(text)).toBe("events default/****");
});

test("the object of a watch keeps its name if it is an Event", () => {
  const secrets = new Secrets();
  const object = "default/second.18f0a1b2c3d4e5f6";
  const seen = (resource: string) => secrets.maskAll({ kind: "watch", resource, object }).object;
  expect(seen("events")).toBe(object);
  expect(seen("secrets")).toBe("default/second.****");
  secrets.learn("second.18f0a1b2c3d4e5f6");
  expect(seen("events")).toBe("default/****");
});
