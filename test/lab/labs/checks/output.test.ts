import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { findInOutput, matchedLines } from "../../../../src/lab/labs/checks/output.js";
import type { CommandResult } from "../../../../src/lab/labs/environment/runner.js";
import { plainText } from "../../../../src/trace/terminal/options.js";
import { renderEvent } from "../../../../src/trace/terminal/render-event.js";
import { unbrokenLines } from "../../../../src/trace/terminal/unbroken.js";
import { Sentences } from "../../../../src/util/i18n/sentences.js";
import { fact } from "../../../trace/facts.js";

const PATH = "/api/v1/namespaces/default/pods/parlour/exec?command=ls&command=%2F&container=parlour&stderr=true";
const FACTS = [
  fact(
    "1",
    { kind: "decision", what: "renew the lease n1", why: "a quarter of its 40 s has passed since 10:00:00" },
    { atMs: 1 },
  ),
  fact(
    "2",
    {
      kind: "request",
      method: "POST",
      path: PATH,
      status: 101,
      durationMs: 3,
      identity: "admin",
      server: "s",
      auditId: "a",
    },
    { atMs: 2000 },
  ),
];
const { say } = new Sentences({ "renew the lease {1}": "续租 {1}" });
const NO_LINES = { english: [], shown: [] };

/** What a command has printed in a terminal of this width. */
function printed(width: number, ofLearner?: typeof say): CommandResult {
  const options = { ...plainText({ width: () => width, verbosity: 2, startMs: 0 }), say: ofLearner };
  const stderr = FACTS.flatMap((one) => renderEvent(one, 0, options)).join("\n");
  const lines = FACTS.map((one) => unbrokenLines(one, 0, options));
  const trace = { english: lines.flatMap((one) => one.english), shown: lines.flatMap((one) => one.shown) };
  return { code: 0, stdout: "found\n", stderr, lines: { stdout: NO_LINES, stderr: trace } };
}

describe.each([40, 60, 70, 80, 120, 500])("at %d columns", (width) => {
  test.each([
    ["renew the lease n1", "0.001 user       ◆ renew the lease n1"],
    ["quarter of its 40 s has passed", "a quarter of its 40 s has passed since 10:00:00"],
    ["default/pods/parlour/exec\\?command=ls", `2.000 user       → POST ${PATH} → 101 (3 ms, as admin)`],
    ["stderr=true → 101", `2.000 user       → POST ${PATH} → 101 (3 ms, as admin)`],
    ["^found$", "found"],
    ["delete the lease", undefined],
  ])("%s: the same line", (pattern, line) => {
    const result = printed(width);
    assert.equal(matchedLines(result, [pattern])[0]?.trim(), line);
    assert.equal(findInOutput(result, "both", pattern) !== undefined, line !== undefined);
  });

  test("in the learner's language", () => {
    const result = printed(width, say);
    const line = "  0.001 user       ◆ 续租 n1";
    assert.deepEqual(matchedLines(result, ["renew the lease", "found", "delete"]), [line, "found", undefined]);
    assert.equal(findInOutput(result, "stderr", "renew the lease"), line.trim());
    assert.equal(findInOutput(result, "stdout", "renew the lease"), undefined);
  });
});

test("a result in another language is searched in its English lines, and the line is shown as it was printed", () => {
  const stdout = {
    english: ["  1 codec default Pod", "      why: unset"],
    shown: ["  1 codec 填上默认值", "      why: 没有设置"],
  };
  const result = { code: 0, stdout: stdout.shown.join("\n"), stderr: "", lines: { stdout, stderr: NO_LINES } };
  assert.equal(findInOutput(result, "stdout", "codec +default Pod"), "1 codec 填上默认值");
  assert.equal(findInOutput(result, "stderr", "codec +default Pod"), undefined);
  assert.deepEqual(matchedLines(result, ["why: unset", "nothing"]), ["      why: 没有设置", undefined]);
});

test("what a program of its own has printed is searched as it is", () => {
  const result = { code: 0, stdout: "name: atlas\n", stderr: "" };
  assert.equal(findInOutput(result, "both", "atlas$"), "atlas");
  assert.deepEqual(matchedLines(result, ["atlas"]), ["name: atlas"]);
});
