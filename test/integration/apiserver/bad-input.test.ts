import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HttpsClient } from "../../support/https-client.js";
import { SpawnedServer } from "../../support/spawned-server.js";

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const PODS = "/api/v1/namespaces/default/pods";
const CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const MAX_BODY_BYTES = 3 * 1024 * 1024;
const STRATEGIC = "application/strategic-merge-patch+json";
const MERGE = "application/merge-patch+json";
const JSON_PATCH = "application/json-patch+json";
const YAML = "application/yaml";
const PROTOBUF = "application/vnd.kubernetes.protobuf";

let server: SpawnedServer;
let client: HttpsClient;

beforeAll(async () => {
  // A minute passes in a second, so that time-outs come soon.
  server = await SpawnedServer.start({ speed: 60 });
  client = new HttpsClient(server.access, 4);
  await client.ask("/api/v1/namespaces/default/serviceaccounts", {
    method: "POST",
    body: { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } },
  });
});

afterAll(async () => {
  const { unhandled, bugs } = await server.usage();
  client.close();
  const code = await server.close();
  // Nothing that came in was our failure, and nothing keeps the process from ending.
  expect({ unhandled, bugs, code }).toEqual({ unhandled: [], bugs: [], code: 0 });
});

function configMap(fields: object = {}) {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "x" }, ...fields };
}

function named(metadata: object) {
  return configMap({ metadata });
}

/** JSON with lists or objects inside of each other. */
function nested(open: string, close: string, depth: number): string {
  return `${open.repeat(depth)}1${close.repeat(depth)}`;
}

const DEEP = nested('{"a":', "}", 100_000);

describe("bodies of a create", () => {
  const table: readonly (readonly [
    what: string,
    status: number,
    text: string | RegExp,
    body: unknown,
    type?: string,
  ])[] = [
    ["half an object", 400, "json parse error: unexpected end of JSON input", "{"],
    ["nothing", 400, "unexpected end of JSON input (<empty>)", ""],
    ["a list", 400, "cannot unmarshal array into Go value", "[]"],
    [
      "something after the object",
      400,
      "invalid character 'x' after top-level value",
      `${JSON.stringify(configMap())} x`,
    ],
    [
      "a byte order mark",
      400,
      "invalid character 'ï' looking for beginning of value",
      `\ufeff${JSON.stringify(configMap())}`,
    ],
    ["3 MB that end too soon", 400, "unexpected end of JSON input", `{"a":["${"1,".repeat(1_500_000)}`],
    ["1.5 million numbers", 400, "exceeded max number of values of 250000", `{"a":[${"1,".repeat(1_500_000)}1]}`],
    ["a number of three million digits", 400, "cannot unmarshal number", `{"data":${"1".repeat(3_000_000)}}`],
    [
      "150,000 invalid labels",
      422,
      "and 149900 more]",
      named({ name: "l", labels: Object.fromEntries(Array.from({ length: 150_000 }, (_, i) => [`a ${i}`, ""])) }),
    ],
    ["a label's name of 2 MB", 422, "...", named({ name: "l", labels: { ["a".repeat(2_000_000)]: "" } })],
    ["a name of 2 MB", 422, "...", named({ name: "x ".repeat(1_000_000) })],
    ["lists 300,000 deep, without an end", 400, "exceeded max depth", "[".repeat(300_000)],
    ["an unknown field 100,000 deep", 400, "exceeded max depth", `{"metadata":{"name":"d"},"nope":${DEEP}}`],
    ["another kind", 400, 'Pod in version "v1" cannot be handled as a ConfigMap', { ...configMap(), kind: "Pod" }],
    ["an unknown kind", 400, 'no kind "constructor" is registered', { ...configMap(), kind: "constructor" }],
    [
      "another version",
      400,
      'no kind "ConfigMap" is registered for version "v2"',
      { ...configMap(), apiVersion: "v2" },
    ],
    ["an impossible version", 400, "unexpected GroupVersion string: a/b/c", { ...configMap(), apiVersion: "a/b/c" }],
    ["a name that is a number", 400, "cannot unmarshal number into Go struct field", named({ name: 5 })],
    ["no name", 422, "name or generateName is required", named({})],
    ["a name of 254 letters", 422, "must be no more than 253 characters", named({ name: "x".repeat(254) })],
    ["a name that climbs", 422, "metadata.name: Invalid value", named({ name: "../x" })],
    ["a name with a NUL", 422, "metadata.name: Invalid value", named({ name: "a\0b" })],
    [
      "a label's name of 64 letters",
      422,
      "must be no more than 63 characters",
      named({ name: "l", labels: { ["a".repeat(64)]: "" } }),
    ],
    [
      "annotations of more than 256 KiB",
      422,
      "metadata.annotations: Too long",
      named({ name: "l", annotations: { a: "x".repeat(1 << 18) } }),
    ],
    ["a key that is no file name", 422, "data[a/b]: Invalid value", configMap({ data: { "a/b": "" } })],
    [
      "more data than a config map holds",
      422,
      "must have at most 1048576 bytes",
      configMap({ data: { a: "x".repeat(1100 * 1024) } }),
    ],
    [
      "a resourceVersion",
      500,
      "resourceVersion should not be set on objects to be created",
      named({ name: "x", resourceVersion: "5" }),
    ],
    [
      "another namespace",
      400,
      "the namespace of the provided object does not match",
      named({ name: "x", namespace: "other" }),
    ],
    ["exactly 3 MiB of blanks", 400, "unexpected end of JSON input", Buffer.alloc(MAX_BODY_BYTES, 0x20)],
    ["3 MiB and one byte", 413, "limit is 3145728", Buffer.alloc(MAX_BODY_BYTES + 1, 0x20)],
    ["50 MB", 413, "limit is 3145728", Buffer.alloc(50_000_000, 0x20)],
    ["text", 415, "the body of the request was in an unknown format", "hello", "text/plain"],
    ["YAML aliases that multiply", 400, "yaml: document contains excessive aliasing", yamlBomb(), YAML],
    ["YAML lists 50,000 deep", 400, "exceeded max depth", `${"- ".repeat(50_000)}a`, YAML],
    ["YAML brackets 50,000 deep", 400, "exceeded max depth", `a: ${"[".repeat(50_000)}`, YAML],
    ["broken YAML", 400, "error converting YAML to JSON: yaml: line 2: ", "a: [", YAML],
    ["YAML with 1.5 million values", 400, "exceeded max number of values", `[${"a,".repeat(1_500_000)}]`, YAML],
    ["YAML with an endless list of merges", 400, "merge keys exceeded", yamlMerges(), YAML],
    [
      "YAML with copies of 1 MB",
      400,
      "excessive aliasing",
      `a: &a ${"x".repeat(1e6)}\nb: [${"*a,".repeat(1e5)}]`,
      YAML,
    ],
    ["40,000 keys of YAML", 422, "name or generateName is required", yamlKeys(40_000), YAML],
    ["unknown tags of YAML", 422, "name or generateName is required", "data: {a: !secret x}", YAML],
    ["a million empty entries", 400, "exceeded max number of values", emptyEntries(1_000_000), PROTOBUF],
    ["half a protobuf message", 400, "unexpected EOF", Buffer.from("k8s\0junkjunk"), PROTOBUF],
    ["no protobuf at all", 400, "does not appear to be a protobuf message", Buffer.from("zzz"), PROTOBUF],
  ];
  for (const [what, status, text, body, type = "application/json"] of table) {
    test(`${what}: ${status}`, async () => {
      // The largest is refused while it is still on its way: its sender may see the connection end instead.
      const answer = client.ask(CONFIG_MAPS, { method: "POST", body, headers: { "content-type": type } });
      if (Buffer.isBuffer(body) && body.length > 2 * MAX_BODY_BYTES) {
        const seen = await answer.catch((error: NodeJS.ErrnoException) => error.code);
        expect([status, "EPIPE", "ECONNRESET"]).toContain(typeof seen === "object" ? seen.status : seen);
        return;
      }
      const { status: seen, body: shown } = await answer;
      expect(shown?.message).toEqual(
        typeof text === "string" ? expect.stringContaining(text) : expect.stringMatching(text),
      );
      expect([seen, shown.code, shown.kind]).toEqual([status, status, "Status"]);
    });
  }

  test("no request left anything behind", async () => {
    expect((await client.ask(CONFIG_MAPS)).body.items).toEqual([]);
  });
});

function yamlKeys(count: number): string {
  return Array.from({ length: count }, (_, i) => `k${i}: v`).join("\n");
}

function yamlMerges(): string {
  return `a: &a {${yamlKeys(1000).replaceAll("\n", ", ")}}\nb:\n${"- {<<: *a}\n".repeat(200_000)}`;
}

/** A ConfigMap in protobuf whose entries of data are two bytes each. */
function emptyEntries(count: number): Buffer {
  const field = (number: number, content: Buffer) => {
    const length = [0, 7, 14, 21].map((shift) => (content.length >> shift) & 0x7f);
    return Buffer.concat([
      Buffer.from([number * 8 + 2, ...length.map((bits, i) => (i < 3 ? bits | 0x80 : bits))]),
      content,
    ]);
  };
  const typeMeta = Buffer.concat([field(1, Buffer.from("v1")), field(2, Buffer.from("ConfigMap"))]);
  const spec = field(2, Buffer.from("1200".repeat(count), "hex"));
  return Buffer.concat([Buffer.from("k8s\0"), field(1, typeMeta), field(2, spec)]);
}

function yamlBomb(): string {
  const lines = ["a: &a [x,x,x,x,x,x,x,x,x]"];
  for (const [name, of] of ["ba", "cb", "dc", "ed", "fe"]) {
    lines.push(`${name}: &${name} [${Array.from({ length: 9 }, () => `*${of}`).join(",")}]`);
  }
  return `${lines.join("\n")}\n`;
}

describe("amounts and certificates that take forever to read", () => {
  const pod = (cpu: string) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { generateName: "p-" },
    spec: { containers: [{ name: "a", image: "b", resources: { requests: { cpu } } }] },
  });
  const table: readonly (readonly [cpu: string, status: number])[] = [
    ["1e5000000", 201],
    ["1e999999999999", 201],
    ["1e-5000000", 201],
    ["9".repeat(1_000_000), 201],
    [`1.${"9".repeat(1_000_000)}`, 201],
    ["-1", 422],
    ["abc", 400],
    ["1Ki5", 400],
  ];
  for (const [cpu, status] of table) {
    test(`a request for ${cpu.length > 20 ? `${cpu.slice(0, 5)}... (${cpu.length} digits)` : cpu} CPUs: ${status}`, async () => {
      expect((await client.ask(`${PODS}?dryRun=All`, { method: "POST", body: pod(cpu) })).status).toBe(status);
    });
  }

  const csr = (pem: string) => ({
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    metadata: { generateName: "c-" },
    spec: { request: Buffer.from(pem).toString("base64"), signerName: "example.com/x", usages: ["client auth"] },
  });
  const der = (content: Buffer) =>
    Buffer.concat([Buffer.from([0x30, 0x83, content.length >> 16, content.length >> 8, content.length]), content]);
  const pem = (bytes: Buffer) =>
    `-----BEGIN CERTIFICATE REQUEST-----\n${bytes.toString("base64")}\n-----END CERTIFICATE REQUEST-----\n`;
  const requests: readonly (readonly [what: string, pem: string])[] = [
    ["80,000 beginnings without an end", "-----BEGIN X-----\n".repeat(80_000)],
    ["80,000 beginnings of one thing and ends of another", "-----BEGIN X-----\n-----END Y-----\n".repeat(40_000)],
    [
      "an object identifier of 1 MB",
      pem(der(Buffer.concat([Buffer.from([6, 0x83, 0x0f, 0x42, 0x40]), Buffer.alloc(1_000_000, 0xff)]))),
    ],
    ["values inside of each other", pem(Buffer.from("3080".repeat(200_000), "hex"))],
  ];
  for (const [what, text] of requests) {
    test(`a certificate request with ${what}: 422`, async () => {
      const { status, body } = await client.ask(CSRS, { method: "POST", body: csr(text) });
      expect([status, body.reason]).toEqual([422, "Invalid"]);
    });
  }
});

describe("patches and conflicts", () => {
  let resourceVersion: string;
  beforeAll(async () => {
    const created = await client.ask(CONFIG_MAPS, { method: "POST", body: configMap({ data: { a: "b" } }) });
    resourceVersion = created.body.metadata.resourceVersion;
  });
  const copies = [
    { op: "add", path: "/data", value: { a: "x".repeat(1000) } },
    ...Array.from({ length: 40 }, (_, i) => ({ op: "copy", from: "/data", path: `/data/c${i}` })),
  ];
  const stacking = [
    { op: "add", path: "/a", value: JSON.parse(nested('{"a":', "}", 400)) },
    ...Array.from({ length: 1000 }, () => [
      { op: "add", path: "/b", value: {} },
      { op: "move", from: "/a", path: "/b/a" },
      { op: "move", from: "/b", path: "/a" },
    ]).flat(),
  ];
  const put = (metadata: object) => ["PUT", "application/json", named({ name: "x", ...metadata })] as const;
  const table: readonly (readonly [what: string, status: number, method: string, type: string, body: unknown])[] = [
    ["an unknown patch type", 415, "PATCH", "application/strange-patch+json", {}],
    ["no patch type", 415, "PATCH", "", {}],
    ["JSON as a patch", 415, "PATCH", "application/json", {}],
    ["a patch that is cut off", 400, "PATCH", STRATEGIC, "{"],
    ["a strategic patch 100,000 deep", 400, "PATCH", STRATEGIC, `{"data":${DEEP}}`],
    ["a merge patch 100,000 deep", 400, "PATCH", MERGE, `{"data":${DEEP}}`],
    ["a JSON patch 100,000 deep", 400, "PATCH", JSON_PATCH, `[{"op":"add","path":"/data","value":${DEEP}}]`],
    ["a JSON patch that stacks depth on depth", 422, "PATCH", JSON_PATCH, stacking],
    ["a path of a million steps", 422, "PATCH", JSON_PATCH, [{ op: "remove", path: "/a".repeat(1_000_000) }]],
    ["a merge patch that is a list", 400, "PATCH", MERGE, "[]"],
    ["a JSON patch that is no list", 400, "PATCH", JSON_PATCH, "{}"],
    [
      "10,001 operations",
      413,
      "PATCH",
      JSON_PATCH,
      Array.from({ length: 10_001 }, () => ({ op: "remove", path: "/x" })),
    ],
    ["copies of copies", 422, "PATCH", JSON_PATCH, copies],
    ["an operation that nobody knows", 422, "PATCH", JSON_PATCH, [{ op: "constructor", path: "/data" }]],
    ["a path through a prototype", 422, "PATCH", JSON_PATCH, [{ op: "add", path: "/__proto__/x", value: 1 }]],
    ["a patch of an old version", 409, "PATCH", MERGE, { metadata: { resourceVersion: "1" } }],
    ["a patch of a version that is none", 500, "PATCH", MERGE, { metadata: { resourceVersion: "abc" } }],
    ["a write of an old version", 409, ...put({ resourceVersion: "1" })],
    ["a write of a version to come", 409, ...put({ resourceVersion: "999999999" })],
    ["a write of a version that is none", 500, ...put({ resourceVersion: "abc" })],
    ["a write of a negative version", 500, ...put({ resourceVersion: "-1" })],
    ["a write of a version beyond all numbers", 500, ...put({ resourceVersion: "99999999999999999999" })],
    ["a write with another uid", 409, ...put({ uid: "00000000-0000-4000-8000-000000000000" })],
    ["a write under another name", 400, ...put({ name: "y" })],
    [
      "a deletion of an old version",
      409,
      "DELETE",
      "application/json",
      { kind: "DeleteOptions", apiVersion: "v1", preconditions: { resourceVersion: "1" } },
    ],
    ["a deletion with half a body", 500, "DELETE", "application/json", "{"],
    ["a deletion with another kind", 500, "DELETE", "application/json", configMap()],
  ];
  for (const [what, status, method, type, body] of table) {
    test(`${what}: ${status}`, async () => {
      const headers = type === "" ? { "content-type": "" } : { "content-type": type };
      const answer = await client.ask(`${CONFIG_MAPS}/x`, { method, body, headers });
      expect([answer.status, answer.body.kind]).toEqual([status, "Status"]);
    });
  }

  test("no request changed the object", async () => {
    const { metadata, data } = (await client.ask(`${CONFIG_MAPS}/x`)).body;
    expect([metadata.resourceVersion, data]).toEqual([resourceVersion, { a: "b" }]);
  });

  test("10,000 operations on 10,000 keys are one patch like any other", async () => {
    const data = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`key-${i}`, "v"]));
    await client.ask(CONFIG_MAPS, { method: "POST", body: configMap({ metadata: { name: "wide" }, data }) });
    const body = Array.from({ length: 10_000 }, (_, i) => ({ op: "replace", path: `/data/key-${i}`, value: "w" }));
    const headers = { "content-type": JSON_PATCH };
    const answer = await client.ask(`${CONFIG_MAPS}/wide`, { method: "PATCH", body, headers });
    expect([answer.status, new Set(Object.values(answer.body.data))]).toEqual([200, new Set(["w"])]);
  });
});

describe("keys that objects of JavaScript have already", () => {
  const KEYS = ["__proto__", "constructor", "toString", "hasOwnProperty"];
  const data = (value: string) => `{${KEYS.map((key) => `${JSON.stringify(key)}:"${value}"`).join(",")}}`;
  const dataOf = (text: string) => new Map(Object.entries(JSON.parse(text).data));
  const all = (value: string) => new Map(KEYS.map((key) => [key, value]));

  test("are created, patched in three ways, replaced, and found by label", async () => {
    const path = `${CONFIG_MAPS}/keys`;
    const metadata = '{"name":"keys","labels":{"constructor":"c","with":"w"}}';
    const created = await client.ask(CONFIG_MAPS, {
      method: "POST",
      body: `{"metadata":${metadata},"data":{"a":"b"}}`,
    });
    expect(created.status).toBe(201);
    const patch = async (type: string, body: string) =>
      dataOf((await client.ask(path, { method: "PATCH", body, headers: { "content-type": type } })).text);
    const withA = (map: Map<string, string>) => new Map([...map, ["a", "b"]]);
    expect(await patch(MERGE, `{"data":${data("1")}}`)).toEqual(withA(all("1")));
    expect(await patch(STRATEGIC, `{"data":${data("2")}}`)).toEqual(withA(all("2")));
    const operations = KEYS.map((key) => ({ op: "replace", path: `/data/${key}`, value: "3" }));
    expect(await patch(JSON_PATCH, JSON.stringify(operations))).toEqual(withA(all("3")));
    const fewer = new Map([...all("3")].filter(([key]) => key !== "constructor" && key !== "__proto__"));
    expect(await patch(MERGE, '{"data":{"constructor":null,"__proto__":null}}')).toEqual(withA(fewer));
    const put = await client.ask(path, { method: "PUT", body: `{"metadata":${metadata},"data":${data("4")}}` });
    expect(dataOf(put.text)).toEqual(all("4"));
    const found = async (labelSelector: string) =>
      (await client.ask(`${CONFIG_MAPS}?labelSelector=${labelSelector}`)).body.items.length;
    expect([await found("constructor"), await found("toString"), await found("constructor%3Dc")]).toEqual([1, 0, 1]);
  });
});

describe("paths and queries", () => {
  const table: readonly (readonly [path: string, status: number])[] = [
    ["/api/v1/nodes/..", 400],
    ["/api/v1/nodes/%2e%2e", 400],
    ["/api/v1/nodes/.", 400],
    ["/api/v1/nodes/a%25b", 400],
    ["/api/v1/nodes/%zz", 400],
    ["/api/v1/nodes/%", 400],
    ["*", 400],
    ["nodes", 400],
    ["/../../etc/passwd", 404],
    ["/api/v1/../../etc/passwd", 404],
    ["//api/v1/nodes", 404],
    ["/api//v1/nodes", 404],
    ["/api/v1//nodes", 404],
    ["/api/v1/nodes//x", 404],
    ["/api/v1/nodes/a%2fb", 404],
    ["/api/v1/namespaces/..%2f..%2fx/configmaps", 404],
    ["/api/v1/namespaces/%2e%2e/configmaps/x", 404],
    [`${CONFIG_MAPS}/%00`, 404],
    [`${CONFIG_MAPS}/x%00`, 404],
    [`${CONFIG_MAPS}/x%0d%0aX-Evil:%201`, 404],
    ["/api/v1/nodes/%c0%af", 404],
    ["/api/v1/nodes/%ff%fe", 404],
    [`/api/v1/nodes/${"x".repeat(900_000)}`, 404],
    [`/api/v1/nodes/${"x".repeat(2_000_000)}`, 431],
    ["/api/v1/__proto__", 404],
    ["/api/v1/constructor", 404],
    ["/apis/__proto__/v1/x", 404],
    ["/api/v1/nodes/__proto__", 404],
    ["http://elsewhere/api/v1/nodes/x", 404],
    ["/api/v1/nodes?labelSelector=a%3D%3D%3Db", 400],
    ["/api/v1/nodes?fieldSelector=%", 400],
    ["/api/v1/nodes?fieldSelector=__proto__%3Da", 400],
    ["/api/v1/nodes?fieldSelector=constructor%3Da", 400],
    ["/api/v1/nodes?limit=x", 400],
    ["/api/v1/nodes?limit=-1", 200],
    ["/api/v1/nodes?continue=zzz", 400],
    ["/api/v1/nodes?resourceVersion=-1", 500],
    ["/api/v1/nodes?resourceVersion=99999999999999999999", 500],
    ["/api/v1/nodes?timeout=abc", 400],
    ["/api/v1/nodes?timeout=5", 400],
    ["/api/v1/nodes?timeout=1m5.5s", 200],
    ["/api/v1/nodes?watch=1&timeoutSeconds=-5", 200],
    ["/api/v1/nodes?watch=1&timeoutSeconds=x", 400],
    [`/api/v1/nodes?labelSelector=${"x,".repeat(100_000)}x`, 200],
    [`/version?${"a=b&".repeat(200_000)}`, 200],
  ];
  for (const [path, status] of table) {
    const shown = path.length > 60 ? `${path.slice(0, 40)}... (${path.length} letters)` : path;
    test(`GET ${shown}: ${status}`, async () => {
      const answer = await client.ask(path);
      expect(answer.status).toBe(status);
      expect(answer.headers).not.toHaveProperty("x-evil");
    });
  }
});
