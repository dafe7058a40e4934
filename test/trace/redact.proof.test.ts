import assert from "node:assert/strict";
import { test } from "vitest";
import { redactText } from "../../src/trace/redaction/redact-text.js";

test("redact: the time for a long hostile text grows with its length, not with its square", () => {
  for (const part of [
    "-eyJ",
    "a",
    "-",
    "token",
    "--token ",
    "://a",
    "-----BEGIN PRIVATE KEY-----",
    "Bearer ",
    "%20",
    "%3A%2F%2Fa%3A",
  ]) {
    const text = `@${part.repeat(1_000_000 / part.length)}`;
    const startMs = performance.now();
    redactText(text);
    // A square would take minutes.
    assert.ok(performance.now() - startMs < 10_000, part);
  }
});
