import assert from "node:assert/strict";
import { mkdtemp, readFile, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import { beforeAll, describe, test } from "vitest";
import { openCertificateStore } from "../../../src/kubelet/certificate/certificate-store.js";
import { kubeletServerCertificate } from "../../../src/kubelet/certificate/kubelet.js";
import { selfSignedServingPair } from "../../../src/kubelet/certificate/serving.js";
import { type KeyPair, runCertificateManager } from "../../../src/staging/client-go/certificate/manager.js";
import { createClient } from "../../../src/staging/client-go/rest/create-client.js";
import { parseCertificatePem } from "../../../src/staging/pki/certificate.js";
import { parseCertificateRequestPem } from "../../../src/staging/pki/csr.js";
import type { CertificateAuthority } from "../../../src/staging/pki/issue.js";
import { decodePem } from "../../../src/staging/pki/pem.js";
import { evaluateSigner, findSigner } from "../../../src/staging/pki/signers.js";
import { SystemClock } from "../../../src/util/clock.js";
import { SystemRandom } from "../../../src/util/random.js";
import { FakeClock, FakeRandom, untilTrue } from "../../support/fake-clock.js";
import { makeAuthority } from "../../support/https-server.js";
import { only, recordingTrace } from "../../support/trace.js";
import { CsrServer, DENIED } from "./csr-server.js";

const HOUR_MS = 3_600_000;

describe("serving certificate, self-signed", () => {
  const folder = () => mkdtemp(join(tmpdir(), "kubelab-serving-"));
  const deps = (clock = new FakeClock(new SystemClock().now())) => {
    const { trace, events } = recordingTrace(clock);
    return { clock, trace, events, random: new SystemRandom() };
  };

  test("is HOST@TIME of HOST-ca@TIME, for a year; only the owner can read the key", async () => {
    const one = deps();
    const certDirectory = join(await folder(), "pki");
    const pair = await selfSignedServingPair(one, { certDirectory, host: "n1", addresses: ["127.0.0.1", "localhost"] });
    const blocks = decodePem(pair.certificatePem);
    assert.equal(blocks.length, 2);
    const seconds = Math.floor(one.clock.now() / 1000);
    const certificate = parseCertificatePem(pair.certificatePem);
    assert.equal(certificate.subject.commonName, `n1@${seconds}`);
    assert.equal(certificate.issuer.commonName, `n1-ca@${seconds}`);
    assert.deepEqual([certificate.sans.dns, certificate.sans.ip], [["n1", "localhost"], ["127.0.0.1"]]);
    assert.deepEqual(certificate.extendedKeyUsages, ["server auth"]);
    assert.equal(certificate.notAfterMs - certificate.notBeforeMs, 365 * 24 * HOUR_MS);
    assert.equal(certificate.notBeforeMs, seconds * 1000 - HOUR_MS);
    assert.equal((await stat(join(certDirectory, "kubelet.key"))).mode & 0o777, 0o600);
    assert.equal(await readFile(join(certDirectory, "kubelet.crt"), "utf8"), pair.certificatePem);
    assert.equal(only(one.events, "step")[0]?.title, "Sign a serving certificate for this kubelet");
  });

  test("an IP address as host is an address in the certificate, and TLS verifies it against the CA", async () => {
    const pair = await selfSignedServingPair(deps(), { certDirectory: await folder(), host: "127.0.0.1" });
    const server = createServer({ cert: pair.certificatePem, key: pair.keyPem }).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const ca = `-----BEGIN CERTIFICATE-----${pair.certificatePem.split("-----BEGIN CERTIFICATE-----")[2]}`;
    const { port } = server.address() as AddressInfo;
    const socket = connect({ port, host: "127.0.0.1", ca });
    await new Promise((resolve, reject) => socket.once("secureConnect", resolve).once("error", reject));
    assert.equal(socket.authorized, true);
    socket.destroy();
    server.close();
  });

  test("is made once; again when it has expired, is damaged or has another key", async () => {
    const one = deps();
    const certDirectory = await folder();
    const options = { certDirectory, host: "n1" };
    const first = await selfSignedServingPair(one, options);
    assert.deepEqual(await selfSignedServingPair(one, options), first);
    await one.clock.advance(366 * 24 * HOUR_MS);
    const second = await selfSignedServingPair(one, options);
    assert.notEqual(second.certificatePem, first.certificatePem);
    await writeFile(join(certDirectory, "kubelet.key"), first.keyPem);
    const third = await selfSignedServingPair(one, options);
    assert.notEqual(third.certificatePem, second.certificatePem);
    await writeFile(join(certDirectory, "kubelet.crt"), "rubbish");
    assert.match((await selfSignedServingPair(one, options)).certificatePem, /BEGIN CERTIFICATE/);
  });

  test("is made again when the node has another name or address", async () => {
    const one = deps();
    const certDirectory = await folder();
    const make = (host: string, addresses: readonly string[]) =>
      selfSignedServingPair(one, { certDirectory, host, addresses });
    const first = await make("n1", ["127.0.0.1", "10.0.0.1"]);
    assert.deepEqual(await make("n1", ["10.0.0.1"]), first, "it has that address");
    const moved = await make("n1", ["10.0.0.2"]);
    assert.deepEqual(parseCertificatePem(moved.certificatePem).sans.ip, ["10.0.0.2"]);
    const renamed = await make("n2", ["10.0.0.2"]);
    assert.deepEqual(parseCertificatePem(renamed.certificatePem).sans.dns, ["n2"]);
  });

  test("reports a folder that cannot be created", async () => {
    const file = join(await folder(), "file");
    await writeFile(file, "");
    const making = selfSignedServingPair(deps(), { certDirectory: join(file, "pki"), host: "n1" });
    await assert.rejects(making, { code: "BAD_FILE" });
  });
});

describe("serving certificate, from the cluster", () => {
  let ca: CertificateAuthority;
  beforeAll(async () => {
    ca = await makeAuthority();
  });

  async function rotating(server: CsrServer, addresses: readonly string[], folder?: string) {
    const clock = new FakeClock(new SystemClock().now());
    const { trace, events } = recordingTrace(clock);
    const store = await openCertificateStore(folder ?? (await mkdtemp(join(tmpdir(), "kubelab-serving-"))));
    const config = { server: server.url, caPem: ca.certificatePem };
    const client = createClient(config, { trace, clock, random: new FakeRandom(), actor: "kubelet" });
    const shown: KeyPair[] = [];
    const stop = new AbortController();
    const deps = { client, clock, random: new FakeRandom(0.5), trace };
    const onCertificate = (pair: KeyPair) => void shown.push(pair);
    const options = { nodeName: "n1", kubeVersion: "1.25", addresses };
    const done = runCertificateManager(deps, kubeletServerCertificate({ store, onCertificate }, options), stop.signal);
    done.catch(() => {});
    const end = async () => {
      stop.abort();
      await assert.rejects(done, { name: "AbortError" });
      await client.close();
      assert.equal(clock.sleeping, 0);
    };
    return { clock, events, store, shown, end };
  }

  test("is requested with the node's addresses, as the signer requires, and again at 80 % of its lifetime", async () => {
    await using server = await CsrServer.start(ca);
    const one = await rotating(server, ["n1", "127.0.0.1", "n1"]);
    server.onCreate = (csr) => server.issue(csr.metadata.name ?? "", one.clock.now(), 24);
    await untilTrue(() => one.shown.length === 1 && one.clock.sleeping === 1);
    type Asked = {
      readonly spec: { readonly request: string; readonly signerName: string; readonly usages: string[] };
    };
    const { spec } = (server.seen[0]?.body ?? {}) as Asked;
    assert.equal(spec.signerName, "kubernetes.io/kubelet-serving");
    const request = parseCertificateRequestPem(Buffer.from(spec.request, "base64").toString());
    assert.deepEqual([request.sans.dns, request.sans.ip], [["n1"], ["127.0.0.1"]]);
    const signer = findSigner(spec.signerName);
    assert.ok(signer);
    const outcomes = evaluateSigner(signer, { request, usages: spec.usages });
    assert.deepEqual(
      outcomes.filter(({ ok }) => !ok),
      [],
    );
    assert.deepEqual(one.shown[0], await one.store.current());
    assert.equal((await stat(one.store.keyPath)).mode & 0o777, 0o600);
    await one.clock.advance(0.81 * 24 * HOUR_MS);
    await untilTrue(() => one.shown.length === 2 && one.clock.sleeping === 1);
    assert.notEqual(one.shown[1]?.keyPem, one.shown[0]?.keyPem);
    await one.end();
  });

  test("what a run before has left is shown at once; it is asked again only for other addresses", async () => {
    await using server = await CsrServer.start(ca);
    const first = await rotating(server, ["127.0.0.1"]);
    server.onCreate = (csr) => server.issue(csr.metadata.name ?? "", first.clock.now(), 24);
    await untilTrue(() => first.shown.length === 1 && first.clock.sleeping === 1);
    await first.end();
    const posts = () => server.lines.filter((line) => line.startsWith("POST")).length;
    const same = await rotating(server, ["127.0.0.1"], first.store.folder);
    await untilTrue(() => same.clock.sleeping === 1);
    assert.deepEqual([same.shown.length, posts()], [1, 1]);
    await same.end();
    const more = await rotating(server, ["127.0.0.1", "10.0.0.1"], first.store.folder);
    await untilTrue(() => more.shown.length === 2 && more.clock.sleeping === 1);
    assert.equal(posts(), 2);
    await more.end();
  });

  test("without an approval it keeps waiting, with a new request after a while", async () => {
    await using server = await CsrServer.start(ca);
    const one = await rotating(server, ["127.0.0.1"]);
    server.onCreate = (csr) => server.setCondition(csr.metadata.name ?? "", DENIED);
    await untilTrue(() => only(one.events, "error").length === 1 && one.clock.sleeping === 1);
    assert.match(only(one.events, "error")[0]?.message ?? "", /^serving certificate: CSR .* was denied: Policy/);
    assert.equal(one.shown.length, 0);
    server.onCreate = (csr) => server.issue(csr.metadata.name ?? "", one.clock.now(), 24);
    await one.clock.advance(2_200);
    await untilTrue(() => one.shown.length === 1 && one.clock.sleeping === 1);
    await one.end();
  });
});
