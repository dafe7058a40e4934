import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, test } from "vitest";
import type { CertificateSigningRequest } from "../../../src/staging/apimachinery/api/certificates.js";
import { base64Text } from "../../../src/staging/apimachinery/api/certificates.js";
import { prepareRequest, type RequestPlan, submitRequest } from "../../../src/staging/csr/create.js";
import { type Decision, decide } from "../../../src/staging/csr/decide.js";
import { fetchCertificate } from "../../../src/staging/csr/fetch.js";
import { requestFiles } from "../../../src/staging/csr/files.js";
import { writeClientKubeconfig } from "../../../src/staging/csr/kubeconfig.js";
import { createAuthority } from "../../../src/staging/pki/authority.js";
import { parseCertificateRequestPem, requestSignatureProblem } from "../../../src/staging/pki/csr.js";
import { issueCertificate } from "../../../src/staging/pki/issue.js";
import {
  generatePrivateKey,
  keyMatchesCertificate,
  privateKeyPem,
  publicKeyDer,
} from "../../../src/staging/pki/keys.js";
import { NO_SANS } from "../../../src/staging/pki/sans.js";
import { fakeDeps } from "./fake-cluster.js";

const root = mkdtempSync(join(tmpdir(), "kubelab-csr-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let count = 0;
const freshFiles = () => requestFiles(join(root, `${count++}`), "kubelet");
const forever = new AbortController().signal;

const plan: RequestPlan = {
  name: "csr-1",
  subject: { commonName: "system:node:n1", organization: ["system:nodes"] },
  sans: NO_SANS,
  signerName: "kubernetes.io/kube-apiserver-client-kubelet",
};

describe("preparing a request", () => {
  test("key (0600), PKCS#10 and object belong together", async () => {
    const files = freshFiles();
    const { object, key } = await prepareRequest(fakeDeps(), plan, files);
    assert.equal(statSync(files.key).mode & 0o777, 0o600);
    assert.match(readFileSync(files.key, "utf8"), /^-----BEGIN EC PRIVATE KEY-----/);
    const pem = readFileSync(files.request, "utf8");
    assert.equal(base64Text(object.spec.request), pem);
    const request = parseCertificateRequestPem(pem);
    assert.equal(requestSignatureProblem(request), undefined);
    assert.ok(request.spkiDer.equals(publicKeyDer(key)));
    assert.deepEqual(object.spec.usages, ["digital signature", "client auth"]);
    assert.deepEqual(object.metadata, { name: "csr-1" });
  });

  test("a dry run writes nothing", async () => {
    const files = freshFiles();
    await prepareRequest(fakeDeps(), plan, undefined);
    assert.ok(!existsSync(files.key));
  });

  test("the key of an earlier run is reused", async () => {
    const files = freshFiles();
    await prepareRequest(fakeDeps(), plan, files);
    const before = readFileSync(files.key, "utf8");
    await prepareRequest(fakeDeps(), plan, files);
    assert.equal(readFileSync(files.key, "utf8"), before);
  });

  for (const [what, content, keyType, message] of [
    ["a key of another kind", "ec", "rsa", /contains a key of type ec, but --key-type is rsa/],
    ["half a key", "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE", undefined, /does not contain a readable private key/],
  ] as const) {
    test(`${what} is not overwritten`, async () => {
      const files = freshFiles();
      await prepareRequest(fakeDeps(), plan, files);
      if (content !== "ec") writeFileSync(files.key, content);
      const before = readFileSync(files.key, "utf8");
      const asked = keyType === undefined ? plan : { ...plan, keyType };
      await assert.rejects(prepareRequest(fakeDeps(), asked, files), { code: "BAD_FILE", message });
      assert.equal(readFileSync(files.key, "utf8"), before);
    });
  }

  for (const [signer, keyType, usages] of [
    ["kube-apiserver-client-kubelet", "ec", "digital signature,client auth"],
    ["kube-apiserver-client-kubelet", "rsa", "digital signature,key encipherment,client auth"],
    ["kubelet-serving", "ec", "digital signature,server auth"],
    ["kubelet-serving", "rsa", "digital signature,key encipherment,server auth"],
  ] as const) {
    test(`usages for ${signer} with an ${keyType} key: ${usages}`, async () => {
      const asked = { ...plan, keyType, signerName: `kubernetes.io/${signer}`, sans: { ...NO_SANS, dns: ["n1"] } };
      const { object } = await prepareRequest(fakeDeps(), asked, undefined);
      assert.equal(object.spec.usages?.join(","), usages);
    });
  }

  test("the usages for an unknown signer must be named", async () => {
    const asked = { ...plan, signerName: "example.com/mine" };
    await assert.rejects(prepareRequest(fakeDeps(), asked, undefined), { code: "USAGE" });
  });

  test("the signer's verdict is reported before anything is sent", async () => {
    const deps = fakeDeps();
    await prepareRequest(deps, { ...plan, sans: { ...NO_SANS, dns: ["n1"] } }, undefined);
    const [decision] = deps.events.filter((event) => event.kind === "decision");
    assert.match(decision?.what ?? "", /would refuse this/);
    assert.match(decision?.why ?? "", /6 of 7 rules hold: DNS subjectAltNames are not allowed \(n1\)/);
  });

  test("no private key appears in the trace", async () => {
    const deps = fakeDeps();
    await prepareRequest(deps, plan, freshFiles());
    assert.ok(deps.events.length > 5);
    assert.doesNotMatch(JSON.stringify(deps.events), /PRIVATE KEY/);
  });
});

describe("sending it", () => {
  test("the same name with the same key continues with the existing CSR", async () => {
    const deps = fakeDeps();
    const prepared = await prepareRequest(deps, plan, undefined);
    const first = await submitRequest(deps, prepared, forever);
    const second = await submitRequest(deps, prepared, forever);
    assert.deepEqual(second, first);
  });

  test("the same name with another key is refused", async () => {
    const deps = fakeDeps();
    await submitRequest(deps, await prepareRequest(deps, plan, undefined), forever);
    const other = await prepareRequest(deps, plan, undefined);
    await assert.rejects(submitRequest(deps, other, forever), {
      code: "REFUSED",
      message: /exists already, for another key/,
    });
  });

  test("without a name the server generates one", async () => {
    const { name: _name, ...nameless } = plan;
    const deps = fakeDeps();
    const sent = await submitRequest(deps, await prepareRequest(deps, nameless, undefined), forever);
    assert.equal(sent.metadata.name, "csr-x");
  });
});

const APPROVED: Decision = { type: "Approved", reason: "R", message: "m" };
const DENIED: Decision = { type: "Denied", reason: "R", message: "m" };

describe("deciding", () => {
  async function withRequest(conditions?: NonNullable<CertificateSigningRequest["status"]>["conditions"]) {
    const deps = fakeDeps();
    const { object } = await prepareRequest(deps, plan, undefined);
    deps.client.put({ ...object, status: conditions === undefined ? {} : { conditions } });
    deps.client.sent.length = 0;
    return deps;
  }

  for (const decision of [APPROVED, DENIED]) {
    test(`${decision.type} goes through the approval subresource`, async () => {
      const deps = await withRequest();
      const { isNew } = await decide(deps, "csr-1", decision, forever);
      assert.ok(isNew);
      assert.deepEqual(deps.client.read("csr-1")?.status?.conditions, [{ ...decision, status: "True" }]);
      assert.deepEqual(deps.client.sent, [
        "GET /apis/certificates.k8s.io/v1/certificatesigningrequests/csr-1",
        "PUT /apis/certificates.k8s.io/v1/certificatesigningrequests/csr-1/approval",
      ]);
    });
  }

  test("approving twice has the effect of once", async () => {
    const deps = await withRequest([{ ...APPROVED, status: "True" }]);
    assert.equal((await decide(deps, "csr-1", APPROVED, forever)).isNew, false);
    assert.equal(deps.client.sent.length, 1);
  });

  test("a conflict is retried", async () => {
    const deps = await withRequest();
    deps.client.conflicts = 2;
    assert.ok((await decide(deps, "csr-1", APPROVED, forever)).isNew);
    assert.equal(deps.client.sent.length, 6);
  });

  test("at most ten conflicts are retried", async () => {
    const deps = await withRequest();
    deps.client.conflicts = 100;
    await assert.rejects(decide(deps, "csr-1", APPROVED, forever), { code: "REFUSED" });
    assert.equal(deps.client.sent.length, 20);
  });

  for (const [before, now] of [
    [DENIED, APPROVED],
    [APPROVED, DENIED],
  ] as const) {
    test(`${before.type} is final`, async () => {
      const deps = await withRequest([{ ...before, status: "True" }]);
      const message = `CSR csr-1 was ${before.type.toLowerCase()} already (R: m)`;
      await assert.rejects(decide(deps, "csr-1", now, forever), { code: "REFUSED", message });
    });
  }

  test("a CSR that does not exist", async () => {
    await assert.rejects(decide(fakeDeps(), "nope", APPROVED, forever), {
      code: "REFUSED",
      message: "there is no CSR nope",
    });
  });
});

describe("fetching the certificate", () => {
  async function requested() {
    const deps = fakeDeps();
    const files = freshFiles();
    const prepared = await prepareRequest(deps, plan, files);
    const csr = await submitRequest(deps, prepared, forever);
    const ca = await createAuthority(deps, { commonName: "kubernetes" });
    const issue = (spkiDer: Buffer) =>
      issueCertificate(
        ca,
        {
          subject: plan.subject,
          spkiDer,
          usages: ["client auth"],
          notBeforeMs: deps.clock.now(),
          notAfterMs: deps.clock.now() + 1e6,
        },
        deps.random,
      );
    const answer = (pem: string) =>
      deps.client.put({
        ...csr,
        status: { conditions: [{ ...APPROVED, status: "True" }], certificate: Buffer.from(pem).toString("base64") },
      });
    return { deps, files, csr, prepared, issue, answer };
  }

  test("waits, and writes the certificate that matches the key", async () => {
    const { deps, files, csr, prepared, issue, answer } = await requested();
    const waiting = fetchCertificate(deps, csr, files, { timeoutMs: 60_000 }, forever);
    await deps.client.watching;
    answer(issue(publicKeyDer(prepared.key)));
    const pem = await waiting;
    assert.equal(readFileSync(files.certificate, "utf8"), pem);
    assert.ok(keyMatchesCertificate(readFileSync(files.key, "utf8"), pem));
    assert.equal(deps.clock.sleeping, 0);
  });

  test("a certificate for another key is not written", async () => {
    const { deps, files, csr, issue, answer } = await requested();
    const waiting = fetchCertificate(deps, csr, files, { timeoutMs: 60_000 }, forever);
    await deps.client.watching;
    answer(issue(publicKeyDer(await generatePrivateKey("ec"))));
    await assert.rejects(waiting, { code: "BAD_FILE", message: /does not belong to the issued certificate/ });
    assert.deepEqual(readdirSync(join(files.key, "..")).sort(), ["kubelet.csr", "kubelet.key"]);
  });

  test("another key in the folder is detected before the wait", async () => {
    const { deps, files, csr } = await requested();
    writeFileSync(files.key, privateKeyPem(await generatePrivateKey("ec")));
    await assert.rejects(fetchCertificate(deps, csr, files, { timeoutMs: 60_000 }, forever), {
      code: "BAD_FILE",
      message: /is not the one that CSR csr-1 was made with/,
    });
  });

  test("denied: reports the reason of the denial, exit 4", async () => {
    const { deps, files, csr } = await requested();
    deps.client.put({
      ...csr,
      status: { conditions: [{ type: "Denied", status: "True", reason: "No", message: "not you" }] },
    });
    const waiting = fetchCertificate(deps, deps.client.read("csr-1") ?? csr, files, { timeoutMs: 60_000 }, forever);
    await assert.rejects(waiting, { code: "CSR_DENIED", exitCode: 4, message: /No: not you/ });
  });

  test("not approved: a rerun continues, exit 1", async () => {
    const { deps, files, csr } = await requested();
    const waiting = fetchCertificate(deps, csr, files, { timeoutMs: 60_000 }, forever);
    const ended = assert.rejects(waiting, { code: "TIMED_OUT", exitCode: 1 });
    await deps.client.watching;
    await deps.clock.advance(60_000);
    await ended;
    assert.equal(deps.clock.sleeping, 0);
  });
});

describe("a kubeconfig beside the certificate", () => {
  const cluster = { server: "https://127.0.0.1:6443", caPem: "CA" };

  test("names key and certificate by file, for their owner alone", async () => {
    const files = freshFiles();
    const deps = fakeDeps();
    const { object } = await prepareRequest(deps, plan, files);
    assert.equal(
      await writeClientKubeconfig(deps, object as CertificateSigningRequest, files, cluster),
      files.kubeconfig,
    );
    const text = readFileSync(files.kubeconfig, "utf8");
    assert.match(text, /client-certificate: kubelet\.pem\n {4}client-key: kubelet\.key\n/);
    assert.match(text, /server: https:\/\/127\.0\.0\.1:6443/);
    assert.equal(statSync(files.kubeconfig).mode & 0o777, 0o600);
  });

  for (const [what, signerName, hasKey] of [
    ["a server's certificate", "kubernetes.io/kubelet-serving", true],
    ["a key that is elsewhere", plan.signerName, false],
  ] as const) {
    test(`${what} gets none`, async () => {
      const files = freshFiles();
      const deps = fakeDeps();
      const { object } = await prepareRequest(deps, { ...plan, signerName }, files);
      if (!hasKey) rmSync(files.key);
      assert.equal(await writeClientKubeconfig(deps, object as CertificateSigningRequest, files, cluster), undefined);
      assert.ok(!existsSync(files.kubeconfig));
    });
  }
});
