import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { beforeAll, describe, test } from "vitest";
import { kubeconfigText } from "../../../src/staging/client-go/clientcmd/kubeconfig-text.js";
import { discoverCluster, parseCaCertHash } from "../../../src/staging/cluster-bootstrap/discovery.js";
import { detachedJwsIsValid } from "../../../src/staging/cluster-bootstrap/jws.js";
import { publicKeyHash } from "../../../src/staging/pki/authority.js";
import type { CertificateAuthority } from "../../../src/staging/pki/issue.js";
import { FakeClock, FakeRandom, untilTrue } from "../../support/fake-clock.js";
import { type Answer, makeAuthority, makeLeaf, startHttpsServer, status } from "../../support/https-server.js";
import { recordingTrace } from "../../support/trace.js";

const TOKEN = { id: "abcdef", secret: "0123456789abcdef" };
let ca: CertificateAuthority;
let other: CertificateAuthority;
beforeAll(async () => {
  ca = await makeAuthority();
  other = await makeAuthority();
});

const kubeconfig = (of: CertificateAuthority) =>
  kubeconfigText({ server: "https://h:6443", caPem: of.certificatePem }, { cluster: "", user: "u", context: "x" });

function sign(content: string, secret = TOKEN.secret, header: object = { alg: "HS256", kid: TOKEN.id }): string {
  const head = Buffer.from(JSON.stringify(header)).toString("base64url");
  const payload = Buffer.from(content).toString("base64url");
  return `${head}..${createHmac("sha256", secret).update(`${head}.${payload}`).digest("base64url")}`;
}

function clusterInfo(content: string, jws?: string): Answer {
  const data = { kubeconfig: content, ...(jws === undefined ? {} : { "jws-kubeconfig-abcdef": jws }) };
  return { status: 200, body: { kind: "ConfigMap", apiVersion: "v1", metadata: { name: "cluster-info" }, data } };
}

async function discover(answers: Answer[], hashOf: CertificateAuthority = ca, clock = new FakeClock()) {
  await using server = await startHttpsServer(await makeLeaf(ca), () => answers.shift() ?? { status: 500, body: {} });
  const { trace, events } = recordingTrace(clock, true);
  const deps = { trace, clock, random: new FakeRandom(), actor: "kubelet" as const };
  const options = { server: server.url, token: TOKEN, caCertHashes: [publicKeyHash(hashOf.certificatePem)] };
  const result = discoverCluster(deps, options, new AbortController().signal);
  const settled = await Promise.allSettled([result]);
  const secretsSent = server.seen.filter(({ headers }) => headers.authorization !== undefined).length;
  assert.equal(secretsSent, 0, "no request of the discovery carries a credential");
  assert.doesNotMatch(JSON.stringify(events), /0123456789abcdef/);
  return { settled: settled[0], seen: server.seen.length, url: server.url };
}

const good = () => clusterInfo(kubeconfig(ca), sign(kubeconfig(ca)));

describe("discovery by CA hash", () => {
  test("with valid signature and hash: returns the CA after two requests, the second one verified", async () => {
    const { settled, seen, url } = await discover([good(), good()]);
    assert.equal(settled?.status, "fulfilled");
    assert.deepEqual(settled.value, { server: url, caPem: ca.certificatePem });
    assert.equal(seen, 2);
  });

  const forged = () => clusterInfo(kubeconfig(ca), sign(kubeconfig(ca), "aaaaaaaaaaaaaaaa"));
  const table: readonly [string, () => Answer[], "ours" | "other", string, number, RegExp, number][] = [
    [
      "a signature by another secret",
      () => [forged()],
      "ours",
      "CLUSTER_NOT_TRUSTED",
      3,
      /not signed with this token/,
      1,
    ],
    [
      "a kubeconfig that was changed after it was signed",
      () => [clusterInfo(kubeconfig(other), sign(kubeconfig(ca)))],
      "ours",
      "CLUSTER_NOT_TRUSTED",
      3,
      /not signed with this token/,
      1,
    ],
    ["another hash", () => [good()], "other", "CLUSTER_NOT_TRUSTED", 3, /has the hash sha256:\w{64}, not sha256:/, 1],
    [
      "another CA, signed by a guest who knows the token",
      () => [clusterInfo(kubeconfig(other), sign(kubeconfig(other)))],
      "ours",
      "CLUSTER_NOT_TRUSTED",
      3,
      /has the hash/,
      1,
    ],
    [
      "the hash is good, but the server is not the CA's",
      () => [clusterInfo(kubeconfig(other), sign(kubeconfig(other)))],
      "other",
      "CLUSTER_NOT_TRUSTED",
      3,
      /did not sign/,
      1,
    ],
    [
      "another answer the second time",
      () => [good(), clusterInfo(`${kubeconfig(ca)}\n`, sign(`${kubeconfig(ca)}\n`))],
      "ours",
      "CLUSTER_NOT_TRUSTED",
      3,
      /different cluster-info/,
      2,
    ],
    [
      "strangers may not see cluster-info",
      () => [{ status: 403, body: status(403, "Forbidden", "no") }],
      "ours",
      "FORBIDDEN",
      4,
      /does not show cluster-info/,
      1,
    ],
  ];
  for (const [what, answers, hash, code, exit, sentence, requests] of table) {
    test(`${what}: ${code}, exit ${exit}`, async () => {
      const { settled, seen } = await discover(answers(), hash === "ours" ? ca : other);
      assert.equal(settled?.status, "rejected");
      const error = settled.reason as { code?: string; exitCode?: number; message: string };
      assert.equal(error.code, code);
      assert.equal(error.exitCode, exit);
      assert.match(error.message, sentence);
      assert.equal(seen, requests);
    });
  }

  for (const [what, answer, code, sentence] of [
    [
      "not signed for this token",
      () => clusterInfo(kubeconfig(ca)),
      "UNAUTHORIZED",
      /does not know token abcdef\.\*\*\*\*/,
    ],
    [
      "no cluster-info",
      () => ({ status: 404, body: status(404, "NotFound", "no") }),
      "CLUSTER_NOT_TRUSTED",
      /has no ConfigMap/,
    ],
  ] as const) {
    test(`${what}: asked again every second for 5 s, then ${code}`, async () => {
      const clock = new FakeClock();
      const running = discover(Array.from({ length: 9 }, answer), ca, clock);
      for (let second = 0; second < 5; second++) {
        await untilTrue(() => clock.sleeping > 0);
        await clock.advance(1_000);
      }
      const { settled, seen } = await running;
      assert.equal(settled?.status, "rejected");
      const error = settled.reason as { code?: string; message: string };
      assert.equal(error.code, code);
      assert.match(error.message, sentence);
      assert.equal(seen, 6);
    });
  }

  test("a response that is not a ConfigMap is rejected", async () => {
    const { settled } = await discover([{ status: 200, body: "<html>" }], ca, new FakeClock());
    assert.equal(settled?.status, "rejected");
    assert.equal((settled.reason as { code?: string }).code, "CLUSTER_NOT_TRUSTED");
  });

  test("a signature that comes a moment later is waited for", async () => {
    const clock = new FakeClock();
    const running = discover([clusterInfo(kubeconfig(ca)), good(), good()], ca, clock);
    await untilTrue(() => clock.sleeping > 0);
    await clock.advance(1_000);
    assert.equal((await running).settled?.status, "fulfilled");
  });
});

describe("the detached signature", () => {
  const content = "apiVersion: v1\n";
  for (const [what, jws, want] of [
    ["as it should be", sign(content), true],
    ["another algorithm", sign(content, TOKEN.secret, { alg: "none", kid: TOKEN.id }), false],
    ["another token's id", sign(content, TOKEN.secret, { alg: "HS256", kid: "ghijkl" }), false],
    ["another secret", sign(content, "x".repeat(16)), false],
    ["not detached", sign(content).replace("..", ".e30."), false],
    ["cut off", sign(content).slice(0, -4), false],
    ["empty", "", false],
    ["rubbish", "a.b", false],
  ] as const) {
    test(`${what}: ${want}`, () => assert.equal(detachedJwsIsValid(jws, content, TOKEN.id, TOKEN.secret), want));
  }
});

describe("--ca-cert-hash", () => {
  test("takes what kubeadm prints, in any case", () => {
    assert.equal(parseCaCertHash(` sha256:${"AB".repeat(32)} `), `sha256:${"ab".repeat(32)}`);
  });
  for (const text of ["", "abc", `sha256:${"a".repeat(63)}`, `sha1:${"a".repeat(40)}`, "a".repeat(64)]) {
    test(`${JSON.stringify(text)} is a usage error`, () =>
      assert.throws(() => parseCaCertHash(text), { code: "USAGE" }));
  }
});
