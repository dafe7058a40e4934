import assert from "node:assert/strict";
import { test } from "vitest";
import { tokenTable } from "../../../src/commands/bootstrap/token-table.js";
import {
  DEFAULT_NODE_TOKEN_GROUP,
  TOKEN_USAGES,
  type TokenSummary,
} from "../../../src/staging/cluster-bootstrap/secret.js";

const token = (fields: Partial<TokenSummary> = {}): TokenSummary => ({
  id: "abcdef",
  ttlSeconds: 86_399,
  expiration: undefined,
  usages: TOKEN_USAGES,
  groups: [DEFAULT_NODE_TOKEN_GROUP],
  description: "for node-7",
  invalid: undefined,
  ...fields,
});

test("a token: one line, and its groups below", () => {
  assert.deepEqual(tokenTable([token()]).split("\n"), [
    "ID      TTL     USAGES                  DESCRIPTION",
    "abcdef  23h59m  authentication,signing  for node-7",
    `        in ${DEFAULT_NODE_TOKEN_GROUP}`,
  ]);
});

const wide: readonly [string, Partial<TokenSummary>][] = [
  ["kubeadm's group", {}],
  ["a group of 200 characters", { groups: [`system:bootstrappers:${"x".repeat(180)}`] }],
  ["a long description of two lines", { description: `one\n${"word ".repeat(40)}` }],
  ["a long problem", { invalid: `group ${"x".repeat(99)} does not begin with system:bootstrappers:` }],
];
for (const [what, fields] of wide) {
  test(`${what}: no line is wider than 80 columns`, () => {
    const lines = tokenTable([token(), token(fields)]).split("\n");
    assert.equal(lines.length, 5);
    for (const line of lines) assert.ok([...line].length <= 80, line);
  });
}

const ttls: readonly [number | undefined, string][] = [
  [undefined, "forever"],
  [Number.NaN, "?"],
  [0, "expired"],
  [61, "2m"],
  [3_660, "1h1m"],
];
for (const [ttlSeconds, want] of ttls) {
  test(`${ttlSeconds} s are ${want}`, () => {
    assert.equal(
      tokenTable([token({ ttlSeconds })])
        .split("\n")[1]
        ?.split(/\s+/)[1],
      want,
    );
  });
}
