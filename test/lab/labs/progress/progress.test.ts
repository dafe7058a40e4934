import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "vitest";
import {
  EMPTY_PROGRESS,
  type LabProgress,
  loadProgress,
  mergeProgress,
  type Progress,
  parseProgress,
  saveProgress,
} from "../../../../src/lab/labs/progress/progress.js";

const lab = (over: Partial<LabProgress> = {}): LabProgress => ({
  revision: 1,
  seed: 7,
  done: [],
  hints: 0,
  rightPredictions: 0,
  wrongPredictions: 0,
  startedAtMs: 1_700_000_000_000,
  ...over,
});
const progress = (labs: Record<string, LabProgress>): Progress => ({ version: 1, labs });
const newFile = () => join(mkdtempSync(join(tmpdir(), "kubelab-progress-")), "progress.json");

test("what is saved is what is loaded, and nobody else may read it", async () => {
  const file = newFile();
  const saved = progress({ a: lab({ done: ["x"], finishedAtMs: 5 }) });
  await saveProgress(file, saved);
  assert.deepEqual(await loadProgress(file, 0), { progress: saved });
  assert.equal(statSync(file).mode & 0o777, 0o600);
});

test("no file is no progress yet", async () => {
  assert.deepEqual(await loadProgress(newFile(), 0), { progress: EMPTY_PROGRESS });
});

const LAB = '"revision":1,"seed":1,"done":[],"hints":0,"rightPredictions":0,"wrongPredictions":0,"startedAtMs":1';
const BROKEN = [
  `{"version":1,"labs":{"a":{${LAB},"shown":"all"}}}`,
  `{"version":1,"labs":{"a":{${LAB},"wrong":[1]}}}`,
  `{"version":1,"labs":{"a":{${LAB},"exam":{"points":1}}}}`,
  `{"version":1,"labs":{"a":{${LAB},"best":{"hints":1}}}}`,
  "",
  "{",
  "null",
  "[]",
  '{"version":1}',
  '{"version":"1","labs":{}}',
  '{"version":1,"labs":{"a":{}}}',
];
for (const text of BROKEN) {
  test(`a broken file is kept aside: ${text || "empty"}`, async () => {
    const file = newFile();
    writeFileSync(file, text);
    const { progress: found, keptAs } = await loadProgress(file, 42);
    assert.deepEqual(found, EMPTY_PROGRESS);
    assert.equal(keptAs, `${file}.broken-42`);
    assert.equal(readFileSync(keptAs ?? "", "utf8"), text);
    assert.equal(readdirSync(join(file, "..")).length, 1);
  });
}

test("a newer version is refused, and left alone", async () => {
  const file = newFile();
  writeFileSync(file, '{"version":2,"labs":{}}');
  await assert.rejects(loadProgress(file, 0), {
    code: "BAD_FILE",
    message: /newer kubelab: its format is 2, this kubelab knows 1/,
  });
  assert.equal(readFileSync(file, "utf8"), '{"version":2,"labs":{}}');
  assert.deepEqual(parseProgress('{"version":2}'), { kind: "newer", version: 2 });
});

describe("of two progresses the one that is further stays", () => {
  const table: readonly (readonly [string, Partial<LabProgress>, Partial<LabProgress>, "ours" | "theirs"])[] = [
    ["more steps", { done: ["a"] }, { done: ["a", "b"] }, "theirs"],
    ["as many steps", { done: ["a"] }, { done: ["b"] }, "ours"],
    ["finished", { done: ["a", "b"] }, { done: ["a"], finishedAtMs: 1 }, "theirs"],
    ["a newer revision", { revision: 1, done: ["a", "b"], finishedAtMs: 1 }, { revision: 2 }, "theirs"],
    ["an older revision", { revision: 2 }, { revision: 1, done: ["a"] }, "ours"],
  ];
  for (const [what, ours, theirs, want] of table) {
    test(what, () => {
      const merged = mergeProgress(progress({ x: lab(ours) }), progress({ x: lab(theirs) }));
      assert.deepEqual(merged.labs["x"], lab(want === "ours" ? ours : theirs));
    });
  }
  test("the better of the best results stays, whoever is further", () => {
    const best = (solved: number) => ({
      best: { rightPredictions: 0, wrongPredictions: 0, hints: 0, solved, shown: 0, finishedAtMs: 1 },
    });
    const ours = progress({ x: lab({ done: ["a"], ...best(2) }) });
    const theirs = progress({ x: lab({ done: ["a", "b"], ...best(1) }) });
    assert.deepEqual(mergeProgress(ours, theirs).labs["x"], lab({ done: ["a", "b"], ...best(2) }));
  });
  test("the better exam stays, whoever is further", () => {
    const exam = (points: number) => ({
      exam: { atMs: 1, minutes: 12, usedMs: 1, points, mostPoints: 80, isFinished: false },
    });
    const ours = progress({ x: lab({ done: ["a"], ...exam(40) }) });
    const theirs = progress({ x: lab({ done: ["a", "b"], ...exam(10) }) });
    assert.deepEqual(mergeProgress(ours, theirs).labs["x"], lab({ done: ["a", "b"], ...exam(40) }));
  });
  test("what only one has stays", () => {
    const merged = mergeProgress(progress({ x: lab() }), progress({ y: lab() }));
    assert.deepEqual(Object.keys(merged.labs).sort(), ["x", "y"]);
  });
});
