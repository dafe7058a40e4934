import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import fc from "fast-check";
import { describe, test } from "vitest";
import {
  createApiServerCertificate,
  createAuthority,
  createClientCertificate,
  publicKeyHash,
} from "../../../src/staging/pki/authority.js";
import { certificateProblem, parseCertificatePem } from "../../../src/staging/pki/certificate.js";
import {
  createCertificateRequest,
  parseCertificateRequest,
  parseCertificateRequestPem,
  requestSignatureProblem,
} from "../../../src/staging/pki/csr.js";
import { encodeDer, readDer } from "../../../src/staging/pki/der.js";
import { issueCertificate } from "../../../src/staging/pki/issue.js";
import {
  generatePrivateKey,
  keyMatchesCertificate,
  privateKeyPem,
  publicKeyDer,
} from "../../../src/staging/pki/keys.js";
import { encodeName, parseName } from "../../../src/staging/pki/name.js";
import { decodePem, encodePem } from "../../../src/staging/pki/pem.js";
import { encodeSans, NO_SANS, parseSans } from "../../../src/staging/pki/sans.js";
import { splitUsages } from "../../../src/staging/pki/usages.js";
import { SystemRandom } from "../../../src/util/random.js";
import { FakeClock, START_MS } from "../../support/fake-clock.js";

const deps = { clock: new FakeClock(), random: new SystemRandom() };
const ca = await createAuthority(deps, { commonName: "kubernetes" });
const otherCa = await createAuthority(deps, { commonName: "kubernetes" });
const client = await createClientCertificate(ca, deps, {
  commonName: "jane",
  organization: ["devs", "admins"],
  validityMs: 3_600_000,
});
const server = await createApiServerCertificate(ca, deps);

test("node:crypto reads the fields that we wrote into a certificate", () => {
  const seen = new X509Certificate(client.certificatePem);
  assert.equal(seen.subject, "O=devs + O=admins\nCN=jane");
  assert.equal(seen.issuer, "CN=kubernetes");
  assert.equal(new Date(seen.validFrom).getTime(), START_MS - 300_000);
  assert.equal(new Date(seen.validTo).getTime(), START_MS + 3_600_000);
  assert.deepEqual(seen.keyUsage, ["1.3.6.1.5.5.7.3.2"]);
  assert.equal(seen.ca, false);
  assert.ok(seen.checkIssued(new X509Certificate(ca.certificatePem)));
  assert.ok(seen.verify(new X509Certificate(ca.certificatePem).publicKey));
  const parsed = parseCertificatePem(client.certificatePem);
  assert.equal(parsed.serialHex, seen.serialNumber.toLowerCase());
  assert.ok(seen.serialNumber.length <= 32, "at most 128 bits");
  assert.match(
    new X509Certificate(server.certificatePem).subjectAltName ?? "",
    /DNS:localhost, IP Address:127\.0\.0\.1, IP Address:0:0:0:0:0:0:0:1/,
  );
});

test("serial numbers are positive and differ", () => {
  const serials = new Set<string>();
  for (let i = 0; i < 20; i++) {
    const pem = issueCertificate(
      ca,
      {
        subject: { commonName: "x", organization: [] },
        spkiDer: parseCertificatePem(ca.certificatePem).spkiDer,
        usages: ["client auth"],
        notBeforeMs: START_MS,
        notAfterMs: START_MS,
      },
      deps.random,
    );
    serials.add(parseCertificatePem(pem).serialHex);
    assert.ok(!new X509Certificate(pem).serialNumber.startsWith("-"));
  }
  assert.equal(serials.size, 20);
});

describe("judging a certificate", () => {
  const day = 24 * 3_600_000;
  const expired = "x509: certificate has expired or is not yet valid: current time";
  for (const [what, pem, issuerPem, nowMs, purpose, want] of [
    ["good", client.certificatePem, ca.certificatePem, START_MS, "client auth", undefined],
    ["good for any purpose", client.certificatePem, ca.certificatePem, START_MS, undefined, undefined],
    ["in its last second", client.certificatePem, ca.certificatePem, START_MS + 3_600_999, "client auth", undefined],
    [
      "just expired",
      client.certificatePem,
      ca.certificatePem,
      START_MS + 3_601_000,
      "client auth",
      `${expired} 2026-01-01T01:00:01Z is after 2026-01-01T01:00:00Z`,
    ],
    [
      "not valid yet",
      client.certificatePem,
      ca.certificatePem,
      START_MS - day,
      "client auth",
      `${expired} 2025-12-31T00:00:00Z is before 2025-12-31T23:55:00Z`,
    ],
    [
      "of another CA with the same name",
      client.certificatePem,
      otherCa.certificatePem,
      START_MS,
      "client auth",
      "x509: certificate signed by unknown authority",
    ],
    [
      "a server's certificate, presented by a client",
      server.certificatePem,
      ca.certificatePem,
      START_MS,
      "client auth",
      "x509: certificate specifies an incompatible key usage",
    ],
  ] as const) {
    test(`${what}: ${want ?? "good"}`, () => {
      const issuer = parseCertificatePem(issuerPem);
      const options = { issuer, nowMs, ...(purpose === undefined ? {} : { purpose }) };
      assert.equal(certificateProblem(parseCertificatePem(pem), options), want);
    });
  }
});

describe("requests", () => {
  test("a change of any byte breaks the signature or the structure", async () => {
    const key = await generatePrivateKey("ec");
    const request = parseCertificateRequestPem(
      createCertificateRequest(key, { subject: { commonName: "x", organization: [] } }),
    );
    fc.assert(
      fc.property(fc.nat(request.der.length - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
        const broken = Buffer.from(request.der);
        broken[at] = (broken[at] ?? 0) ^ flip;
        try {
          const parsed = parseCertificateRequest(broken);
          assert.notEqual(requestSignatureProblem(parsed), undefined, `byte ${at}`);
        } catch (error) {
          assert.equal((error as Error).name, "DerError");
        }
      }),
      { numRuns: 150 },
    );
  });

  test("Go's errors for a text that is not a request", () => {
    const rubbish = encodePem("CERTIFICATE REQUEST", Buffer.alloc(3));
    for (const [pem, message] of [
      ["hello", "PEM block type must be CERTIFICATE REQUEST"],
      ["", "PEM block type must be CERTIFICATE REQUEST"],
      [ca.certificatePem, "PEM block type must be CERTIFICATE REQUEST"],
      [encodePem("NEW CERTIFICATE REQUEST", Buffer.alloc(3)), "PEM block type must be CERTIFICATE REQUEST"],
      [
        rubbish,
        "asn1: structure error: tags don't match (16 vs {class:0 tag:0 length:0 isCompound:false}) {optional:false explicit:false application:false private:false defaultValue:<nil> tag:<nil> stringType:0 timeType:0 set:false omitEmpty:false} certificateRequest @2",
      ],
    ] as const) {
      assert.throws(() => parseCertificateRequestPem(pem), { name: "DerError", message });
    }
  });

  test("a request without names has the empty [0] that Go writes", async () => {
    const key = await generatePrivateKey("ec");
    const request = parseCertificateRequestPem(
      createCertificateRequest(key, { subject: { commonName: "x", organization: [] } }),
    );
    assert.equal(request.signedDer.subarray(-2).toString("hex"), "a000");
    assert.deepEqual(request.sans, NO_SANS);
  });
});

describe("names", () => {
  const text = fc.string({ minLength: 1, unit: "grapheme" });
  test("are read back as written, groups in the order of their encodings", () => {
    fc.assert(
      fc.property(text, fc.uniqueArray(text, { maxLength: 4 }), (commonName, organization) => {
        const parsed = parseName(readDer(encodeDer(encodeName({ commonName, organization }))));
        assert.equal(parsed.commonName, commonName);
        assert.deepEqual([...parsed.organization].sort(), [...organization].sort());
      }),
    );
  });

  test("alternative names and addresses are read back, IPv6 in its shortest form", () => {
    fc.assert(
      fc.property(fc.ipV6(), fc.ipV4(), fc.domain(), (v6, v4, dns) => {
        const shortest = new URL(`http://[${v6}]/`).hostname.slice(1, -1);
        const seen = parseSans(encodeSans({ dns: [dns], ip: [v4, v6], email: ["a@b"], uri: ["a:b"] }));
        assert.deepEqual(seen, { dns: [dns], ip: [v4, shortest], email: ["a@b"], uri: ["a:b"] });
      }),
    );
  });
});

test("usages: bits and purposes in Go's order, and the unknown usages", () => {
  assert.deepEqual(
    splitUsages([
      "client auth",
      "server auth",
      "key encipherment",
      "signing",
      "digital signature",
      "s/mime",
      "email protection",
      "nonsense",
    ]),
    {
      keyUsageBits: [0, 2],
      extendedKeyUsageOids: ["1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2", "1.3.6.1.5.5.7.3.4"],
      unrecognized: ["nonsense"],
    },
  );
});

test("a key matches its own certificate only, and an unreadable key or certificate matches nothing", async () => {
  const key = await generatePrivateKey("ec");
  assert.ok(keyMatchesCertificate(client.privateKeyPem, client.certificatePem));
  for (const [keyPem, certificatePem] of [
    [privateKeyPem(key), client.certificatePem],
    ["rubbish", client.certificatePem],
    [client.privateKeyPem, "rubbish"],
    [client.privateKeyPem, encodePem("CERTIFICATE", Buffer.from("3000", "hex"))],
    [client.privateKeyPem, client.certificatePem.slice(0, 200)],
  ] as const) {
    assert.equal(keyMatchesCertificate(keyPem, certificatePem), false);
  }
});

test("keys are written as upstream writes them", async () => {
  assert.match(privateKeyPem(await generatePrivateKey("ec")), /^-----BEGIN EC PRIVATE KEY-----\n/);
  assert.match(privateKeyPem(await generatePrivateKey("rsa")), /^-----BEGIN RSA PRIVATE KEY-----\n/);
});

test("the pinned hash depends on the public key only, not on its certificate", async () => {
  assert.match(publicKeyHash(ca.certificatePem), /^sha256:[0-9a-f]{64}$/);
  assert.equal(publicKeyHash(ca.certificatePem), publicKeyHash(parseCertificatePem(ca.certificatePem)));
  assert.notEqual(publicKeyHash(ca.certificatePem), publicKeyHash(otherCa.certificatePem));
  const key = await generatePrivateKey("ec");
  assert.equal(publicKeyHash({ spkiDer: publicKeyDer(key) }).length, 71);
});

describe("PEM", () => {
  test("is read back as written", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 500 }), (der) => {
        const pem = encodePem("CERTIFICATE", Buffer.from(der));
        assert.ok(pem.split("\n").every((line) => line.length <= 64));
        assert.deepEqual(decodePem(`noise\n${pem}noise\n${pem}`), [
          { type: "CERTIFICATE", der: Buffer.from(der) },
          { type: "CERTIFICATE", der: Buffer.from(der) },
        ]);
      }),
    );
  });
  for (const [what, pem, want] of [
    ["Windows line ends", "-----BEGIN X-----\r\nAAAA\r\n-----END X-----\r\n", ["X:000000"]],
    [
      "headers before the content",
      "-----BEGIN X-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: a\n\nAAAA\n-----END X-----\n",
      ["X:000000"],
    ],
    ["another end", "-----BEGIN X-----\nAAAA\n-----END Y-----\n", []],
    ["no base64", "-----BEGIN X-----\n****\n-----END X-----\n", []],
    ["cut off", "-----BEGIN X-----\nAAAA\n", []],
  ] as const) {
    test(`${what}`, () => {
      assert.deepEqual(
        decodePem(pem).map(({ type, der }) => `${type}:${der.toString("hex")}`),
        want,
      );
    });
  }
});
