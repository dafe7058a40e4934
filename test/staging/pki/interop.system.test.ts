import assert from "node:assert/strict";
import { afterAll, test } from "vitest";
import {
  createApiServerCertificate,
  createAuthority,
  createClientCertificate,
  publicKeyHash,
} from "../../../src/staging/pki/authority.js";
import { parseCertificatePem } from "../../../src/staging/pki/certificate.js";
import {
  createCertificateRequest,
  parseCertificateRequestPem,
  requestSignatureProblem,
} from "../../../src/staging/pki/csr.js";
import { shapeOf } from "../../../src/staging/pki/der-shapes.js";
import { walkDer } from "../../../src/staging/pki/der-walk.js";
import { issueCertificate } from "../../../src/staging/pki/issue.js";
import {
  generatePrivateKey,
  keyMatchesCertificate,
  privateKeyPem,
  publicKeyFacts,
} from "../../../src/staging/pki/keys.js";
import { decodePem } from "../../../src/staging/pki/pem.js";
import { SystemClock } from "../../../src/util/clock.js";
import { SystemRandom } from "../../../src/util/random.js";
import { suiteNeeding } from "../../support/requirements.js";
import { Openssl } from "./openssl.js";

// OpenSSL judges by the wall clock.
const deps = { clock: new SystemClock(), random: new SystemRandom() };

suiteNeeding(["openssl"], "interop with openssl", () => {
  const openssl = new Openssl();
  afterAll(() => openssl.close());

  for (const keyType of ["ec", "rsa"] as const) {
    test(`openssl reads and verifies our ${keyType} request`, async () => {
      const key = await generatePrivateKey(keyType);
      const pem = createCertificateRequest(key, {
        subject: { commonName: "system:node:n1", organization: ["system:nodes"] },
        sans: { dns: ["n1", "n1.example"], ip: ["127.0.0.1", "fd00::1"], email: ["a@b.c"], uri: ["spiffe://x/y"] },
      });
      const seen = openssl.run(["req", "-verify", "-noout", "-text"], pem);
      assert.ok(seen.ok, seen.stderr);
      assert.match(seen.stdout + seen.stderr, /verify OK/i);
      assert.match(seen.stdout, /Subject: O = system:nodes, CN = system:node:n1/);
      assert.match(
        seen.stdout,
        /DNS:n1, DNS:n1\.example, email:a@b\.c, IP Address:127\.0\.0\.1, IP Address:FD00:0:0:0:0:0:0:1, URI:spiffe:\/\/x\/y/,
      );
      const keySeen = openssl.run(["pkey", "-check", "-noout"], privateKeyPem(key));
      assert.ok(keySeen.ok, keySeen.stderr);
    });
  }

  const made = [
    // how openssl makes the key                                     what we call it
    [["ecparam", "-genkey", "-name", "prime256v1", "-noout"], "ECDSA P-256"],
    [["ecparam", "-genkey", "-name", "secp384r1", "-noout"], "ECDSA P-384"],
    [["genrsa", "2048"], "RSA 2048"],
    [["genrsa", "1024"], "RSA 1024"],
    [["genpkey", "-algorithm", "ed25519"], "Ed25519"],
  ] as const;
  for (const [args, name] of made) {
    test(`we read openssl's request with a ${name} key, and openssl verifies what we issue for it`, async () => {
      openssl.write("req.key", openssl.run(args).stdout);
      const created = openssl.run([
        "req",
        "-new",
        "-key",
        "req.key",
        "-subj",
        "/O=system:nodes/CN=system:node:n1",
        "-addext",
        "subjectAltName=DNS:n1,IP:10.0.0.1,IP:::1,email:a@b.c,URI:https://x/y",
      ]);
      assert.ok(created.ok, created.stderr);
      const request = parseCertificateRequestPem(created.stdout);
      assert.deepEqual(request.subject, { commonName: "system:node:n1", organization: ["system:nodes"] });
      assert.deepEqual(request.sans, { dns: ["n1"], ip: ["10.0.0.1", "::1"], email: ["a@b.c"], uri: ["https://x/y"] });
      assert.equal(publicKeyFacts(request.spkiDer).text, name);
      assert.equal(requestSignatureProblem(request), undefined);

      const ca = await createAuthority(deps, { commonName: "kubernetes" });
      const nowMs = deps.clock.now();
      const issued = issueCertificate(
        ca,
        {
          subject: request.subject,
          spkiDer: request.spkiDer,
          usages: ["digital signature", "client auth"],
          sans: request.sans,
          notBeforeMs: nowMs - 300_000,
          notAfterMs: nowMs + 600_000,
        },
        deps.random,
      );
      openssl.write("ca.pem", ca.certificatePem);
      const verified = openssl.run(["verify", "-x509_strict", "-purpose", "sslclient", "-CAfile", "ca.pem"], issued);
      assert.ok(verified.ok, verified.stdout + verified.stderr);
      assert.ok(keyMatchesCertificate(openssl.run(["pkey", "-in", "req.key"]).stdout, issued));
    });
  }

  for (const keyType of ["ec", "rsa"] as const) {
    test(`openssl verifies the API server's and a user's certificate under an ${keyType} CA`, async () => {
      const ca = await createAuthority(deps, { commonName: "kubernetes", keyType });
      openssl.write("ca.pem", ca.certificatePem);
      const server = await createApiServerCertificate(ca, deps, { sans: { dns: ["extra"], ip: ["10.1.2.3"] } });
      const client = await createClientCertificate(ca, deps, {
        commonName: "kubernetes-admin",
        organization: ["system:masters"],
      });
      for (const [name, args, pem] of [
        ["itself", ["-x509_strict"], ca.certificatePem],
        ["localhost", ["-purpose", "sslserver", "-verify_hostname", "localhost"], server.certificatePem],
        ["extra", ["-purpose", "sslserver", "-verify_hostname", "extra"], server.certificatePem],
        ["127.0.0.1", ["-purpose", "sslserver", "-verify_ip", "127.0.0.1"], server.certificatePem],
        ["::1", ["-purpose", "sslserver", "-verify_ip", "::1"], server.certificatePem],
        ["client", ["-purpose", "sslclient"], client.certificatePem],
      ] as const) {
        const seen = openssl.run(["verify", ...args, "-CAfile", "ca.pem"], pem);
        assert.ok(seen.ok, `${name}: ${seen.stdout}${seen.stderr}`);
      }
      assert.equal(
        openssl.run(["verify", "-purpose", "sslclient", "-CAfile", "ca.pem"], server.certificatePem).ok,
        false,
      );
      const der = openssl.run(["x509", "-in", "ca.pem", "-noout", "-pubkey"]).stdout;
      openssl.write("ca.pub", der);
      const hash = openssl.run(["pkey", "-pubin", "-in", "ca.pub", "-outform", "DER", "-out", "ca.der"]);
      assert.ok(hash.ok, hash.stderr);
      const digest = openssl.run(["dgst", "-sha256", "-r", "ca.der"]).stdout.split(" ")[0];
      assert.equal(publicKeyHash(ca.certificatePem), `sha256:${digest}`);
    });
  }

  test("x509 -text says of a leaf what the API server's own signer writes", async () => {
    const ca = await createAuthority(deps, { commonName: "kubernetes" });
    const key = await generatePrivateKey("ec");
    const request = parseCertificateRequestPem(
      createCertificateRequest(key, {
        subject: { commonName: "system:node:n1", organization: ["system:nodes"] },
      }),
    );
    const pem = issueCertificate(
      ca,
      {
        subject: request.subject,
        spkiDer: request.spkiDer,
        usages: ["client auth", "key encipherment", "digital signature"],
        notBeforeMs: Date.UTC(2026, 0, 1),
        notAfterMs: Date.UTC(2027, 0, 1),
      },
      deps.random,
    );
    const text = openssl.run(["x509", "-noout", "-text", "-certopt", "no_pubkey,no_sigdump,no_serial"], pem).stdout;
    const keyId = parseCertificatePem(ca.certificatePem).subjectKeyId?.toString("hex").toUpperCase() ?? "";
    assert.deepEqual(
      text.split("\n").map((line) => line.trimEnd()),
      [
        "Certificate:",
        "    Data:",
        "        Version: 3 (0x2)",
        "        Signature Algorithm: ecdsa-with-SHA256",
        "        Issuer: CN = kubernetes",
        "        Validity",
        "            Not Before: Jan  1 00:00:00 2026 GMT",
        "            Not After : Jan  1 00:00:00 2027 GMT",
        "        Subject: O = system:nodes, CN = system:node:n1",
        "        X509v3 extensions:",
        "            X509v3 Key Usage: critical",
        "                Digital Signature, Key Encipherment",
        "            X509v3 Extended Key Usage:",
        "                TLS Web Client Authentication",
        "            X509v3 Basic Constraints: critical",
        "                CA:FALSE",
        "            X509v3 Authority Key Identifier:",
        `                ${keyId.match(/../g)?.join(":")}`,
        "",
      ],
    );
  });

  test("our walk finds every value where openssl asn1parse finds it", async () => {
    const ca = await createAuthority(deps, { commonName: "kubernetes", keyType: "rsa" });
    const server = await createApiServerCertificate(ca, deps);
    const key = await generatePrivateKey("ec");
    const request = createCertificateRequest(key, {
      subject: { commonName: "n", organization: ["a", "b"] },
      sans: { dns: ["n"], ip: ["::1"], email: [], uri: [] },
    });
    for (const pem of [ca.certificatePem, server.certificatePem, request]) {
      const [block] = decodePem(pem);
      assert.ok(block);
      const ours = walkDer(block.der, shapeOf(block.type));
      assert.equal(ours.problem, undefined);
      const places = new Set(ours.rows.map((row) => `${row.offset} ${row.headerLength} ${row.length}`));
      const parsed = openssl.run(["asn1parse"], pem).stdout;
      const theirs = [...parsed.matchAll(/^ *(\d+):d=\d+ +hl=(\d+) l= *(\d+)/gm)].map(([, ...place]) =>
        place.join(" "),
      );
      assert.ok(theirs.length > 20, parsed);
      assert.deepEqual(
        theirs.filter((place) => !places.has(place)),
        [],
      );
      assert.ok(ours.rows.length > theirs.length, "and it opens what is wrapped in strings");
    }
  });
});
