import assert from "node:assert/strict";
import { createHash, createPublicKey } from "node:crypto";
import { describe, test } from "vitest";
import { checkNodeName, digestedName, nodeSubject } from "../../../src/kubelet/certificate/node-identity.js";
import { nextRotationDeadline } from "../../../src/staging/client-go/certificate/manager.js";
import { generatePrivateKey } from "../../../src/staging/pki/keys.js";

describe("the name of a request", () => {
  const usages = ["digital signature", "client auth"];

  test("is upstream's digest: SHA-512/256 over base64url parts, each with a bar behind it", async () => {
    const key = await generatePrivateKey("ec");
    const spki = createPublicKey(key).export({ format: "der", type: "spki" });
    const parts = [spki, "system:node:n1", "system:nodes", ...usages].map((one) =>
      Buffer.from(one).toString("base64url"),
    );
    const digest = createHash("sha512-256")
      .update(`${parts.join("|")}|`)
      .digest("base64url");
    assert.equal(digestedName(key, nodeSubject("n1"), usages), `node-csr-${digest}`);
  });

  test("changes with the key, the name and the usages, and with nothing else", async () => {
    const [key, other] = [await generatePrivateKey("ec"), await generatePrivateKey("ec")];
    const names = [
      digestedName(key, nodeSubject("n1"), usages),
      digestedName(other, nodeSubject("n1"), usages),
      digestedName(key, nodeSubject("n2"), usages),
      digestedName(key, nodeSubject("n1"), [...usages].reverse()),
    ];
    assert.equal(new Set(names).size, 4);
    assert.equal(digestedName(key, nodeSubject("n1"), usages), names[0]);
  });
});

describe("a node's name", () => {
  for (const name of ["n", "node-1", "node-1.example.org", "1a", "a".repeat(253)]) {
    test(`${name.slice(0, 20)} is one`, () => assert.equal(checkNodeName(name), name));
  }
  for (const [name, why] of [
    ["", /empty/],
    ["Node-1", /upper-case/],
    ["node_1", /only a-z/],
    ["-a", /begin and end/],
    ["a-", /begin and end/],
    ["a..b", /begin and end/],
    ["a/b", /only a-z/],
    ["a".repeat(254), /253 are allowed/],
  ] as const) {
    test(`${JSON.stringify(name.slice(0, 20))} is invalid: ${why.source}`, () => {
      assert.throws(() => checkNodeName(name), { code: "USAGE", exitCode: 2, message: why, hint: /RFC 1123/ });
    });
  }
});

describe("when to rotate", () => {
  const certificate = { notBeforeMs: 1_000_000, notAfterMs: 2_000_000 };
  for (const [float, share] of [
    [0, 0.7],
    [0.5, 0.8],
    [0.999999, 0.9],
  ] as const) {
    test(`chance ${float}: at ${share} of its life, counted from notBefore`, () => {
      assert.equal(Math.round(nextRotationDeadline(certificate, float)), 1_000_000 + share * 1_000_000);
    });
  }
});
