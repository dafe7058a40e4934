import assert from "node:assert/strict";
import { test } from "vitest";
import { progressText, readOutcome, readProgress } from "../../../src/lab/virtual/outcome.js";

const results: readonly [unknown, string][] = [
  [undefined, "Succeeded Completed 0: "],
  [null, "Succeeded Completed 0: "],
  ["done", "Succeeded Completed 0: done"],
  [{}, "Succeeded Completed 0: "],
  [{ message: "m", reason: "Cached" }, "Succeeded Cached 0: m"],
  [{ phase: "Failed" }, "Failed Error 1: "],
  [{ phase: "Failed", reason: "NoInput", message: "m" }, "Failed NoInput 1: m"],
];
for (const [value, want] of results) {
  test(`a handler that returns ${JSON.stringify(value)} ends as ${want}`, () => {
    const { phase, reason, exitCode, message } = readOutcome(value);
    assert.equal(`${phase} ${reason} ${exitCode}: ${message}`, want);
  });
}

for (const value of [5, true, [], { phase: "Done" }, { message: 7 }, { reason: "two words" }, { colour: "red" }, 10n]) {
  test(`a handler that returns ${String(value)} fails with a message about the expected value`, () => {
    const { phase, reason, exitCode, message } = readOutcome(value);
    assert.deepEqual([phase, reason, exitCode], ["Failed", "HandlerResultInvalid", 1]);
    assert.match(message, /expected nothing, a text, or \{ phase/);
  });
}

test("a long message is cut at the limit of termination messages", () => {
  const { message } = readOutcome("x".repeat(100_000));
  assert.equal(Buffer.byteLength(message) <= 4096, true);
  assert.match(message, /\.\.\.$/);
});

const sayings: readonly [unknown, unknown, string][] = [
  [0.4, "resizing", "40 %: resizing"],
  [0.4, undefined, "40 %"],
  [7, undefined, "100 %"],
  [-1, undefined, "0 %"],
  ["resizing", undefined, "resizing"],
  [{ fraction: 0.5, message: "half" }, undefined, "50 %: half"],
  [{ message: "half" }, undefined, "half"],
  [Number.NaN, undefined, "nothing"],
  [{}, undefined, "nothing"],
  [true, undefined, "nothing"],
];
for (const [value, text, want] of sayings) {
  test(`progress(${JSON.stringify(value)}, ${JSON.stringify(text)}) says ${want}`, () => {
    const progress = readProgress(value, text);
    assert.equal(progress === undefined ? "nothing" : progressText(progress), want);
  });
}
