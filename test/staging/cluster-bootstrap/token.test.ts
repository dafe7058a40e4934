import assert from "node:assert/strict";
import { test } from "vitest";
import { checkGroup, summarizeToken, tokenSecret } from "../../../src/staging/cluster-bootstrap/secret.js";
import { formatToken, generateToken, parseToken, parseTokenId } from "../../../src/staging/cluster-bootstrap/token.js";
import { START_MS } from "../../support/fake-clock.js";

const malformed = [
  ["", "empty"],
  ["abcdef", "no dot"],
  ["abcdef.0123456789abcde", "15 characters instead of 16"],
  ["abcde.0123456789abcdef", "5 characters instead of 6"],
  ["ABCDEF.0123456789abcdef", "upper-case"],
  ["abcdef.0123456789abcd.f", "more than one dot"],
  ["abcd_f.0123456789abcdef", "characters other"],
] as const;
for (const [text, why] of malformed) {
  test(`token ${JSON.stringify(text)} is malformed: ${why}`, () => {
    assert.throws(
      () => parseToken(text),
      (error: Error & { code?: string; hint?: string }) =>
        error.code === "USAGE" &&
        error.message.includes(why) &&
        error.hint?.includes("[a-z0-9]{6}.[a-z0-9]{16}") === true,
    );
  });
}

test("a malformed token's text is not repeated in the message", () => {
  assert.throws(
    () => parseToken("abcdef.s3cr3tS3CR3T"),
    (error: Error) => !error.message.includes("s3cr3t"),
  );
});

test("a generated token is well formed, and no two are the same", () => {
  const tokens = Array.from({ length: 50 }, () => formatToken(generateToken()));
  for (const token of tokens) assert.equal(formatToken(parseToken(token)), token);
  assert.equal(new Set(tokens).size, 50);
});

test("delete takes an id or a whole token", () => {
  assert.throws(() => parseTokenId("zzz"), {
    code: "USAGE",
    message: /it has 3 characters instead of 6/,
    hint: /whole token/,
  });
  assert.throws(() => parseTokenId("abc_ef"), { code: "USAGE", message: /not all are a-z or 0-9/ });
  assert.equal(parseTokenId("abcdef"), "abcdef");
  assert.equal(parseTokenId("abcdef.0123456789abcdef"), "abcdef");
});

const token = { id: "abcdef", secret: "0123456789abcdef" };
const settings = {
  token,
  description: "for n1",
  expiration: new Date(START_MS + 90_000).toISOString(),
  usages: ["authentication", "signing"],
  groups: ["system:bootstrappers:kubeadm:default-node-token"],
} as const;

test("the Secret has every documented key, and reads back", () => {
  const secret = tokenSecret(settings);
  assert.equal(secret["type"], "bootstrap.kubernetes.io/token");
  assert.deepEqual(Object.keys(secret["data"] as object).sort(), [
    "auth-extra-groups",
    "description",
    "expiration",
    "token-id",
    "token-secret",
    "usage-bootstrap-authentication",
    "usage-bootstrap-signing",
  ]);
  assert.deepEqual(summarizeToken(secret, START_MS), {
    id: "abcdef",
    ttlSeconds: 90,
    expiration: settings.expiration,
    usages: ["authentication", "signing"],
    groups: settings.groups,
    description: "for n1",
    invalid: undefined,
  });
});

const invalidSecrets = [
  ["a foreign group", { ...settings, groups: ["system:masters"] }, "does not begin with system:bootstrappers:"],
  ["an unreadable expiration", { ...settings, expiration: "tomorrow" }, "not an RFC 3339 time"],
] as const;
for (const [name, bad, why] of invalidSecrets) {
  test(`a list shows that ${name} makes the token invalid`, () => {
    assert.match(summarizeToken(tokenSecret(bad), START_MS).invalid ?? "", new RegExp(why));
  });
}

const groups = [
  ["system:bootstrappers:x", true],
  ["system:bootstrappers:a:b-c9", true],
  ["system:bootstrappers:", false],
  ["system:bootstrappers:x-", false],
  ["system:bootstrappers:X", false],
  ["system:masters", false],
  [`system:bootstrappers:${"a".repeat(256)}`, true],
  [`system:bootstrappers:${"a".repeat(257)}`, false],
] as const;
for (const [group, ok] of groups) {
  test(`--groups ${group.slice(0, 40)} (${group.length}) is ${ok ? "accepted" : "refused"}`, () => {
    if (ok) assert.equal(checkGroup(group), group);
    else assert.throws(() => checkGroup(group), { name: "LabError", code: "USAGE" });
  });
}
