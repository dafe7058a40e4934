import assert from "node:assert/strict";
import { mkdtemp, readFile, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, test } from "vitest";
import { type BootstrapOptions, loadClientCert } from "../../../src/kubelet/certificate/bootstrap.js";
import { openCertificateStore } from "../../../src/kubelet/certificate/certificate-store.js";
import { loadKubeconfig } from "../../../src/staging/client-go/clientcmd/kubeconfig.js";
import { createClient } from "../../../src/staging/client-go/rest/create-client.js";
import { createAuthority } from "../../../src/staging/pki/authority.js";
import { parseCertificatePem } from "../../../src/staging/pki/certificate.js";
import type { CertificateAuthority } from "../../../src/staging/pki/issue.js";
import { keyMatchesCertificate } from "../../../src/staging/pki/keys.js";
import { TraceGraph } from "../../../src/trace/graph/graph.js";
import { SystemClock } from "../../../src/util/clock.js";
import { SystemRandom } from "../../../src/util/random.js";
import { FakeClock, FakeRandom, untilTrue } from "../../support/fake-clock.js";
import { makeAuthority, status } from "../../support/https-server.js";
import { only, recordingTrace } from "../../support/trace.js";
import { CsrServer, DENIED, FAILED } from "./csr-server.js";

const TOKEN = "abcdef.0123456789abcdef";
let ca: CertificateAuthority;
beforeAll(async () => {
  ca = await makeAuthority();
});

async function node(server: CsrServer, folder?: string) {
  const clock = new FakeClock(new SystemClock().now());
  const { trace, events } = recordingTrace(clock, true);
  const path = folder ?? (await mkdtemp(join(tmpdir(), "kubelab-bootstrap-")));
  const store = await openCertificateStore(path);
  const stop = new AbortController();
  const run = (more: Partial<BootstrapOptions> = {}) =>
    loadClientCert(
      { store, trace, clock, random: new FakeRandom() },
      {
        nodeName: "n1",
        kubeVersion: "1.25",
        cluster: { server: server.url, caPem: ca.certificatePem },
        identity: { token: TOKEN },
        timeoutMs: 60_000,
        ...more,
      },
      stop.signal,
    );
  return { clock, events, store, folder: path, stop, run };
}

/** Waits for a fact that a test server holds. */
async function seen(server: CsrServer, count: number): Promise<void> {
  await untilTrue(() => server.seen.length >= count);
}

const nameOf = (server: CsrServer) => [...server.csrs.keys()].at(-1) ?? "";

describe("a first bootstrap", () => {
  test("POST, one watch, three files; the request is named, made and signed as upstream's", async () => {
    await using server = await CsrServer.start(ca);
    const { clock, events, store, run } = await node(server);
    server.onCreate = (csr) => server.issue(csr.metadata.name ?? "", clock.now());
    const result = await run({ expirationSeconds: 600 });
    assert.deepEqual(server.lines, ["POST csr", "GET csr"]);
    const [post] = server.seen;
    assert.equal(post?.headers.authorization, "Bearer abcdef.0123456789abcdef");
    const { metadata, spec } = (post?.body ?? {}) as { metadata: object; spec: Record<string, unknown> };
    assert.match(nameOf(server), /^node-csr-[A-Za-z0-9_-]{43}$/);
    assert.deepEqual(metadata, { name: nameOf(server) });
    assert.equal(spec["signerName"], "kubernetes.io/kube-apiserver-client-kubelet");
    assert.deepEqual(spec["usages"], ["digital signature", "key encipherment", "client auth"]);
    assert.equal(spec["expirationSeconds"], 600);
    assert.equal(result.csrName, nameOf(server));
    assert.equal(result.config.token, undefined);
    const key = await readFile(store.keyPath, "utf8");
    assert.ok(keyMatchesCertificate(key, await readFile(store.certificatePath, "utf8")));
    assert.equal((await stat(store.keyPath)).mode & 0o777, 0o600);
    const { config } = await loadKubeconfig(store.kubeconfigPath);
    assert.deepEqual(config, result.config);
    const text = await readFile(store.kubeconfigPath, "utf8");
    assert.doesNotMatch(text, /insecure|PRIVATE|token/);
    assert.doesNotMatch(JSON.stringify(events), /0123456789abcdef|BEGIN EC PRIVATE/);
    const approved = only(events, "state").find(({ what }) => what === "condition");
    assert.equal(TraceGraph.of(events).causeOf(approved ?? {})?.kind, "watch", "the approval came with a watch event");
  });

  test("newer releases ask an EC key for no encipherment", async () => {
    await using server = await CsrServer.start(ca);
    const { clock, run } = await node(server);
    server.onCreate = (csr) => server.issue(csr.metadata.name ?? "", clock.now());
    await run({ kubeVersion: "1.27" });
    assert.deepEqual((server.seen[0]?.body as { spec: { usages: string[] } } | undefined)?.spec.usages, [
      "digital signature",
      "client auth",
    ]);
  });

  test("after a watch that ends or is too old, it lists and watches again", async () => {
    await using server = await CsrServer.start(ca);
    const { clock, run } = await node(server);
    const done = run();
    await seen(server, 2);
    server.endWatches();
    await seen(server, 4);
    server.issue(nameOf(server), clock.now());
    await done;
    assert.deepEqual(server.lines, ["POST csr", "GET csr", "GET csr", "GET csr"]);
  });
});

describe("what can become of a request", () => {
  const table: readonly [string, (server: CsrServer) => void, string, number, RegExp][] = [
    [
      "denied",
      (server) => server.setCondition(nameOf(server), DENIED),
      "CSR_DENIED",
      4,
      /was denied: Policy: not this one/,
    ],
    [
      "failed",
      (server) => server.setCondition(nameOf(server), FAILED),
      "CSR_FAILED",
      4,
      /SignerValidationFailure: bad usages/,
    ],
    ["deleted", (server) => server.delete(nameOf(server)), "REFUSED", 4, /was deleted/],
    [
      "replaced",
      (server) => {
        const csr = server.csrs.get(nameOf(server));
        if (csr !== undefined) server.put({ ...csr, metadata: { ...csr.metadata, uid: "another" } });
      },
      "REFUSED",
      4,
      /was replaced/,
    ],
  ];
  for (const [what, act, code, exit, sentence] of table) {
    test(`${what}: ${code}, exit ${exit}, with their words`, async () => {
      await using server = await CsrServer.start(ca);
      const { clock, run } = await node(server);
      const done = run();
      done.catch(() => {});
      await seen(server, 2);
      act(server);
      await assert.rejects(done, { name: "LabError", code, exitCode: exit, message: sentence });
      assert.equal(clock.sleeping, 0);
    });
  }

  test("without approval: exit 1 with the timeout; the next run reuses key and request", async () => {
    await using server = await CsrServer.start(ca);
    const first = await node(server);
    const done = first.run();
    done.catch(() => {});
    await seen(server, 2);
    await first.clock.advance(60_000);
    await assert.rejects(done, { code: "TIMED_OUT", exitCode: 1, message: /within 60 s/ });
    assert.equal(first.clock.sleeping, 0);
    const key = await readFile(first.store.keyPath, "utf8");

    const second = await node(server, first.folder);
    const again = second.run();
    await seen(server, 5);
    server.issue(nameOf(server), second.clock.now());
    await again;
    assert.equal(server.csrs.size, 1);
    assert.equal(await readFile(second.store.keyPath, "utf8"), key);
    assert.deepEqual(server.lines.slice(2), ["POST csr", `GET csr/${nameOf(server)}`, "GET csr"]);
    assert.match(
      only(second.events, "decision")
        .map(({ what }) => what)
        .join(),
      /continue with CSR node-csr-/,
    );
  });

  test("an abort ends the wait with its reason and leaves no timer", async () => {
    await using server = await CsrServer.start(ca);
    const { clock, stop, run } = await node(server);
    const done = run();
    done.catch(() => {});
    await seen(server, 2);
    stop.abort();
    await assert.rejects(done, { name: "AbortError" });
    assert.equal(clock.sleeping, 0);
  });

  test("what the approver throws ends the wait", async () => {
    await using server = await CsrServer.start(ca);
    const { run } = await node(server);
    await assert.rejects(run({ whileWaiting: async () => Promise.reject(new Error("no terminal")) }), {
      message: "no terminal",
    });
  });
});

describe("an earlier run was ended", () => {
  for (const [what, spoil] of [
    ["denied", (server: CsrServer) => server.setCondition(nameOf(server), DENIED)],
    ["failed", (server: CsrServer) => server.setCondition(nameOf(server), FAILED)],
    [
      "issued with a certificate that has expired",
      (server: CsrServer) => server.issue(nameOf(server), new SystemClock().now(), -1),
    ],
  ] as const) {
    test(`its request was ${what}: a new key, and so a new name`, async () => {
      await using server = await CsrServer.start(ca);
      const first = await node(server);
      const done = first.run();
      done.catch(() => {});
      await seen(server, 1);
      first.stop.abort();
      await assert.rejects(done);
      spoil(server);
      const second = await node(server, first.folder);
      server.onCreate = (csr) => server.issue(csr.metadata.name ?? "", second.clock.now());
      await second.run();
      assert.equal(server.csrs.size, 2);
      assert.ok(await second.store.current());
    });
  }

  test("after the certificate, before the kubeconfig: no new request", async () => {
    await using server = await CsrServer.start(ca);
    const first = await node(server);
    server.onCreate = (csr) => server.issue(csr.metadata.name ?? "", first.clock.now());
    await first.run();
    const asked = server.seen.length;
    const second = await node(server, first.folder);
    const result = await second.run();
    assert.equal(server.seen.length, asked);
    assert.equal(result.csrName, undefined);
  });

  test("a certificate of another cluster's CA does not count", async () => {
    await using server = await CsrServer.start(ca);
    const first = await node(server);
    server.onCreate = (csr) => server.issue(csr.metadata.name ?? "", first.clock.now());
    await first.run();
    const strangers = await createAuthority(
      { clock: new SystemClock(), random: new SystemRandom() },
      { commonName: "other" },
    );
    await using other = await CsrServer.start(strangers);
    const second = await node(other, first.folder);
    other.onCreate = (csr) => other.issue(csr.metadata.name ?? "", second.clock.now());
    await second.run({ cluster: { server: other.url, caPem: strangers.certificatePem } });
    assert.equal(other.csrs.size, 1);
    assert.ok(await second.store.current());
  });
});

/** A Node as the API server has it. */
function nodeThatIs(ready: "True" | "False" | "Unknown") {
  const conditions = [{ type: "Ready", status: ready, reason: "R", message: "m" }];
  return { status: 200, body: { kind: "Node", apiVersion: "v1", metadata: { name: "n1" }, status: { conditions } } };
}

describe("the name of a node that is in use", () => {
  const FORBIDDEN = { status: 403, body: status(403, "Forbidden", 'cannot get resource "nodes"') };
  const LOOKED = "GET /api/v1/nodes/n1";
  const JOINED = [LOOKED, "POST csr", "GET csr"];
  const refuseTakenName = { orAskAs: [] };

  for (const [what, answer, lines] of [
    ["there is none: join", { status: 404, body: status(404, "NotFound", "gone") }, JOINED],
    ["it is not Ready: join in its place", nodeThatIs("Unknown"), JOINED],
    ["the token may not look: join all the same", FORBIDDEN, JOINED],
  ] as const) {
    test(what, async () => {
      await using server = await CsrServer.start(ca);
      const { clock, run } = await node(server);
      server.node = answer;
      server.onCreate = (csr) => server.issue(csr.metadata.name ?? "", clock.now());
      await run({ refuseTakenName });
      assert.deepEqual(server.lines, lines);
      assert.equal(server.seen[0]?.headers.authorization, "Bearer abcdef.0123456789abcdef");
    });
  }

  test("it is Ready: refused, exit 4, before a key is made or a request is sent", async () => {
    await using server = await CsrServer.start(ca);
    const { run, store } = await node(server);
    server.node = nodeThatIs("True");
    const hint = /another name.*kubectl delete node n1/;
    await assert.rejects(run({ refuseTakenName }), {
      code: "REFUSED",
      exitCode: 4,
      message: /Ready Node n1/,
      hint,
    });
    assert.deepEqual(server.lines, [LOOKED]);
    await assert.rejects(stat(store.keyPath), { code: "ENOENT" });
  });

  test("where the token may not look, the administrator does", async () => {
    await using server = await CsrServer.start(ca);
    await using theirs = await CsrServer.start(ca);
    const { run, clock } = await node(server);
    server.node = FORBIDDEN;
    theirs.node = nodeThatIs("True");
    const { trace } = recordingTrace(clock, true);
    const config = { server: theirs.url, caPem: ca.certificatePem, token: "admin" };
    await using client = createClient(config, { trace, clock, random: new FakeRandom(), actor: "user" });
    await assert.rejects(run({ refuseTakenName: { orAskAs: [client] } }), { code: "REFUSED" });
    assert.deepEqual([server.lines, theirs.lines], [[LOOKED], [LOOKED]]);
  });

  for (const [what, more] of [
    ["asks for a new certificate", { force: true }],
    ["comes back after its certificate has expired", {}],
  ] as const) {
    test(`a node that ${what} is not kept from its own name`, async () => {
      await using server = await CsrServer.start(ca);
      const first = await node(server);
      const lifeMs = "force" in more ? undefined : -1;
      server.onCreate = (csr) => server.issue(csr.metadata.name ?? "", first.clock.now(), lifeMs);
      await first.run({ refuseTakenName });
      server.node = nodeThatIs("True");
      const second = await node(server, first.folder);
      server.onCreate = (csr) => server.issue(csr.metadata.name ?? "", second.clock.now());
      const { csrName } = await second.run({ ...more, refuseTakenName });
      assert.equal(csrName, nameOf(server));
      assert.equal(server.lines.filter((line) => line === LOOKED).length, 1, "only the first run looks");
    });
  }
});

describe("refusals", () => {
  test("401: the token is explained, exit 4; the key waits on disk", async () => {
    await using server = await CsrServer.start(ca);
    server.failures.push({ status: 401, body: status(401, "Unauthorized", "Unauthorized") });
    const { run, store } = await node(server);
    await assert.rejects(run(), { code: "UNAUTHORIZED", exitCode: 4, message: /token abcdef\.\*\*\*\*/ });
    assert.match(await readFile(store.keyPath, "utf8"), /BEGIN EC PRIVATE KEY/);
  });

  test("the signer's certificate is not valid yet: clock skew, named as such", async () => {
    await using server = await CsrServer.start(ca);
    const { clock, run } = await node(server);
    server.onCreate = (csr) => server.issue(csr.metadata.name ?? "", clock.now() + 3_600_000);
    await assert.rejects(run(), { code: "CLUSTER_NOT_TRUSTED", message: /not valid yet/, hint: /Clock skew/ });
  });

  test("a server of another CA sees nothing of the token", async () => {
    const strangers = await makeAuthority();
    await using server = await CsrServer.start(strangers);
    const { run } = await node(server);
    await assert.rejects(run(), { code: "CLUSTER_NOT_TRUSTED", exitCode: 3 });
    assert.deepEqual(server.seen, []);
  });

  test("the certificate is for the requested key and name", async () => {
    await using server = await CsrServer.start(ca);
    const { clock, run } = await node(server);
    server.onCreate = (csr) => server.issue(csr.metadata.name ?? "", clock.now());
    const { certificate, config } = await run();
    assert.equal(certificate.subject.commonName, "system:node:n1");
    assert.deepEqual(certificate.subject.organization, ["system:nodes"]);
    assert.equal(parseCertificatePem(config.clientCertificatePem ?? "").serialHex, certificate.serialHex);
  });
});
