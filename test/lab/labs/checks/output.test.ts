import assert from "node:assert/strict";
import { test } from "vitest";
import { findInOutput, matchedLines } from "../../../../src/lab/labs/checks/output.js";
import { Sentences } from "../../../../src/util/i18n/sentences.js";
import { fact } from "../../../trace/facts.js";

const { say } = new Sentences({ "renew the lease {1}": "续租 {1}" });
const renewal = { kind: "decision", what: "renew the lease n1", why: "a quarter has passed" } as const;
const facts = () => [fact("1", renewal, { atMs: 1 })];
const english = { code: 0, stdout: "found\n", stderr: "  0.001 user ◆ something else\n", facts };
const chinese = { ...english, stderr: "  0.001 user ◆ 续租 n1\n", say };

test("a pattern of a lab is English, and finds what was printed in another language", () => {
  assert.equal(findInOutput(chinese, "both", "renew the lease"), "0.001 user       ◆ 续租 n1");
  assert.equal(findInOutput(chinese, "stdout", "^found"), "found");
  assert.equal(findInOutput(chinese, "both", "delete the lease"), undefined);
});

test("an English run is searched as it was printed", () => {
  assert.equal(findInOutput(english, "both", "renew the lease"), undefined);
  assert.deepEqual(matchedLines(english, ["renew the lease", "something else"]), [
    undefined,
    ["  0.001 user ◆ something else"],
  ]);
});

test("a sentence that the terminal has broken is shown whole", () => {
  const printed = { ...english, stderr: "  0.001 user ◆ renew\n             a quarter has\n             passed\n" };
  assert.deepEqual(matchedLines(printed, ["a quarter"]), [["a quarter has passed"]]);
  assert.deepEqual(matchedLines({ ...printed, facts: () => [] }, ["a quarter"]), [["             a quarter has"]]);
});

test("the lines to look at are shown in the learner's language", () => {
  assert.deepEqual(matchedLines(chinese, ["renew the lease n1", "found", "delete"]), [
    ["0.001 user       ◆ 续租 n1"],
    ["found"],
    undefined,
  ]);
});

test("a result in another language is searched in its English lines, and the line is shown as it was printed", () => {
  const lines = {
    english: ["  1 codec default Pod", "      why: unset"],
    shown: ["  1 codec 填上默认值", "      why: 没有设置"],
  };
  const result = { ...chinese, lines };
  assert.equal(findInOutput(result, "stdout", "codec +default Pod"), "1 codec 填上默认值");
  assert.equal(findInOutput(result, "stderr", "codec +default Pod"), undefined);
  assert.deepEqual(matchedLines(result, ["why: unset", "nothing"]), [["why: 没有设置"], undefined]);
  assert.equal(findInOutput({ ...english, lines }, "stdout", "codec +default Pod"), undefined);
});
