import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { describe, test } from "vitest";
import { createCsrApprovingController } from "../../../../src/cluster/controllers/certificates/approving.js";
import { createCsrSigningController } from "../../../../src/cluster/controllers/certificates/signing.js";
import type { Controller } from "../../../../src/cluster/controllers/controller.js";
import type { CertificateSigningRequest } from "../../../../src/staging/apimachinery/api/certificates.js";
import { base64Text } from "../../../../src/staging/apimachinery/api/certificates.js";
import { type Certificate, certificateProblem, parseCertificatePem } from "../../../../src/staging/pki/certificate.js";
import { settle } from "../../../support/fake-clock.js";
import { type Cluster, fakeCluster } from "./fakes.js";

interface Facts {
  readonly subject: string;
  readonly issuer: string;
  readonly version: string;
  readonly extensions: readonly { readonly name: string; readonly value: string; readonly critical: boolean }[];
  readonly notAfterMinusRequestSeconds: number;
  readonly lifetimeSeconds: number;
}

interface Item {
  readonly name: string;
  readonly csr?: string;
  readonly facts?: Facts;
  readonly statusCertificateEncoding?: string;
  readonly response?: { readonly status: number; readonly body?: CertificateSigningRequest };
}

const path = "../shared/recordings/apiserver-v1.25/csr.json";
const items: readonly Item[] = existsSync(path) ? JSON.parse(readFileSync(path, "utf8")).items : [];

/** The requests as the recorded server stored them at creation. */
const created = new Map<string, CertificateSigningRequest>();
for (const { response } of items) {
  const name = response?.body?.metadata?.name;
  if (response?.status === 201 && name !== undefined && response.body !== undefined) created.set(name, response.body);
}

/** The requests that the recorded server approved or left pending, with its messages. */
const outcomes = new Map<string, string>();
for (const { name, response } of items) {
  const body = response?.body;
  if (response?.status !== 200 || body?.metadata?.name === undefined) continue;
  if (!/s later|^GET it: issued|GET the renewal|GET it as/.test(name)) continue;
  outcomes.set(body.metadata.name, body.status?.conditions?.[0]?.message ?? "");
}

async function runOn(cluster: Cluster, controller: Controller, csr: CertificateSigningRequest) {
  cluster.client.put(csr);
  const stop = new AbortController();
  const done = controller.run(stop.signal);
  await settle();
  stop.abort();
  await done;
  return cluster.client.read(csr.metadata.name ?? "");
}

const approved = (csr: CertificateSigningRequest): CertificateSigningRequest => ({
  ...csr,
  status: { conditions: [{ type: "Approved", status: "True", reason: "RecorderApprove", message: "by hand" }] },
});

describe.skipIf(items.length === 0)(
  "what the recorded control plane did (skipped without ../shared/recordings)",
  () => {
    test("the recording covers both controllers", () => {
      assert.ok(outcomes.size >= 14, `${outcomes.size} requests with a known approval`);
      assert.ok([...outcomes.values()].filter((message) => message === "").length >= 9, "some stay pending");
      assert.equal(items.filter((item) => item.facts !== undefined).length, 15);
    });

    for (const [name, message] of outcomes) {
      test(`csrapproving: ${name} -> ${message || "pending"}`, async () => {
        const csr = created.get(name);
        assert.ok(csr);
        const cluster = await fakeCluster();
        cluster.authorizer.may.add("system:bootstrap:abcdef: nodeclient");
        cluster.authorizer.may.add("kubernetes-admin: nodeclient").add("kubernetes-admin: selfnodeclient");
        cluster.authorizer.may.add("system:node:rec-n: selfnodeclient");
        const after = await runOn(cluster, createCsrApprovingController(cluster.deps), csr);
        assert.equal(after.status?.conditions?.[0]?.message ?? "", message);
      });
    }

    for (const item of items.filter(({ name }) => name.startsWith("what the signer"))) {
      test(`csrsigning: ${item.name}`, async () => {
        const recorded = item.response?.body;
        const csr = created.get(recorded?.metadata.name ?? "");
        assert.ok(recorded && csr);
        const cluster = await fakeCluster();
        const after = await runOn(cluster, createCsrSigningController(cluster.deps), approved(csr));
        const words = (one: CertificateSigningRequest) =>
          one.status?.conditions
            ?.slice(1)
            .map(({ type, status, reason, message }) => ({ type, status, reason, message }));
        assert.deepEqual(words(after), words(recorded));
        assert.equal(after.status?.certificate !== undefined, recorded.status?.certificate !== undefined);
      });
    }

    for (const { name, csr: csrName, facts, statusCertificateEncoding } of items) {
      if (facts === undefined || csrName === undefined) continue;
      test(`csrsigning: ${name}`, async () => {
        const csr = created.get(csrName);
        assert.ok(csr);
        // The recorded CA ended a year after its cluster began. Ours ends at the same time, because it shortened a
        // certificate.
        const isCut = facts.lifetimeSeconds > 86_400;
        const cluster = await fakeCluster(isCut ? { caValidityMs: facts.notAfterMinusRequestSeconds * 1000 } : {});
        const after = await runOn(cluster, createCsrSigningController(cluster.deps), approved(csr));
        const pem = base64Text(after.status?.certificate ?? "");
        const certificate = parseCertificatePem(pem);
        assert.equal(rfc2253(certificate.subject), facts.subject);
        assert.equal(rfc2253(certificate.issuer), facts.issuer);
        assert.equal(facts.version, "3 (0x2)");
        assert.deepEqual(extensionsAsOpensslSaysThem(certificate), facts.extensions);
        assert.equal((certificate.notBeforeMs - cluster.clock.now()) / 1000, -300);
        const endsAfter = (certificate.notAfterMs - cluster.clock.now()) / 1000;
        // The recorder's clock timed the requests: up to two seconds pass between request and signature.
        assert.ok(Math.abs(endsAfter - facts.notAfterMinusRequestSeconds) <= 2, `ends after ${endsAfter} s`);
        assert.equal(statusCertificateEncoding, "base64 of PEM, ends with a newline");
        assert.ok(pem.endsWith("-----END CERTIFICATE-----\n"));
        const issuer = parseCertificatePem(cluster.deps.ca.certificatePem);
        assert.equal(certificateProblem(certificate, { issuer, nowMs: cluster.clock.now() }), undefined);
      });
    }
  },
);

function rfc2253(name: Certificate["subject"]): string {
  return [`CN=${name.commonName}`, ...name.organization.map((one) => `O=${one}`)].join(",");
}

const OPENSSL_WORDS: Readonly<Record<string, string>> = {
  "digital signature": "Digital Signature",
  "key encipherment": "Key Encipherment",
  "client auth": "TLS Web Client Authentication",
  "server auth": "TLS Web Server Authentication",
};

function extensionsAsOpensslSaysThem(certificate: Certificate): Facts["extensions"] {
  const words = (usages: readonly string[]) => usages.map((one) => OPENSSL_WORDS[one] ?? one).join(", ");
  const { dns, ip } = certificate.sans;
  const said: Readonly<Record<string, readonly [string, string]>> = {
    "2.5.29.15": ["Key Usage", words(certificate.keyUsages)],
    "2.5.29.37": ["Extended Key Usage", words(certificate.extendedKeyUsages)],
    "2.5.29.19": ["Basic Constraints", certificate.isCa ? "CA:TRUE" : "CA:FALSE"],
    "2.5.29.35": ["Authority Key Identifier", `<${certificate.authorityKeyId?.length} bytes>`],
    "2.5.29.17": [
      "Subject Alternative Name",
      [...dns.map((one) => `DNS:${one}`), ...ip.map((one) => `IP Address:${one}`)].join(", "),
    ],
  };
  return certificate.extensions.map(({ oid, critical }) => {
    const [name = oid, value = "?"] = said[oid] ?? [];
    return { name: `X509v3 ${name}`, value, critical };
  });
}
