import assert from "node:assert/strict";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, test } from "vitest";
import { openCertificateStore } from "../../../src/kubelet/certificate/certificate-store.js";
import { kubeletClientCertificate } from "../../../src/kubelet/certificate/kubelet.js";
import { runCertificateManager } from "../../../src/staging/client-go/certificate/manager.js";
import type { RestConfig } from "../../../src/staging/client-go/rest/client.js";
import { createClient } from "../../../src/staging/client-go/rest/create-client.js";
import { SwitchingClient } from "../../../src/staging/client-go/rest/switching-client.js";
import { parseCertificatePem } from "../../../src/staging/pki/certificate.js";
import type { CertificateAuthority } from "../../../src/staging/pki/issue.js";
import { SystemClock } from "../../../src/util/clock.js";
import { FakeClock, FakeRandom, untilTrue } from "../../support/fake-clock.js";
import { makeAuthority, makeLeaf, status } from "../../support/https-server.js";
import { only, recordingTrace } from "../../support/trace.js";
import { CsrServer, DENIED } from "./csr-server.js";

const HOUR_MS = 3_600_000;
let ca: CertificateAuthority;
beforeAll(async () => {
  ca = await makeAuthority();
});

async function rotating(server: CsrServer) {
  const clock = new FakeClock(new SystemClock().now());
  const { trace, events } = recordingTrace(clock);
  const store = await openCertificateStore(await mkdtemp(join(tmpdir(), "kubelab-rotation-")));
  // The pair in use, as the bootstrap leaves it.
  const first = await makeLeaf(ca, { commonName: "system:node:n1", from: 0, to: 1 });
  const config: RestConfig = {
    server: server.url,
    caPem: ca.certificatePem,
    clientCertificatePem: first.certificatePem,
    clientKeyPem: first.keyPem,
  };
  await writeFile(store.keyPath, first.keyPem);
  await store.commit(first);
  const client = new SwitchingClient(config, (one) =>
    createClient(one, { trace, clock, random: new FakeRandom(), actor: "kubelet" }),
  );
  const stop = new AbortController();
  const deps = { client, clock, random: new FakeRandom(0.5), trace };
  const metrics = { failures: 0, agesMs: [] as number[] };
  const options = {
    ...{ nodeName: "n1", kubeVersion: "1.25", expirationSeconds: 600 },
    metrics: {
      renewFailed: () => void metrics.failures++,
      rotated: (ageMs: number) => void metrics.agesMs.push(ageMs),
    },
  };
  const done = runCertificateManager(deps, kubeletClientCertificate(client, store, options), stop.signal);
  done.catch(() => {});
  await untilTrue(() => clock.sleeping === 1);
  const end = async () => {
    stop.abort();
    await assert.rejects(done, { name: "AbortError" });
    await client.close();
    assert.equal(clock.sleeping, 0);
  };
  return { clock, events, metrics, store, client, done, end };
}

describe("rotation", () => {
  test("at 80 % of its lifetime (random 0.5): a new key, and a request with generateName, sent with the old certificate", async () => {
    await using server = await CsrServer.start(ca);
    const { clock, store, client, end } = await rotating(server);
    const oldKey = client.config.clientKeyPem;
    server.onCreate = (csr) => server.issue(csr.metadata.name ?? "", clock.now(), 24);
    await clock.advance(0.79 * 24 * HOUR_MS);
    assert.equal(server.seen.length, 0);
    await clock.advance(0.02 * 24 * HOUR_MS);
    await untilTrue(() => client.config.clientKeyPem !== oldKey);
    const { metadata, spec } = (server.seen[0]?.body ?? {}) as { metadata: object; spec: Record<string, unknown> };
    assert.deepEqual(metadata, { generateName: "csr-" });
    assert.equal(spec["expirationSeconds"], 600);
    const pair = await store.current();
    assert.equal(pair?.keyPem, client.config.clientKeyPem);
    assert.equal(pair?.certificatePem, client.config.clientCertificatePem);
    assert.equal(parseCertificatePem(pair?.certificatePem ?? "").subject.commonName, "system:node:n1");
    await untilTrue(() => clock.sleeping === 1);
    await end();
  });

  test("a refusal is tried again after 2, 4, 8, 16, then every 32 s, with 5 % more for chance 0.5", async () => {
    await using server = await CsrServer.start(ca);
    const { clock, events, metrics, client, end } = await rotating(server);
    for (let i = 0; i < 6; i++) server.failures.push({ status: 500, body: status(500, "InternalError", "away") });
    server.onCreate = (csr) => server.issue(csr.metadata.name ?? "", clock.now(), 24);
    const oldKey = client.config.clientKeyPem;
    await clock.advance(0.81 * 24 * HOUR_MS);
    for (const [i, ms] of [2_100, 4_200, 8_400, 16_800, 32_000, 32_000].entries()) {
      await untilTrue(() => server.seen.length === i + 1 && clock.sleeping === 1);
      await clock.advance(ms - 1);
      assert.equal(server.seen.length, i + 1, `attempt ${i + 2} comes not before ${ms} ms`);
      await clock.advance(1);
    }
    await untilTrue(() => client.config.clientKeyPem !== oldKey);
    assert.equal(only(events, "error").length, 6);
    await untilTrue(() => clock.sleeping === 1);
    assert.equal(metrics.failures, 6);
    assert.equal(metrics.agesMs.length, 1);
    assert.equal(Math.trunc((metrics.agesMs[0] ?? 0) / HOUR_MS), 19);
    await end();
  });

  test("a denial does not end it: the old certificate is still valid", async () => {
    await using server = await CsrServer.start(ca);
    const { clock, events, store, client, end } = await rotating(server);
    const oldKey = client.config.clientKeyPem;
    server.onCreate = (csr) => server.setCondition(csr.metadata.name ?? "", DENIED);
    await clock.advance(0.81 * 24 * HOUR_MS);
    await untilTrue(() => only(events, "error").length === 1);
    assert.match(only(events, "error")[0]?.message ?? "", /was denied: Policy/);
    assert.equal(client.config.clientKeyPem, oldKey);
    assert.notEqual((await store.pendingKey()).keyPem, oldKey);
    await untilTrue(() => clock.sleeping === 1);
    await end();
  });
});
