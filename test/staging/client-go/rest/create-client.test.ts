import assert from "node:assert/strict";
import { createServer as createPlainServer } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Server } from "node:net";
import { beforeAll, describe, test } from "vitest";
import type { RestConfig } from "../../../../src/staging/client-go/rest/client.js";
import { createClient } from "../../../../src/staging/client-go/rest/create-client.js";
import type { ObservedRequest } from "../../../../src/staging/client-go/rest/request-observer.js";
import { explainTransportError } from "../../../../src/staging/client-go/rest/transport-errors.js";
import { createAuthority } from "../../../../src/staging/pki/authority.js";
import type { CertificateAuthority } from "../../../../src/staging/pki/issue.js";
import { SystemClock } from "../../../../src/util/clock.js";
import { LabError } from "../../../../src/util/errors.js";
import { FakeClock, FakeRandom, START_MS } from "../../../support/fake-clock.js";
import { type LeafOptions, makeAuthority, makeLeaf, startHttpsServer, status } from "../../../support/https-server.js";
import { only, recordingTrace } from "../../../support/trace.js";

const TOKEN = "abcdef.0123456789abcdef";
let ca: CertificateAuthority;
let otherCa: CertificateAuthority;
beforeAll(async () => {
  ca = await makeAuthority();
  otherCa = await makeAuthority();
});

function client(config: RestConfig, wantsBodies = false) {
  const clock = new FakeClock();
  const { trace, events } = recordingTrace(clock, wantsBodies);
  return { client: createClient(config, { trace, clock, random: new FakeRandom(), actor: "kubelet" }), events };
}

async function labErrorOf(promise: Promise<unknown>): Promise<LabError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof LabError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

describe("servers that must not be trusted", () => {
  const table: readonly [string, LeafOptions, "ours" | "other", RegExp][] = [
    ["another CA", {}, "other", /did not sign/],
    ["other names", { ip: [], dns: ["example.org"] }, "ours", /for other names: DNS:example\.org/],
    [
      "an expired certificate",
      { from: -2, to: -1 },
      "ours",
      /:\d+ has expired \(at 20[-0-9]+T[0-9:]+Z\): by this machine's clock/,
    ],
    [
      "a certificate of the future (clock skew)",
      { from: 1, to: 2 },
      "ours",
      /:\d+ is not valid yet \(valid from 20[-0-9]+T[0-9:]+Z\): by this machine's clock/,
    ],
  ];
  for (const [what, leaf, trusted, sentence] of table) {
    test(`${what}: a specific message, exit 3, and no request arrives`, async () => {
      await using server = await startHttpsServer(await makeLeaf(ca, leaf), () => ({ status: 200, body: {} }));
      const caPem = (trusted === "ours" ? ca : otherCa).certificatePem;
      const { client: kube, events } = client({ server: server.url, caPem, token: TOKEN });
      await using _kube = kube;
      const error = await labErrorOf(kube.expect({ method: "GET", path: "/version" }));
      assert.equal(error.code, "CLUSTER_NOT_TRUSTED");
      assert.equal(error.exitCode, 3);
      assert.match(error.message, sentence);
      assert.deepEqual(server.seen, []);
      assert.match(only(events, "request")[0]?.failure ?? "", sentence);
    });
  }
});

test("a CA that has expired before its certificates is named, with its end", async () => {
  const startMs = new SystemClock().now() - 20 * 365 * 86_400_000;
  const old = await createAuthority(
    { clock: new FakeClock(startMs), random: new FakeRandom() },
    { commonName: "old-ca" },
  );
  await using server = await startHttpsServer(await makeLeaf(old), () => ({ status: 200, body: {} }));
  const { client: kube } = client({ server: server.url, caPem: old.certificatePem, token: TOKEN });
  await using _kube = kube;
  const error = await labErrorOf(kube.expect({ method: "GET", path: "/version" }));
  assert.equal(error.code, "CLUSTER_NOT_TRUSTED");
  assert.match(
    error.message,
    /the CA \(CN=old-ca\) behind the certificate of https:.* has expired \(at 20[-0-9]+T[0-9:]+Z\)/,
  );
  assert.deepEqual(server.seen, []);
});

test("a response that is nested too deeply is an error, with exit code 3", async () => {
  const depth = 100_000;
  const text = `{"kind":"Secret","metadata":{},"data":${'{"a":'.repeat(depth)}1${"}".repeat(depth)}}`;
  await using server = await startHttpsServer(await makeLeaf(ca), () => (response) => {
    response.writeHead(200, { "content-type": "application/json" }).end(text);
  });
  const { client: kube } = client({ server: server.url, caPem: ca.certificatePem, token: TOKEN });
  await using _kube = kube;
  const path = "/api/v1/namespaces/default/secrets/s";
  const error = await labErrorOf(kube.expect({ method: "GET", path }));
  assert.equal(error.exitCode, 3);
  assert.match(error.message, /to GET .*secrets\/s is nested too deeply/);
});

test("a refused client certificate is named, with its end or its beginning", async () => {
  const unauthorized = { kind: "Status", code: 401, message: "Unauthorized" };
  await using server = await startHttpsServer(await makeLeaf(ca), () => ({ status: 401, body: unauthorized }));
  const table: readonly (readonly [LeafOptions, RegExp])[] = [
    // The client's clock shows January 2026.
    [{ from: -20_000, to: -10_000 }, /\(certificate n1, which expired 19\d\d-.*Z\): 401 Unauthorized/],
    [{ from: 10_000, to: 20_000 }, /\(certificate n1, which is valid from 20\d\d-.*Z\): 401 Unauthorized/],
    [{ from: -10_000, to: 10_000 }, /\(certificate n1\): 401 Unauthorized/],
  ];
  for (const [validity, message] of table) {
    const { certificatePem, keyPem } = await makeLeaf(ca, { commonName: "n1", ...validity });
    const config = {
      server: server.url,
      caPem: ca.certificatePem,
      clientCertificatePem: certificatePem,
      clientKeyPem: keyPem,
    };
    const { client: kube } = client(config);
    await using _kube = kube;
    const error = await labErrorOf(kube.expect({ method: "GET", path: "/version" }));
    assert.equal(error.code, "UNAUTHORIZED");
    assert.match(error.message, message);
    const alert = Object.assign(new Error("alert"), { code: "ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED" });
    const context = { server: server.url, what: "GET /version", nowMs: START_MS, timeoutMs: 0, config };
    const refused = explainTransportError(alert, context);
    assert.ok(
      refused instanceof LabError && refused.message.includes(/certificate n1[^)]*/.exec(error.message)?.[0] ?? "?"),
    );
  }
});

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe("nobody answers", () => {
  const table: readonly [string, () => Server, string, RegExp][] = [
    [
      "plain HTTP",
      () => createPlainServer((_, response) => response.end("hi")),
      "CLUSTER_NOT_TRUSTED",
      /does not speak TLS/,
    ],
    [
      "another protocol",
      () => createTcpServer((socket) => socket.write("SSH-2.0-x\r\n")),
      "CLUSTER_NOT_TRUSTED",
      /does not speak TLS/,
    ],
    [
      "a reset",
      () => createTcpServer((socket) => socket.resetAndDestroy()),
      "CLUSTER_UNREACHABLE",
      /reset the connection/,
    ],
    ["silence", () => createTcpServer(() => {}), "CLUSTER_UNREACHABLE", /did not answer GET \/version within 0\.2 s/],
  ];
  for (const [what, make, code, sentence] of table) {
    test(`${what}: ${sentence.source}`, async () => {
      const open = new Set<{ destroy(): void }>();
      const server = make().on("connection", (socket) => open.add(socket));
      try {
        const { client: kube } = client({ server: await listen(server), caPem: ca.certificatePem, token: TOKEN });
        await using _kube = kube;
        const error = await labErrorOf(kube.expect({ method: "GET", path: "/version", timeoutMs: 200 }));
        assert.equal(error.code, code);
        assert.match(error.message, sentence);
        assert.equal(error.exitCode, 3);
      } finally {
        for (const socket of open) socket.destroy();
        server.close();
      }
    });
  }

  test("while somebody holds the clock, a time limit is due in its time", async () => {
    const open = new Set<{ destroy(): void }>();
    const server = createTcpServer(() => {}).on("connection", (socket) => open.add(socket));
    const clock = new SystemClock();
    clock.pause();
    const { trace } = recordingTrace(clock);
    const config = { server: await listen(server), caPem: ca.certificatePem };
    try {
      await using kube = createClient(config, { trace, clock, random: new FakeRandom(), actor: "kubelet" });
      const asked = labErrorOf(kube.expect({ method: "GET", path: "/version", timeoutMs: 3_600_000 }));
      clock.advanceTo(clock.now() + 3_600_000);
      assert.match((await asked).message, /did not answer GET \/version within 3600 s/);
    } finally {
      for (const socket of open) socket.destroy();
      server.close();
    }
  });

  for (const [url, code, sentence] of [
    ["https://127.0.0.1:1", "CLUSTER_UNREACHABLE", /refuses the connection/],
    [
      "https://no-such-host.invalid:6443",
      "CLUSTER_UNREACHABLE",
      /host name that (does not exist|could not be looked up)/,
    ],
  ] as const) {
    test(`${url}: ${sentence.source}`, async () => {
      const { client: kube } = client({ server: url, caPem: ca.certificatePem });
      await using _kube = kube;
      const error = await labErrorOf(kube.expect({ method: "GET", path: "/version", timeoutMs: 5_000 }));
      assert.equal(error.code, code);
      assert.match(error.message, sentence);
    });
  }

  for (const [what, config, code] of [
    ["http:// in the clear", { server: "http://127.0.0.1:80", token: TOKEN }, "USAGE"],
    ["no address", { server: "nonsense" }, "USAGE"],
    ["a CA file without a certificate", { server: "https://127.0.0.1:1", caPem: "rubbish" }, "BAD_FILE"],
    ["a half CA", { server: "https://127.0.0.1:1", caPem: "-----BEGIN CERTIFICATE-----\nMIIB" }, "BAD_FILE"],
  ] as const) {
    test(`${what} is detected before any connection: ${code}`, () => {
      assert.throws(() => client(config), { name: "LabError", code });
    });
  }

  test("a key that does not belong to the certificate is detected before any connection", async () => {
    const one = await makeLeaf(ca);
    const other = await makeLeaf(ca);
    const config = {
      server: "https://127.0.0.1:1",
      clientCertificatePem: one.certificatePem,
      clientKeyPem: other.keyPem,
    };
    assert.throws(() => client(config), { name: "LabError", code: "BAD_FILE", message: /does not belong/ });
  });
});

describe("requests", () => {
  test("carry identity, audit id and body; the fact has no secret", async () => {
    const answer = { kind: "Secret", data: { "token-secret": "c2VjcmV0" } };
    await using server = await startHttpsServer(await makeLeaf(ca), () => ({ status: 201, body: answer }));
    const { client: kube, events } = client({ server: server.url, caPem: ca.certificatePem, token: TOKEN }, true);
    await using _kube = kube;
    const body = { kind: "Secret", stringData: { "token-secret": "0123456789abcdef" } };
    assert.deepEqual(
      await kube.expect({ method: "POST", path: "/x", query: { a: "b c", no: undefined }, body }),
      answer,
    );
    const [seen] = server.seen;
    assert.equal(seen?.path, "/x?a=b%20c");
    assert.equal(seen?.headers.authorization, `Bearer ${TOKEN}`);
    assert.deepEqual(seen?.body, body);
    const [fact] = only(events, "request");
    assert.equal(seen?.headers["audit-id"], fact?.auditId);
    assert.equal(fact?.identity, "token abcdef.****");
    assert.equal(fact?.status, 201);
    assert.doesNotMatch(JSON.stringify(events), /0123456789abcdef|c2VjcmV0/);
  });

  test("reuse one connection", async () => {
    await using server = await startHttpsServer(await makeLeaf(ca), () => ({ status: 200, body: {} }));
    const { client: kube } = client({ server: server.url, caPem: ca.certificatePem });
    await using _kube = kube;
    for (let i = 0; i < 3; i++) await kube.expect({ method: "GET", path: "/x" });
    assert.equal(server.connections(), 1);
  });

  test("a path in the server's address is kept", async () => {
    await using server = await startHttpsServer(await makeLeaf(ca), () => ({ status: 200, body: {} }));
    const { client: kube } = client({ server: `${server.url}/k8s/clusters/c1`, caPem: ca.certificatePem });
    await using _kube = kube;
    await kube.expect({ method: "GET", path: "/version" });
    assert.equal(server.seen[0]?.path, "/k8s/clusters/c1/version");
  });

  for (const [code, reason, labCode, exit] of [
    [401, "Unauthorized", "UNAUTHORIZED", 4],
    [403, "Forbidden", "FORBIDDEN", 4],
    [409, "Conflict", "REFUSED", 4],
    [422, "Invalid", "REFUSED", 4],
  ] as const) {
    test(`expect: ${code} is ${labCode} with the server's message; request returns it`, async () => {
      const body = status(code, reason, `words of ${reason}`);
      await using server = await startHttpsServer(await makeLeaf(ca), () => ({ status: code, body }));
      const { client: kube, events } = client({ server: server.url, caPem: ca.certificatePem, token: TOKEN });
      await using _kube = kube;
      const error = await labErrorOf(kube.expect({ method: "GET", path: "/x" }));
      assert.equal(error.code, labCode);
      assert.equal(error.exitCode, exit);
      assert.match(error.message, new RegExp(`words of ${reason}`));
      assert.equal((await kube.request({ method: "GET", path: "/x" })).status, code);
      assert.equal(only(events, "request")[0]?.outcome, `${reason}: words of ${reason}`);
    });
  }

  test("a 401 to a bootstrap token explains what can be wrong with it", async () => {
    const body = status(401, "Unauthorized", "Unauthorized");
    await using server = await startHttpsServer(await makeLeaf(ca), () => ({ status: 401, body }));
    const { client: kube } = client({ server: server.url, caPem: ca.certificatePem, token: TOKEN });
    await using _kube = kube;
    const error = await labErrorOf(kube.expect({ method: "GET", path: "/x" }));
    assert.match(error.hint, /unknown, has expired, or its Secret lacks usage-bootstrap-authentication/);
    assert.doesNotMatch(error.message + error.hint, /0123456789abcdef/);
  });

  test("an abort ends a request with the signal's reason, and is reported", async () => {
    await using server = await startHttpsServer(await makeLeaf(ca), () => () => {});
    const { client: kube, events } = client({ server: server.url, caPem: ca.certificatePem });
    await using _kube = kube;
    const stop = new AbortController();
    const waiting = kube.request({ method: "GET", path: "/slow", signal: stop.signal });
    stop.abort();
    await assert.rejects(waiting, { name: "AbortError" });
    assert.equal(only(events, "request")[0]?.failure, "cancelled");
  });

  test("an unverified server gives one warning at level 0", async () => {
    await using server = await startHttpsServer(await makeLeaf(ca), () => ({ status: 200, body: {} }));
    const { client: kube, events } = client({ server: server.url, insecureSkipTlsVerify: true });
    await using _kube = kube;
    await kube.expect({ method: "GET", path: "/x" });
    const notes = only(events, "note");
    assert.equal(notes.length, 1);
    assert.equal(notes[0]?.level, 0);
    assert.match(notes[0]?.text ?? "", /WARNING: .* is not verified/);
  });
});

describe("watches", () => {
  const added = (name: string) => ({ type: "ADDED", object: { kind: "Node", apiVersion: "v1", metadata: { name } } });

  async function watchAll(write: (chunk: (bytes: Buffer) => void, end: () => void) => void): Promise<string[]> {
    await using server = await startHttpsServer(await makeLeaf(ca), () => (response) => {
      response.writeHead(200, { "Content-Type": "application/json" });
      write(
        (bytes) => response.write(bytes),
        () => response.end(),
      );
    });
    const { client: kube } = client({ server: server.url, caPem: ca.certificatePem });
    await using _kube = kube;
    const names: string[] = [];
    for await (const event of kube.watch("/api/v1/nodes", {}, new AbortController().signal)) {
      names.push(event.object.metadata.name ?? "");
    }
    return names;
  }

  test("events split anywhere arrive whole; the server's end is a normal end", async () => {
    const text = [added("n1"), added("nö2"), added("n3")].map((event) => JSON.stringify(event)).join("\n");
    const bytes = Buffer.from(`${text}\n`);
    const names = await watchAll((chunk, end) => {
      for (let i = 0; i < bytes.length; i += 7) chunk(bytes.subarray(i, i + 7));
      end();
    });
    assert.deepEqual(names, ["n1", "nö2", "n3"]);
  });

  test("each event is a fact, caused by the version that it shows; a bookmark is none", async () => {
    const object = (name: string, resourceVersion: string) => ({ name, namespace: "ns", uid: "u", resourceVersion });
    const send = (type: string, version: string) =>
      JSON.stringify({ type, object: { kind: "Pod", apiVersion: "v1", metadata: object("web", version) } });
    const lines = [send("ADDED", "5"), send("BOOKMARK", "6"), send("DELETED", "7")];
    await using server = await startHttpsServer(await makeLeaf(ca), () => (response) => {
      response.writeHead(200, { "Content-Type": "application/json" });
      response.end(`${lines.join("\n")}\n`);
    });
    const { client: kube, events } = client({ server: server.url, caPem: ca.certificatePem });
    await using _kube = kube;
    const causes: (string | undefined)[] = [];
    for await (const { causedBy } of kube.watch("/api/v1/pods", {}, new AbortController().signal))
      causes.push(causedBy);
    const facts = only(events, "watch");
    assert.deepEqual(
      facts.map(({ type, resource, object, pod, causedBy }) => [type, resource, object, pod, causedBy]),
      [
        ["ADDED", "pods", "ns/web", "ns/web", "u@5"],
        ["DELETED", "pods", "ns/web", "ns/web", "u@7"],
      ],
    );
    assert.deepEqual(causes, [facts[0]?.id, undefined, facts[1]?.id]);
  });

  test("a connection that breaks is an error, also inside an event", async () => {
    await using server = await startHttpsServer(await makeLeaf(ca), () => (response) => {
      response.writeHead(200, { "Content-Type": "application/json" });
      response.write(`${JSON.stringify(added("n1"))}\n{"type":"ADD`);
    });
    const { client: kube } = client({ server: server.url, caPem: ca.certificatePem });
    await using _kube = kube;
    const error = await labErrorOf(
      (async () => {
        for await (const _ of kube.watch("/w", {}, new AbortController().signal)) server.cutAll();
      })(),
    );
    assert.equal(error.code, "CLUSTER_UNREACHABLE");
  });

  test("an abort is a normal end and closes the connection; a refusal throws", async () => {
    let closed = false;
    await using server = await startHttpsServer(await makeLeaf(ca), ({ path }) =>
      path.startsWith("/no")
        ? { status: 403, body: status(403, "Forbidden", "no") }
        : (response) => {
            response.on("close", () => {
              closed = true;
            });
            response.writeHead(200, { "Content-Type": "application/json" });
            response.write(`${JSON.stringify(added("n1"))}\n`);
          },
    );
    const { client: kube } = client({ server: server.url, caPem: ca.certificatePem });
    await using _kube = kube;
    const stop = new AbortController();
    for await (const _ of kube.watch("/w", {}, stop.signal)) stop.abort();
    await kube.request({ method: "GET", path: "/no" });
    assert.equal(closed, true);
    const refused = await labErrorOf(
      (async () => {
        for await (const _ of kube.watch("/no", {}, new AbortController().signal));
      })(),
    );
    assert.equal(refused.code, "FORBIDDEN");
  });
});

test("each request is observed: with the time until its answer, a watch without it, one that fails without a status", async () => {
  const seen: ObservedRequest[] = [];
  const clock = new FakeClock();
  const { trace } = recordingTrace(clock);
  const server = await startHttpsServer(await makeLeaf(ca), ({ path }) => (response) => {
    if (path === "/cut") return void response.destroy();
    response.writeHead(path === "/none" ? 404 : 200, { "Content-Type": "application/json" });
    response.end(path.includes("watch") ? "" : "{}");
  });
  await using _server = server;
  await using kube = createClient(
    { server: server.url, caPem: ca.certificatePem },
    { trace, clock, random: new FakeRandom(), actor: "kubelet", observe: (one) => void seen.push(one) },
  );
  await kube.request({ method: "GET", path: "/there" });
  await kube.request({ method: "PUT", path: "/none", body: {} });
  for await (const _ of kube.watch("/api/v1/pods", {}, new AbortController().signal));
  await assert.rejects(kube.request({ method: "GET", path: "/cut" }));
  const { host } = new URL(server.url);
  assert.deepEqual(seen, [
    { method: "GET", host, status: 200, durationMs: 0 },
    { method: "PUT", host, status: 404, durationMs: 0 },
    { method: "GET", host, status: 200, durationMs: undefined },
    { method: "GET", host, status: undefined, durationMs: 0 },
  ]);
});

const PATHS: readonly (readonly [path: string, sent: string])[] = [
  ["/api/v1/namespaces/a b", "/api/v1/namespaces/a%20b"],
  ["/api/v1/pods?labelSelector=a in (b)", "/api/v1/pods?labelSelector=a%20in%20(b)"],
  ["/api/v1/ä%20\u4e2d\r\n", "/api/v1/%C3%A4%20%E4%B8%AD%0D%0A"],
];
test.each(PATHS)("a path that no request line can have is escaped: %j", async (path, sent) => {
  await using server = await startHttpsServer(await makeLeaf(ca), () => ({ status: 404, body: {} }));
  const { client: kube } = client({ server: server.url, caPem: ca.certificatePem, token: TOKEN });
  await using _kube = kube;
  await kube.request({ method: "GET", path });
  assert.deepEqual(
    server.seen.map((one) => one.path),
    [sent],
  );
});
