import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { CertificateSigningRequest } from "../../../src/staging/apimachinery/api/certificates.js";
import { type Inspection, inspect } from "../../../src/staging/csr/inspect.js";
import { inspectionText } from "../../../src/staging/csr/report.js";
import { sourceFromBytes, sourceFromObject } from "../../../src/staging/csr/source.js";
import { createAuthority, createClientCertificate } from "../../../src/staging/pki/authority.js";
import { parseCertificatePem } from "../../../src/staging/pki/certificate.js";
import { createCertificateRequest } from "../../../src/staging/pki/csr.js";
import { generatePrivateKey, privateKeyPem } from "../../../src/staging/pki/keys.js";
import { decodePem, encodePem } from "../../../src/staging/pki/pem.js";
import { NO_SANS } from "../../../src/staging/pki/sans.js";
import { FakeClock, FakeRandom, START_MS } from "../../support/fake-clock.js";

const deps = { clock: new FakeClock(), random: new FakeRandom() };
const key = await generatePrivateKey("ec");
const subject = { commonName: "system:node:n1", organization: ["system:nodes"] };
const requestPem = createCertificateRequest(key, { subject });
const ca = await createAuthority(deps, { commonName: "kubernetes" });
const { certificatePem } = await createClientCertificate(ca, deps, {
  commonName: "jane",
  organization: ["devs"],
  validityMs: 3_600_000,
});
const derOf = (pem: string) => decodePem(pem)[0]?.der ?? Buffer.alloc(0);

const object: CertificateSigningRequest = {
  apiVersion: "certificates.k8s.io/v1",
  kind: "CertificateSigningRequest",
  metadata: { name: "csr-1" },
  spec: {
    request: Buffer.from(requestPem).toString("base64"),
    signerName: "kubernetes.io/kubelet-serving",
    usages: ["digital signature", "server auth"],
    username: "system:node:n1",
    groups: ["system:nodes"],
  },
  status: { conditions: [{ type: "Approved", status: "True", reason: "ByHand", message: "fine" }] },
};

describe("what can be inspected", () => {
  for (const [what, bytes, kind] of [
    ["a PEM request", Buffer.from(requestPem), "request"],
    ["a PEM certificate", Buffer.from(certificatePem), "certificate"],
    ["a PEM file with the key first", Buffer.from(privateKeyPem(key) + certificatePem), "certificate"],
    ["a DER request", derOf(requestPem), "request"],
    ["a DER certificate", derOf(certificatePem), "certificate"],
    ["base64 of PEM, from an object", Buffer.from(Buffer.from(requestPem).toString("base64")), "request"],
    ["an object as JSON, which is YAML", Buffer.from(JSON.stringify(object)), "request"],
  ] as const) {
    test(what, async () => {
      const source = await sourceFromBytes(bytes, "file");
      assert.equal(source.kind, kind);
      assert.ok([derOf(requestPem), derOf(certificatePem)].some((der) => der.equals(source.der)));
    });
  }

  for (const [what, text, message] of [
    ["a private key alone", privateKeyPem(key), /contains a private key, which is not shown/],
    ["nothing", "", /contains neither a certificate request nor a certificate/],
    ["something else", "hello: world", /contains neither/],
    ["another object", "kind: Pod\nspec: {}", /contains neither/],
    [
      "an object without a request",
      "kind: CertificateSigningRequest\nspec: {request: aGVsbG8=, signerName: a.b/c}",
      /not the base64 of a PEM block/,
    ],
  ] as const) {
    test(`${what} is not`, async () => {
      await assert.rejects(sourceFromBytes(Buffer.from(text), "file"), { code: "BAD_FILE", message });
    });
  }
});

describe("verdicts", () => {
  const accepted = (inspection: Inspection) =>
    inspection.verdicts.filter((one) => one.accepts).map((one) => one.signerName.split("/")[1]);
  const requestOf = (org: string[], dns: string[]) =>
    Buffer.from(
      createCertificateRequest(key, { subject: { ...subject, organization: org }, sans: { ...NO_SANS, dns } }),
    );

  for (const [org, dns, usages, want] of [
    [["system:nodes"], [], undefined, ["kube-apiserver-client-kubelet", "kube-apiserver-client"]],
    [["system:nodes"], ["n1"], undefined, ["kubelet-serving", "kube-apiserver-client"]],
    [["devs"], [], undefined, ["kube-apiserver-client"]],
    [["system:masters"], [], undefined, []],
    [["system:nodes"], [], ["server auth"], []],
  ] as const) {
    test(`O=${org} DNS=[${dns}] usages ${usages ?? "assumed"}: accepted by [${want}]`, async () => {
      const source = await sourceFromBytes(requestOf([...org], [...dns]), "file");
      const options = { nowMs: START_MS, ...(usages === undefined ? {} : { usages }) };
      assert.deepEqual(accepted(inspect(source, options)), want);
    });
  }

  test("an object is checked with its own usages, and its signer is marked", () => {
    const inspection = inspect(sourceFromObject(object), { nowMs: START_MS });
    const asked = inspection.verdicts.filter((one) => one.isAsked);
    assert.deepEqual(
      asked.map((one) => [one.signerName, one.usagesFrom, one.accepts]),
      [["kubernetes.io/kubelet-serving", "object", false]],
    );
    const failed = asked.flatMap((one) => one.outcomes).filter((one) => !one.ok);
    assert.deepEqual(
      failed.map((one) => one.message),
      ["DNS or IP subjectAltName is required"],
    );
  });

  test("no signer accepts a broken signature", async () => {
    const der = Buffer.from(derOf(requestPem));
    der[der.length - 3] = (der.at(-3) ?? 0) ^ 1;
    const inspection = inspect({ kind: "request", title: "x", der }, { nowMs: START_MS });
    assert.deepEqual(accepted(inspection), []);
    assert.match(new Map(inspection.facts).get("signature") ?? "", /NOT good/);
  });
});

describe("a certificate's facts", () => {
  const fact = (nowMs: number, name: string, withCa = true) => {
    const options = { nowMs, ...(withCa ? { ca: parseCertificatePem(ca.certificatePem) } : {}) };
    const source = { kind: "certificate", title: "x", der: derOf(certificatePem) } as const;
    return new Map(inspect(source, options).facts).get(name);
  };
  test("show its age", () => {
    assert.match(fact(START_MS, "valid") ?? "", /, 7 % of its life is over$/);
    assert.match(fact(START_MS + 3_602_000, "valid") ?? "", /, EXPIRED$/);
    assert.match(fact(START_MS - 301_000, "valid") ?? "", /, not valid yet$/);
  });
  test("show whether the CA signed it", () => {
    assert.equal(fact(START_MS, "verified"), "signed by CN=kubernetes");
    assert.match(fact(START_MS + 3_602_000, "verified") ?? "", /has expired or is not yet valid/);
    assert.equal(fact(START_MS, "verified", false), undefined);
  });
});

describe("the report", () => {
  const report = (der: Buffer, kind: "request" | "certificate" = "request", width = 80) =>
    inspectionText(inspect({ kind, title: "x", der }, { nowMs: START_MS }), width);

  test("fits into 80 columns and shows every value with its offset", () => {
    for (const [pem, kind] of [
      [requestPem, "request"],
      [certificatePem, "certificate"],
      [ca.certificatePem, "certificate"],
    ] as const) {
      const text = report(derOf(pem), kind);
      for (const line of text.split("\n")) assert.ok(line.length <= 80, line);
      const inspection = inspect({ kind, title: "x", der: derOf(pem) }, { nowMs: START_MS });
      for (const row of inspection.walk.rows)
        assert.match(text, new RegExp(`^ *${row.offset} +${row.headerLength} +${row.length}  `, "m"));
    }
    assert.match(report(derOf(requestPem)), /O \(a group\): "system:nodes"/);
    assert.match(report(derOf(requestPem)), /CN \(the user\): "system:node:n1"/);
  });

  test("control characters in a name do not reach the terminal", () => {
    const evil = createCertificateRequest(key, {
      subject: { commonName: "a\u001b[2Jb\u009b1m\u202e", organization: ["x\r\ny"] },
      sans: { ...NO_SANS, dns: ["d\u001b]0;t\u0007"] },
    });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the output must not contain them
    assert.doesNotMatch(report(derOf(evil)), /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  });

  test("a damaged document is shown up to the damage", () => {
    const cut = derOf(requestPem).subarray(0, 60);
    const text = report(cut);
    assert.match(text, /broken +asn1: syntax error: data truncated/);
    const rubbish = report(derOf(encodePem("X", Buffer.from("300730050201053003", "hex"))));
    assert.match(rubbish, /INTEGER/);
    assert.match(rubbish, /!/);
  });
});
