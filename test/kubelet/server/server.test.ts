import assert from "node:assert/strict";
import { afterAll, beforeAll, describe, test } from "vitest";
import { KubeletAuth } from "../../../src/kubelet/server/kubelet-auth.js";
import { KubeletServer } from "../../../src/kubelet/server/server.js";
import type { CertificateAuthority } from "../../../src/pki/authority.js";
import { SystemClock } from "../../../src/util/clock.js";
import { HttpsClient } from "../../support/https-client.js";
import { makeAuthority, makeLeaf } from "../../support/https-server.js";
import { MemoryClient } from "../../support/memory-client.js";
import { only, recordingTrace } from "../../support/trace.js";
import { FakeHost, POD } from "./fake-host.js";

const clock = new SystemClock();
const NOT_FOUND = "404 page not found\n";

/** A kubelet's server, and clients with different identities. */
class Lab implements AsyncDisposable {
  readonly clients: HttpsClient[] = [];

  private constructor(
    readonly host: FakeHost,
    readonly server: KubeletServer,
    readonly api: MemoryClient,
    readonly recorded: ReturnType<typeof recordingTrace>,
    readonly auth: KubeletAuth,
  ) {}

  static async start(options: { readonly anonymous?: boolean; readonly down?: boolean } = {}): Promise<Lab> {
    const recorded = recordingTrace(clock);
    const { trace } = recorded;
    const host = new FakeHost();
    const api = new MemoryClient(({ path, body }) => {
      if (options.down === true) return { status: 500, body: "etcd is down" };
      return { status: 201, body: { status: answerTo(path, (body as { spec: Spec }).spec) } };
    });
    const { anonymous = false } = options;
    const authOptions = { nodeName: "n1", clientCaPem: clusterCa.certificatePem, anonymous };
    const auth = new KubeletAuth({ client: api, clock, trace }, authOptions);
    const server = await KubeletServer.listen({ host, clock, trace, auth }, { port: 0, transport: { pair: serving } });
    return new Lab(host, server, api, recorded, auth);
  }

  client(identity?: { readonly certificatePem: string; readonly keyPem: string }): HttpsClient {
    const { certificatePem: cert = undefined, keyPem: key = undefined } = identity ?? {};
    const access = { url: this.server.url, ca: servingCa.certificatePem, ...(cert && { cert }), ...(key && { key }) };
    const client = new HttpsClient(access as ConstructorParameters<typeof HttpsClient>[0], 250);
    this.clients.push(client);
    return client;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.clients) client.close();
    await this.auth.close();
    await this.server.close();
  }
}

interface Spec {
  readonly token?: string;
  readonly user?: string;
}

/** The API server of these tests: `good` and `weak` are tokens; whoever is called weak may nothing. */
function answerTo(path: string, { token, user }: Spec): object {
  if (path.endsWith("tokenreviews")) {
    if (token === "odd") return { user: {}, error: "token is odd" };
    const isKnown = token === "good" || token === "weak";
    return isKnown ? { authenticated: true, user: { username: `token-${token}`, groups: ["g"] } } : { user: {} };
  }
  return user?.includes("weak") === true || user === "system:anonymous" ? { allowed: false } : { allowed: true };
}

let clusterCa: CertificateAuthority;
let servingCa: CertificateAuthority;
type Leaf = Awaited<ReturnType<typeof makeLeaf>>;
let serving: Leaf;
let admin: Leaf;
let weak: Leaf;
let foreign: Leaf;
let expired: Leaf;
let nameless: Leaf;

beforeAll(async () => {
  [clusterCa, servingCa] = await Promise.all([makeAuthority(), makeAuthority()]);
  [serving, admin, weak, foreign, expired, nameless] = await Promise.all([
    makeLeaf(servingCa),
    makeLeaf(clusterCa, { commonName: "admin", organization: ["system:masters"] }),
    makeLeaf(clusterCa, { commonName: "weak" }),
    makeLeaf(servingCa, { commonName: "foreign" }),
    makeLeaf(clusterCa, { commonName: "old", from: -2, to: -1 }),
    makeLeaf(clusterCa, { commonName: "" }),
  ]);
});

describe("kubelet server: who may do what", () => {
  const forbidden = (user: string, verb = "get", subresource = "proxy") =>
    `403 Forbidden (user=${user}, verb=${verb}, resource=nodes, subresource=${subresource})`;
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  const rows: readonly [string, () => Leaf | undefined, Record<string, string>, string, string, string][] = [
    // who                    certificate      headers             request             answer
    ["nobody", () => undefined, {}, "GET", "/healthz", "401 Unauthorized"],
    ["nobody", () => undefined, {}, "POST", "/exec/default/web/c?output=1", "401 Unauthorized"],
    ["nobody", () => undefined, {}, "GET", "/exec/none", "401 Unauthorized"],
    ["nobody, where nothing is served", () => undefined, {}, "GET", "/none", `404 ${NOT_FOUND}`],
    ["a certificate", () => admin, {}, "GET", "/healthz", "200 ok"],
    ["a certificate without rights", () => weak, {}, "GET", "/healthz", forbidden("weak")],
    ["... for statistics", () => weak, {}, "GET", "/stats/summary", forbidden("weak", "get", "stats")],
    ["... for metrics", () => weak, {}, "GET", "/metrics", forbidden("weak", "get", "metrics")],
    ["... for the machine's logs", () => weak, {}, "GET", "/logs/", forbidden("weak", "get", "log")],
    ["... for what is not there", () => weak, {}, "DELETE", "/exec/x", forbidden("weak", "delete")],
    ["a foreign certificate", () => foreign, {}, "GET", "/healthz", "401 Unauthorized"],
    ["an expired certificate", () => expired, {}, "GET", "/healthz", "401 Unauthorized"],
    ["a certificate without a name", () => nameless, {}, "GET", "/healthz", "401 Unauthorized"],
    ["a token", () => undefined, bearer("good"), "GET", "/healthz", "200 ok"],
    ["a token, in capitals", () => undefined, { authorization: "BEARER good" }, "GET", "/healthz", "200 ok"],
    ["a token without rights", () => undefined, bearer("weak"), "GET", "/healthz", forbidden("token-weak")],
    ["an unknown token", () => undefined, bearer("none"), "GET", "/healthz", "401 Unauthorized"],
    ["a token that is told about", () => undefined, bearer("odd"), "GET", "/healthz", "401 Unauthorized"],
    ["an empty token", () => undefined, bearer(""), "GET", "/healthz", "401 Unauthorized"],
    ["a password", () => undefined, { authorization: "Basic eDp5" }, "GET", "/healthz", "401 Unauthorized"],
    ["a foreign certificate and a token", () => foreign, bearer("good"), "GET", "/healthz", "200 ok"],
    ["a certificate and an unknown token", () => admin, bearer("none"), "GET", "/healthz", "200 ok"],
  ];
  for (const [who, certificate, headers, method, path, want] of rows) {
    test(`${who}: ${method} ${path} is ${want.trim()}`, async () => {
      await using lab = await Lab.start();
      const { status, text } = await lab.client(certificate()).ask(path, { method, headers });
      assert.equal(`${status} ${text}`, want);
    });
  }

  test("anonymous requests, where they are on", async () => {
    await using lab = await Lab.start({ anonymous: true });
    const { status, text } = await lab.client().ask("/healthz");
    assert.equal(`${status} ${text}`, forbidden("system:anonymous"));
    const bad = await lab.client().ask("/healthz", { headers: bearer("none") });
    assert.equal(bad.status, 401, "a bad token does not make one anonymous");
  });

  test("the API server does not answer: no token is known, and no right", async () => {
    await using lab = await Lab.start({ down: true });
    assert.equal((await lab.client().ask("/healthz", { headers: bearer("good") })).status, 401);
    const { status, text } = await lab.client(admin).ask("/healthz");
    assert.equal(
      `${status} ${text}`,
      "500 Authorization error (user=admin, verb=get, resource=nodes, subresource=proxy)",
    );
  });

  test("what the API server is asked", async () => {
    await using lab = await Lab.start();
    await lab.client().ask("/stats/summary", { headers: bearer("good") });
    const [token, access] = lab.api.requests.map(({ path, body }) => ({ path, spec: (body as { spec: object }).spec }));
    assert.deepEqual(token, { path: "/apis/authentication.k8s.io/v1/tokenreviews", spec: { token: "good" } });
    assert.deepEqual(access, {
      path: "/apis/authorization.k8s.io/v1/subjectaccessreviews",
      spec: {
        user: "token-good",
        groups: ["g", "system:authenticated"],
        resourceAttributes: { verb: "get", version: "v1", resource: "nodes", subresource: "stats", name: "n1" },
      },
    });
  });

  test("it is told who was let in and who was not, without a secret", async () => {
    await using lab = await Lab.start();
    await lab.client().ask("/run/default/web/c?cmd=x", { method: "POST", headers: bearer("good") });
    await lab.client(weak).ask("/run/default/web/c", { method: "POST" });
    const told = only(lab.recorded.events, "decision").map(({ what, why }) => `${what}: ${why}`);
    assert.deepEqual(told, [
      "token-good (by bearer token (TokenReview); groups g, system:authenticated) may create nodes/proxy: the API server's answer to a SubjectAccessReview",
      "weak (by client certificate; groups system:authenticated) may not create nodes/proxy: the API server's answer to a SubjectAccessReview",
    ]);
    const [step] = only(lab.recorded.events, "step");
    assert.equal(step?.title, "Serve POST /run/default/web/c");
    assert.ok(!JSON.stringify(lab.recorded.events).includes('"good"'));
  });
});

describe("kubelet server: paths", () => {
  const exec = "/exec/default/web/c";
  const rows: readonly [string, string, number, string][] = [
    ["GET", "/healthz?verbose", 200, "[+]ping ok\n[+]log ok\n[+]syncloop ok\nhealthz check passed\n"],
    ["GET", "/healthz/syncloop", 200, "ok"],
    [
      "GET",
      "/healthz?verbose&exclude=ping&exclude=x",
      200,
      '[+]ping excluded: ok\n[+]log ok\n[+]syncloop ok\nwarn: some health checks cannot be excluded: no matches for "x"\nhealthz check passed\n',
    ],
    ["GET", "/configz", 200, '{"kubeletconfig":{"port":10250}}'],
    ["GET", "/runningpods/", 200, '{"kind":"PodList","apiVersion":"v1","metadata":{},"items":null}\n'],
    ["POST", "/pods", 405, "405: Method Not Allowed"],
    ["GET", "/pods/x", 404, "404: Page Not Found"],
    ["GET", "/none", 404, NOT_FOUND],
    ["GET", "/stats/summary", 404, "404: Page Not Found"],
    ["GET", "/logs/syslog", 405, "logs endpoint is disabled.\n"],
    ["GET", "/logs/../../etc/passwd", 301, ""],
    ["GET", "/debug/pprof/", 405, "profiling endpoint is disabled.\n"],
    ["PUT", "/debug/flags/v", 405, "flags endpoint is disabled.\n"],
    ["GET", "/runningpods", 301, ""],
    ["GET", "/pods%zz", 400, "400 Bad Request"],
    ["POST", exec, 400, "you must specify at least 1 of stdin, stdout, stderr"],
    ["POST", `${exec}?output=1`, 500, "Upgrade request required\n"],
    ["POST", "/exec/default/none/c?output=1", 404, "pod does not exist"],
    ["POST", "/exec/default/web/missing?output=1", 500, 'container not found ("missing")'],
    ["POST", "/exec/default/web/gone?output=1", 404, "rpc error: code = NotFound desc = no such container"],
    [
      "POST",
      "/exec/default/web/busy?output=1",
      429,
      "rpc error: code = ResourceExhausted desc = maximum number of in-flight requests exceeded",
    ],
    ["POST", "/attach/default/web/c", 400, "you must specify at least 1 of stdin, stdout, stderr"],
    ["POST", "/attach/default/none/c?output=1", 404, "pod does not exist"],
    ["POST", "/portForward/default/none", 404, "pod does not exist"],
    ["POST", "/portForward/default/web/other", 404, "pod not found"],
    ["POST", "/portForward/default/web/uid-1", 500, "Upgrade request required\n"],
    ["POST", "/run/default/web/c?cmd=echo%20a", 200, "output\n"],
    ["POST", "/run/default/web/c?cmd=false", 500, "command 'false' exited with 1: "],
    ["POST", "/run/default/none/c?cmd=false", 404, "pod does not exist"],
    ["GET", "/containerLogs/default/web/c", 200, "hello\n"],
    ["GET", "/containerLogs/default/web/i", 200, "hello\n"],
    ["GET", "/containerLogs/default/web/x", 404, 'container "x" not found in pod "web"'],
    ["GET", "/containerLogs/default/none/c", 404, 'pod "none" does not exist'],
    ["GET", "/containerLogs/default/web/c?tailLines=x", 400, '{"message": "Unable to decode query."}'],
    ["GET", "/containerLogs/default/web/c?tailLines=-1", 422, '{"message": "Invalid request."}'],
  ];
  let lab: Lab;
  let client: HttpsClient;
  beforeAll(async () => {
    lab = await Lab.start();
    client = lab.client(admin);
  });
  afterAll(() => lab[Symbol.asyncDispose]());

  for (const [method, path, status, text] of rows) {
    test(`${method} ${path} is ${status}`, async () => {
      const answer = await client.ask(path, { method });
      assert.equal(answer.status, status);
      assert.equal(answer.text, text);
    });
  }

  test("/pods has spec and status, and no kind inside the list", async () => {
    const { body, headers } = await client.ask("/pods");
    const { kind: _kind, apiVersion: _apiVersion, ...pod } = POD;
    assert.deepEqual(body, { kind: "PodList", apiVersion: "v1", metadata: {}, items: [pod] });
    assert.equal(headers["content-type"], "application/json");
  });

  test("a path that is refused says what is allowed, a busy runtime when to come again", async () => {
    const refused = await client.ask("/exec/default/web/c", { method: "PUT" });
    assert.equal(refused.headers.allow, "GET, POST");
    const busy = await client.ask("/exec/default/web/busy?output=1", { method: "POST" });
    assert.equal(busy.headers["retry-after"], "60");
    assert.equal((await client.ask("/logs?x=1")).headers.location, "/logs/?x=1");
  });

  test("the host is asked for what the path and the query say", async () => {
    lab.host.asked.length = 0;
    await client.ask("/exec/default/web/u1/c?command=sh&command=-c&command=a%20b&input=1&output=1&tty=1", {
      method: "POST",
    });
    await client.ask("/attach/default/web/c?error=1");
    await client.ask("/portForward/default/web");
    await client.ask("/run/default/web/c?cmd=echo%20a%20b", { method: "POST" });
    await client.ask("/containerLogs/default/web/c?follow=true&tailLines=3");
    const container = { podFullName: "web_default", podUid: undefined, containerName: "c" };
    const tty = { stdin: true, stdout: true, stderr: false, tty: true };
    const errors = { stdin: false, stdout: false, stderr: true, tty: false };
    assert.deepEqual(lab.host.asked, [
      { exec: { ...container, podUid: "u1", streams: tty, command: ["sh", "-c", "a b"] } },
      { attach: { ...container, streams: errors } },
      { portForward: { podName: "web", podNamespace: "default", podUid: "uid-1", ports: [] } },
      { run: { ...container, command: ["echo", "a", "b"] } },
      {
        podFullName: "web_default",
        container: "c",
        options: { follow: true, previous: false, timestamps: false, tailLines: 3 },
      },
    ]);
  });

  test("/metrics counts requests", async () => {
    const { text } = await client.ask("/metrics");
    const line =
      'kubelet_http_inflight_requests{long_running="false",method="GET",path="metrics",server_type="readwrite"} 1';
    assert.ok(text.includes(line), text);
  });

  test("a sync loop that does not turn is not healthy, and only who asks for it is told why", async () => {
    lab.host.syncLoop = "sync Loop took longer than expected";
    const all = await client.ask("/healthz");
    const one = await client.ask("/healthz/syncloop");
    lab.host.syncLoop = undefined;
    assert.deepEqual(
      [all.status, all.text],
      [500, "[+]ping ok\n[+]log ok\n[-]syncloop failed: reason withheld\nhealthz check failed\n"],
    );
    assert.deepEqual([one.status, one.text], [500, "internal server error: sync Loop took longer than expected\n"]);
  });

  test("an upgrade where none is known gets an ordinary answer, and the connection ends", async () => {
    const seen = await client.raw(
      "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    );
    assert.match(seen, /^HTTP\/1.1 200 OK\r\n.*\r\n\r\nok$/s);
  });

  const broken: readonly [string, string, RegExp][] = [
    ["no HTTP", "hello\r\n\r\n", /^HTTP\/1.1 400 /],
    ["a header without its end", `GET /pods HTTP/1.1\r\nX: ${"x".repeat(1_100_000)}\r\n\r\n`, /^HTTP\/1.1 431 /],
    [
      "two lengths",
      "POST /run/a/b/c HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
      /^HTTP\/1.1 400 /,
    ],
    [
      "a bad path that wants another protocol",
      "GET /%zz HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
      /^HTTP\/1.1 400 /,
    ],
    ["a tunnel", "CONNECT a:1 HTTP/1.1\r\nHost: x\r\n\r\n", /^$/],
    [
      "a body that nobody wants",
      "POST /pods HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
      /^HTTP\/1.1 405 /,
    ],
  ];
  for (const [what, bytes, want] of broken) {
    test(`${what} does no harm`, async () => {
      assert.match(await client.raw(bytes), want);
      assert.equal((await client.ask("/healthz")).text, "ok");
    });
  }

  test("200 at once, and none waits for another", async () => {
    const answers = await Promise.all(Array.from({ length: 200 }, () => client.ask("/pods")));
    assert.equal(answers.filter(({ status }) => status === 200).length, 200);
  });
});

/** A promise, and what resolves it. */
function deferred() {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

describe("kubelet server: as a whole", () => {
  test("a new certificate is shown to new connections, and identities count as before", async () => {
    await using lab = await Lab.start();
    const renewed = await makeLeaf(servingCa, { commonName: "renewed" });
    lab.server.useCertificate(renewed);
    const socket = await lab.client(admin).connect();
    assert.equal(socket.getPeerCertificate().subject.CN, "renewed");
    socket.destroy();
    assert.equal((await lab.client(admin).ask("/healthz")).text, "ok");
  });

  test("without TLS and without identities, for a server that nobody else can reach", async () => {
    const host = new FakeHost();
    const { trace } = recordingTrace(clock);
    await using server = await KubeletServer.listen({ host, clock, trace }, { port: 0, transport: "http" });
    assert.equal(await (await fetch(`${server.url}/healthz`)).text(), "ok");
  });

  test("a port that is taken is told", async () => {
    await using lab = await Lab.start();
    const { trace } = recordingTrace(clock);
    const deps = { host: lab.host, clock, trace };
    await assert.rejects(KubeletServer.listen(deps, { port: lab.server.port, transport: "http" }), {
      code: "USAGE",
      message: `the kubelet's server cannot listen at 127.0.0.1:${lab.server.port}: the port is taken`,
    });
  });

  test("a pair that is none is told", async () => {
    const { trace } = recordingTrace(clock);
    const pair = { certificatePem: "x", keyPem: "y" };
    const listening = KubeletServer.listen({ host: new FakeHost(), clock, trace }, { port: 0, transport: { pair } });
    await assert.rejects(listening, { code: "BAD_FILE" });
  });

  test("without a certificate connections fail, until it has one", async () => {
    const { trace } = recordingTrace(clock);
    await using server = await KubeletServer.listen({ host: new FakeHost(), clock, trace }, { port: 0, transport: {} });
    using client = new HttpsClient({ url: server.url, ca: servingCa.certificatePem } as ConstructorParameters<
      typeof HttpsClient
    >[0]);
    await assert.rejects(client.ask("/healthz"));
    server.useCertificate(serving);
    assert.equal((await client.ask("/healthz")).text, "ok");
  });

  test("closing ends a log that is followed, on both sides", async () => {
    await using lab = await Lab.start();
    const over = deferred();
    lab.host.log = async function* (signal) {
      yield { stream: "stdout", bytes: Buffer.from("first\n") };
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      over.resolve();
    };
    const response = await lab.client(admin).open("/containerLogs/default/web/c?follow=true");
    const broken = new Promise((resolve) => response.once("error", resolve));
    response.resume();
    await lab.server.close();
    await lab.server.close();
    await Promise.all([over.promise, broken]);
  });

  test("a client that goes away ends the log that it followed", async () => {
    await using lab = await Lab.start();
    const over = deferred();
    lab.host.log = async function* (signal) {
      yield { stream: "stdout", bytes: new Uint8Array() };
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      over.resolve();
    };
    const response = await lab.client(admin).open("/containerLogs/default/web/c?follow=true");
    assert.equal(response.statusCode, 200, "an empty piece begins the answer");
    response.destroy();
    await over.promise;
  });

  test("who reads a log slowly slows down its reader", async () => {
    await using lab = await Lab.start();
    let asked = 0;
    lab.host.log = async function* () {
      for (; asked < 10_000; asked++) yield { stream: "stdout", bytes: Buffer.alloc(64 * 1024) };
    };
    const response = await lab.client(admin).open("/containerLogs/default/web/c");
    let before = -1;
    // Until nothing moves any more: the buffers on the way are full.
    while (before !== asked) {
      before = asked;
      for (let i = 0; i < 200; i++) await new Promise((resolve) => setImmediate(resolve));
    }
    assert.ok(asked < 1000, `${asked} pieces of 64 KB were asked for`);
    response.destroy();
  });

  test("a log that breaks after it has begun says so at its end", async () => {
    await using lab = await Lab.start();
    const { LogError } = await import("../../../src/kubelet/kuberuntime/logs/options.js");
    lab.host.log = async function* () {
      yield { stream: "stdout", bytes: new Uint8Array() };
      throw new LogError("unable to retrieve container logs for containerd://x");
    };
    const begun = await lab.client(admin).ask("/containerLogs/default/web/c");
    assert.deepEqual([begun.status, begun.text], [200, "unable to retrieve container logs for containerd://x"]);
    // biome-ignore lint/correctness/useYield: it fails before
    lab.host.log = async function* () {
      throw new LogError('container "c" in pod "web" is waiting to start: ContainerCreating');
    };
    const refused = await lab.client(admin).ask("/containerLogs/default/web/c");
    assert.deepEqual(
      [refused.status, refused.text],
      [400, 'container "c" in pod "web" is waiting to start: ContainerCreating'],
    );
  });
});
