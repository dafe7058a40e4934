import assert from "node:assert/strict";
import { test } from "vitest";
import { choiceName } from "../../../src/commands/learn/interactive.js";

const names: readonly (readonly [key: string, text: string, name: string])[] = [
  ["both", "Both `nodes` come back.", "Both nodes come back."],
  ["not-ready", "Not ready: nobody renews the Lease.", "Not ready: nobody renews the Lease."],
  ["yes", "yes", "yes"],
  ["no", "Nothing happens.", "no: Nothing happens."],
  ["both", "\u4e24\u4e2a\u90fd\u56de\u6765\u3002", "both: \u4e24\u4e2a\u90fd\u56de\u6765\u3002"],
  ["404", "404 `NotFound`", "404 NotFound"],
];
for (const [key, text, name] of names) {
  test(`${key} with "${text}"`, () => assert.equal(choiceName(key, text), name));
}
