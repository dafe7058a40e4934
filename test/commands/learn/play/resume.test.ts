import assert from "node:assert/strict";
import { test } from "vitest";
import { resumeLines } from "../../../../src/commands/learn/play/resume.js";
import { minutesLeft } from "../../../../src/commands/learn/standing.js";
import { openLibrary } from "../../../../src/lab/labs/format/open-library.js";
import type { LabProgress } from "../../../../src/lab/labs/progress/progress.js";
import { sayIn } from "../../../../src/util/i18n/catalogue.js";

const [lab] = (await openLibrary()).summaries;
assert.ok(lab !== undefined);
const half = lab.steps.slice(0, lab.steps.length / 2);
const begun: LabProgress = {
  revision: lab.revision,
  seed: 1,
  done: half,
  hints: 0,
  rightPredictions: 0,
  wrongPredictions: 0,
  startedAtMs: 1,
};
const some = `${half.length} of ${lab.steps.length} steps are done.*\\. The rest of the lab takes about ${minutesLeft(lab, half.length)} min`;

const ROWS: readonly (readonly [
  name: string,
  before: LabProgress | undefined,
  wanted: string | undefined,
  lines: readonly string[],
])[] = [
  ["a lab that begins", undefined, undefined, []],
  ["a lab that was finished begins again", { ...begun, finishedAtMs: 2, kubeVersion: "1.30" }, undefined, []],
  ["a lab that goes on", begun, undefined, [some]],
  ["with the release of its start", { ...begun, kubeVersion: "1.30" }, undefined, [some, "with Kubernetes 1\\.30"]],
  ["with another release", { ...begun, kubeVersion: "1.30" }, "1.32", [some]],
  ["before its first step is done", { ...begun, done: [], kubeVersion: "1.30" }, undefined, ["1\\.30"]],
];
test.each(ROWS)("%s", (_name, before, wanted, lines) => {
  const shown = resumeLines(lab, before, wanted, sayIn("en"));
  assert.equal(shown.length, lines.length, shown.join("\n"));
  shown.forEach((line, i) => {
    assert.match(line, new RegExp(lines[i] ?? ""));
  });
});
