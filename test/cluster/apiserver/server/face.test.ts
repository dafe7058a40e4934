import { once } from "node:events";
import { connect as connectTcp } from "node:net";
import { connect } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { versionInfo } from "../../../../src/cluster/apiserver/server/version.js";
import { createAuthority, createClientCertificate } from "../../../../src/staging/pki/authority.js";
import { SystemRandom } from "../../../../src/util/random.js";
import { minorOf, NEWEST_RELEASE, OLDEST_RELEASE } from "../../../../src/util/release/facts.js";
import { ANONYMOUS, Face, type Identity } from "./support.js";

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const DAY_MS = 24 * 60 * 60 * 1000;

let face: Face;
beforeAll(async () => {
  face = await Face.open();
});
afterAll(() => face.close());

function configMap(name: string, data: Record<string, string> = {}, labels: Record<string, string> = {}) {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, labels }, data };
}

async function identity(commonName: string, organization: string[] = [], validityMs?: number): Promise<Identity> {
  const { caPem } = face.controlPlane;
  expect(caPem).toContain("BEGIN CERTIFICATE");
  const other = await createAuthority({ clock: face.clock, random: new SystemRandom() }, { commonName: "other" });
  const options = { commonName, organization, ...(validityMs === undefined ? {} : { validityMs }) };
  const pair = await createClientCertificate(other, { clock: face.clock, random: new SystemRandom() }, options);
  return { cert: pair.certificatePem, key: pair.privateKeyPem };
}

describe("authentication", () => {
  test("a client certificate of a foreign CA passes TLS and gets 401", async () => {
    const answer = await face.ask("/api/v1/nodes", { as: await identity("kubernetes-admin", ["system:masters"]) });
    expect([answer.status, answer.body.reason, answer.body.message]).toEqual([401, "Unauthorized", "Unauthorized"]);
  });

  test("a wrong token is 401 even on paths that anonymous users can read", async () => {
    expect((await face.ask("/version", { as: { token: "abcdef.0000000000000000" } })).status).toBe(401);
    expect((await face.ask("/version", { as: ANONYMOUS })).status).toBe(200);
  });

  test("a certificate is checked on every request, also on a connection opened before it expired", async () => {
    await using other = await Face.open();
    const agent = other.agent(other.admin);
    expect((await other.ask("/api/v1/nodes")).status).toBe(200);
    const socketsBefore = Object.values(agent.freeSockets).flat().length;
    await other.clock.advance(400 * DAY_MS);
    expect((await other.ask("/api/v1/nodes")).status).toBe(401);
    expect([socketsBefore, Object.values(agent.freeSockets).flat().length]).toEqual([1, 1]);
  });
});

describe("impersonation", () => {
  test("an administrator can impersonate a user, and then has only that user's rights", async () => {
    const headers = { "impersonate-user": "jane", "impersonate-group": ["dev", "ops"] };
    const answer = await face.ask("/api/v1/nodes", { headers });
    expect(answer.status).toBe(403);
    expect(answer.body.message).toContain('User "jane" cannot list resource "nodes"');
    expect(answer.headers["x-content-type-options"]).toBe("nosniff");
  });

  test("others may not", async () => {
    const answer = await face.ask("/api/v1/nodes", { as: ANONYMOUS, headers: { "impersonate-user": "jane" } });
    expect(answer.body.message).toBe(
      'users "jane" is forbidden: User "system:anonymous" cannot impersonate resource "users" in API group "" at the cluster scope',
    );
  });

  test("groups without a user are an error", async () => {
    expect((await face.ask("/api/v1/nodes", { headers: { "impersonate-group": "dev" } })).status).toBe(500);
  });
});

describe("answers", () => {
  test("Audit-Id: returns the client's own, otherwise a new one", async () => {
    const own = await face.ask("/nope", { headers: { "audit-id": "my-id" } });
    expect(own.headers["audit-id"]).toBe("my-id");
    expect((await face.ask("/nope")).headers["audit-id"]).toMatch(/^[0-9a-f-]{36}$/);
  });

  test("compact JSON ends with a line feed, indented JSON does not", async () => {
    const path = "/api/v1/namespaces/missing";
    expect((await face.ask(path)).text).toMatch(/^\{"kind":"Status",.*\}\n$/);
    const pretty = await face.ask(path, { headers: { "user-agent": "curl/8.0" } });
    expect(pretty.text).toMatch(/^\{\n {2}"kind": "Status",\n[\s\S]*\n\}$/);
    expect((await face.ask(`${path}?pretty=true`)).text).toBe(pretty.text);
  });

  test("YAML, also of errors", async () => {
    const answer = await face.ask("/api/v1/namespaces/default", { headers: { accept: "application/yaml" } });
    expect(answer.headers["content-type"]).toBe("application/yaml");
    expect(answer.text).toMatch(
      /^apiVersion: v1\nkind: Namespace\nmetadata:\n {2}creationTimestamp: "2026-01-01T00:00:00Z"\n/,
    );
    expect(answer.text).toContain("spec:\n  finalizers:\n  - kubernetes\n");
    const missing = await face.ask("/api/v1/namespaces/x", { headers: { accept: "application/yaml" } });
    expect(missing.text).toContain("code: 404\n");
  });

  test("creates an object from YAML", async () => {
    const body = "kind: ConfigMap\napiVersion: v1\nmetadata:\n  name: from-yaml\ndata:\n  a: 'yes'\n";
    const headers = { "content-type": "application/yaml" };
    const answer = await face.ask(CONFIG_MAPS, { method: "POST", headers, body });
    expect([answer.status, answer.body.data]).toEqual([201, { a: "yes" }]);
  });

  test("Tables, PartialObjectMetadata and its lists", async () => {
    await face.ask(CONFIG_MAPS, { method: "POST", body: configMap("shown", { a: "b" }) });
    const as = (what: string) => ({ headers: { accept: `application/json;as=${what};v=v1;g=meta.k8s.io` } });
    const one = await face.ask(`${CONFIG_MAPS}/shown`, as("Table"));
    expect([one.body.kind, one.body.apiVersion]).toEqual(["Table", "meta.k8s.io/v1"]);
    expect(one.body.rows[0].cells.slice(0, 2)).toEqual(["shown", 1]);
    expect(one.body.rows[0].object.kind).toBe("PartialObjectMetadata");
    const none = await face.ask(`${CONFIG_MAPS}?includeObject=None`, as("Table"));
    expect(none.body.rows[0].object).toBeNull();
    expect((await face.ask(`${CONFIG_MAPS}?includeObject=Bad`, as("Table"))).status).toBe(400);
    const partial = await face.ask(`${CONFIG_MAPS}/shown`, as("PartialObjectMetadata"));
    expect(Object.keys(partial.body)).toEqual(["kind", "apiVersion", "metadata"]);
    expect((await face.ask(CONFIG_MAPS, as("PartialObjectMetadataList"))).body.kind).toBe("PartialObjectMetadataList");
    expect((await face.ask(CONFIG_MAPS, as("PartialObjectMetadata"))).status).toBe(406);
    expect((await face.ask(`${CONFIG_MAPS}/shown`, as("PartialObjectMetadataList"))).status).toBe(406);
  });

  test("a review has no table", async () => {
    const body = { spec: { resourceAttributes: { verb: "get", resource: "pods" } } };
    const reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    const accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
    const refused = await face.ask(reviews, { method: "POST", body, headers: { accept } });
    expect([refused.status, refused.body.reason]).toEqual([406, "NotAcceptable"]);
    const answer = await face.ask(reviews, { method: "POST", body, headers: { accept: `${accept},application/json` } });
    expect([answer.status, answer.body.kind]).toEqual([201, "SelfSubjectAccessReview"]);
  });

  test("/version has the commit of the release that is served, and says that it is kubelab", async () => {
    const { body } = await face.ask("/version");
    expect(body).toMatchObject({
      gitVersion: "v1.25.0+kubelab",
      gitCommit: "a866cbe2e5bbaa01cfd5e969aa3e033f3282a8a2",
    });
  });

  test("each release has a commit", () => {
    for (let minor = minorOf(OLDEST_RELEASE); minor <= minorOf(NEWEST_RELEASE); minor++) {
      expect(versionInfo(`1.${minor}`)["gitCommit"]).toMatch(/^[0-9a-f]{40}$/);
    }
  });

  test("no field of /version is empty", async () => {
    const { body } = await face.ask("/version");
    expect(Object.entries(body).filter(([, value]) => value === "")).toEqual([]);
  });

  test("large responses are compressed for clients that accept gzip", async () => {
    await using other = await Face.open();
    const data = { a: "x".repeat(200 * 1024) };
    await other.ask(CONFIG_MAPS, { method: "POST", body: configMap("large", data) });
    const plain = await other.ask(`${CONFIG_MAPS}/large`);
    expect([plain.headers["content-encoding"], plain.body.data.a.length]).toEqual([undefined, 200 * 1024]);
    const packed = await other.open(`${CONFIG_MAPS}/large`, { headers: { "accept-encoding": "gzip" } });
    packed.resume();
    expect([packed.headers["content-encoding"], packed.headers["transfer-encoding"]]).toEqual(["gzip", "chunked"]);
  });

  test("unknown fields cause warnings, nothing or a refusal", async () => {
    const body = { ...configMap("warned"), nope: 1, metadata: { name: "warned", labls: {} } };
    const create = (query: string) => face.ask(`${CONFIG_MAPS}?dryRun=All${query}`, { method: "POST", body });
    const warned = await create("");
    expect(warned.status).toBe(201);
    expect(warned.headers["warning"]).toBe(
      String.raw`299 - "unknown field \"metadata.labls\"", 299 - "unknown field \"nope\""`,
    );
    expect((await create("&fieldValidation=Ignore")).headers["warning"]).toBeUndefined();
    const strict = await create("&fieldValidation=Strict");
    expect([strict.status, strict.body.reason]).toEqual([400, "BadRequest"]);
    expect((await create("&fieldValidation=Nope")).status).toBe(422);
  });
});

describe("bad requests", () => {
  test("a body over the limit is 413: the server discards it or closes the connection", async () => {
    const body = configMap("huge", { a: "x".repeat(3 * 1024 * 1024) });
    const answer = await face.ask(CONFIG_MAPS, { method: "POST", body });
    expect([answer.status, answer.body.reason]).toEqual([413, "RequestEntityTooLarge"]);
    expect(answer.headers.connection).toBe("keep-alive");
    expect((await face.ask("/version")).status).toBe(200);
  });

  for (const [bytes, status] of [
    [1, 400],
    [16, 201],
  ] as const) {
    test(`a long body in chunks of ${bytes} bytes is ${status}`, async () => {
      const { cert = "", key = "" } = face.admin;
      const { port } = new URL(face.controlPlane.url);
      const ca = face.controlPlane.caPem;
      const socket = connect({ port: Number(port), host: "127.0.0.1", ca, servername: "localhost", cert, key });
      socket.on("error", () => {}); // The server does not read the whole body.
      const body = JSON.stringify(configMap(`chunks-${bytes}`, { a: "x".repeat(200_000) }));
      const chunks = body.match(new RegExp(`.{1,${bytes}}`, "g")) ?? [];
      socket.write(`POST ${CONFIG_MAPS} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n`);
      socket.write("transfer-encoding: chunked\r\n\r\n");
      socket.write(`${chunks.map((text) => `${text.length.toString(16)}\r\n${text}\r\n`).join("")}0\r\n\r\n`);
      const [head] = await once(socket, "data");
      expect(String(head)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
      socket.destroy();
    });
  }

  test("malicious paths", async () => {
    const rows: [path: string, status: number][] = [
      ["/api/v1/nodes/%zz", 400],
      ["/api/v1/nodes/..", 400],
      ["/api/v1/nodes/%2e%2e", 400],
      ["/api//v1/nodes", 404],
      ["/api/v1/namespaces/default/nodes", 404],
      ["/api/v1/pods/x", 404],
      ["/api/v1/nodes/x/status/y", 404],
      ["/apis/coordination.k8s.io/v1/namespaces/a/leases/b/c", 404],
    ];
    for (const [path, status] of rows) expect([path, (await face.ask(path)).status]).toEqual([path, status]);
  });

  test("authorization precedes the check for existence", async () => {
    for (const path of ["/nope", "/api/v1/nopes", "/apis/nope.example.com/v1/things"]) {
      expect([path, (await face.ask(path, { as: ANONYMOUS })).status]).toEqual([path, 403]);
    }
  });

  test("requests that are not HTTP, and unknown methods", async () => {
    const raw = async (text: string): Promise<string> => {
      const { port } = new URL(face.controlPlane.url);
      const socket = connect({
        port: Number(port),
        host: "127.0.0.1",
        ca: face.controlPlane.caPem,
        servername: "localhost",
      });
      let seen = "";
      socket.on("data", (data) => {
        seen += String(data);
      });
      socket.write(text);
      await once(socket, "close");
      return seen;
    };
    expect(await raw("nonsense\r\n\r\n")).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(await raw("FOO /api/v1/nodes HTTP/1.1\r\nhost: x\r\n\r\n")).toMatch(
      /^HTTP\/1\.1 405 .*"reason":"MethodNotAllowed"/s,
    );
  });

  test("HTTP without TLS is answered in plain text", async () => {
    const socket = connectTcp(Number(new URL(face.controlPlane.url).port), "127.0.0.1");
    socket.write("GET /version HTTP/1.1\r\nhost: x\r\n\r\n");
    let seen = "";
    for await (const data of socket) seen += String(data);
    expect(seen).toBe("HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n");
  });
});

describe("deleting", () => {
  test("returns a Status with the uid, or the object for kinds that return it", async () => {
    await face.ask(CONFIG_MAPS, { method: "POST", body: configMap("gone") });
    const answer = await face.ask(`${CONFIG_MAPS}/gone`, { method: "DELETE" });
    expect(answer.body).toMatchObject({
      kind: "Status",
      status: "Success",
      details: { name: "gone", kind: "configmaps" },
    });
    expect(answer.body.details.uid).toMatch(/^[0-9a-f-]{36}$/);
    await face.ask("/api/v1/namespaces/default/serviceaccounts", {
      method: "POST",
      body: { metadata: { name: "sa" } },
    });
    const account = await face.ask("/api/v1/namespaces/default/serviceaccounts/sa", { method: "DELETE" });
    expect(account.body.kind).toBe("ServiceAccount");
  });

  const message = (...fields: readonly [number, Buffer | string][]) =>
    Buffer.concat(fields.flatMap(([tag, bytes]) => [Buffer.from([(tag << 3) | 2, bytes.length]), Buffer.from(bytes)]));
  const protobufOptions = (uid: string) => {
    const typeMeta = message([1, "v1"], [2, "DeleteOptions"]);
    return Buffer.concat([Buffer.from("k8s\0"), message([1, typeMeta], [2, message([2, message([1, uid])])])]);
  };
  const JSON_OPTIONS = (uid: string) =>
    JSON.stringify({ kind: "DeleteOptions", apiVersion: "v1", preconditions: { uid } });
  const YAML_OPTIONS = (uid: string) => `kind: DeleteOptions\napiVersion: v1\npreconditions: {uid: "${uid}"}\n`;

  test.each([
    ["application/json", JSON_OPTIONS],
    ["application/yaml", YAML_OPTIONS],
    ["application/vnd.kubernetes.protobuf", protobufOptions],
  ])("options in a body of %s", async (type, optionsFor) => {
    const created = await face.ask(CONFIG_MAPS, { method: "POST", body: configMap("typed") });
    const headers = { "content-type": type };
    const path = `${CONFIG_MAPS}/typed`;
    const remove = (uid: string) => face.ask(path, { method: "DELETE", headers, body: optionsFor(uid) });
    expect((await remove("00000000-0000-0000-0000-000000000000")).status).toBe(409);
    expect((await remove(created.body.metadata.uid)).status).toBe(200);
  });

  test.each([
    ["text/plain", "{}", 415],
    ["application/vnd.kubernetes.protobuf", "{}", 500],
    ["application/vnd.kubernetes.protobuf", Buffer.from("k8s\0\n\xff"), 500],
  ])("a body of %s with %j: %i", async (type, body, status) => {
    const answer = await face.ask(`${CONFIG_MAPS}/none`, { method: "DELETE", headers: { "content-type": type }, body });
    expect(answer.status).toBe(status);
  });

  test("a collection by label, and options in the body", async () => {
    for (const name of ["c1", "c2"]) {
      await face.ask(CONFIG_MAPS, { method: "POST", body: configMap(name, {}, { coll: "1" }) });
    }
    const bad = { kind: "DeleteOptions", apiVersion: "v1", propagationPolicy: "Sideways" };
    const refused = await face.ask(`${CONFIG_MAPS}/c1`, { method: "DELETE", body: bad });
    expect([refused.status, refused.body.details.kind]).toEqual([422, "DeleteOptions"]);
    const dry = await face.ask(`${CONFIG_MAPS}/c1`, {
      method: "DELETE",
      body: { ...bad, propagationPolicy: "Background", dryRun: ["All"] },
    });
    expect([dry.status, (await face.ask(`${CONFIG_MAPS}/c1`)).status]).toEqual([200, 200]);
    const answer = await face.ask(`${CONFIG_MAPS}?labelSelector=coll%3D1`, { method: "DELETE" });
    expect([answer.body.kind, answer.body.items.length]).toEqual(["ConfigMapList", 2]);
    expect((await face.ask(`${CONFIG_MAPS}/c1`)).status).toBe(404);
  });
});

describe("OpenAPI documents", () => {
  test("a document with its hash in the URL never changes; a stale hash redirects; without a hash it can change", async () => {
    const index = await face.ask("/openapi/v3");
    const url: string = JSON.parse(index.text).paths["api/v1"].serverRelativeURL;
    expect(url).toMatch(/^\/openapi\/v3\/api\/v1\?hash=[0-9A-F]{128}$/);
    const kept = await face.ask(url);
    expect([kept.status, kept.headers["cache-control"], kept.headers.vary]).toEqual([
      200,
      "public, immutable",
      "Accept",
    ]);
    expect(kept.headers.expires).toMatch(/GMT$/);
    const etag = kept.headers.etag ?? "";
    expect((await face.ask(url, { headers: { "if-none-match": etag } })).status).toBe(304);
    const moved = await face.ask("/openapi/v3/api/v1?hash=0");
    expect([moved.status, moved.headers.location]).toEqual([301, url]);
    const plain = await face.ask("/openapi/v3/api/v1");
    expect([plain.status, plain.headers["cache-control"], plain.headers.expires]).toEqual([
      200,
      "no-cache, private",
      undefined,
    ]);
  });
});
