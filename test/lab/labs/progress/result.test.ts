import assert from "node:assert/strict";
import { describe, test } from "vitest";
import {
  bestResult,
  betterExam,
  betterOf,
  type LabRun,
  mostPointsOf,
  pointsOf,
  resultOf,
} from "../../../../src/lab/labs/progress/result.js";

const lab = { tasks: ["task", "other"], predictions: ["guess"] };
const run = (over: Partial<LabRun> = {}): LabRun => ({
  done: ["guess", "task", "other"],
  hints: 0,
  rightPredictions: 1,
  wrongPredictions: 0,
  finishedAtMs: 9,
  ...over,
});

describe("what a run is worth", () => {
  const table: readonly (readonly [string, Partial<LabRun>, solved: number, shown: number, points: number])[] = [
    ["all by oneself", {}, 2, 0, 30],
    ["a wrong prediction", { rightPredictions: 0, wrongPredictions: 1 }, 2, 0, 20],
    ["two hints", { hints: 2 }, 2, 0, 26],
    ["a task that was shown", { shown: ["task"] }, 1, 1, 20],
    ["shown, but not done yet", { done: ["guess"], shown: ["task"] }, 0, 0, 10],
    ["more hints than points", { rightPredictions: 0, shown: ["task", "other"], hints: 3 }, 0, 2, 0],
  ];
  for (const [name, over, solved, shown, points] of table) {
    test(name, () => {
      const result = resultOf(lab, run(over));
      assert.deepEqual([result.solved, result.shown, pointsOf(result)], [solved, shown, points]);
    });
  }
  test("the most that can be had", () => assert.equal(mostPointsOf(lab), pointsOf(resultOf(lab, run()))));
});

describe("the best of several runs", () => {
  const good = resultOf(lab, run());
  const poor = resultOf(lab, run({ hints: 2 }));
  test("a better run replaces it, a poorer or an unfinished one does not", () => {
    assert.deepEqual(bestResult(lab, run({ best: poor })), good);
    assert.deepEqual(bestResult(lab, run({ hints: 5, best: poor })), poor);
    const { finishedAtMs: _, ...unfinished } = run({ best: poor });
    assert.deepEqual(bestResult(lab, unfinished), poor);
    assert.equal(bestResult(lab, undefined), undefined);
  });
  test("of two equal ones the first stays", () => {
    assert.equal(betterOf(good, { ...good, finishedAtMs: 99 }), good);
    assert.equal(betterOf(undefined, poor), poor);
  });
});

describe("the best of several exams", () => {
  const exam = (points: number, atMs = 1) => ({
    atMs,
    minutes: 12,
    usedMs: 1,
    points,
    mostPoints: 80,
    isFinished: true,
  });
  const [good, poor] = [exam(40), exam(10)];
  const table = [
    ["the first one", undefined, poor, poor],
    ["a better one replaces it", poor, good, good],
    ["a poorer one does not", good, poor, good],
    ["nor does an equal one", good, exam(40, 2), good],
  ] as const;
  for (const [name, first, second, want] of table) {
    test(name, () => assert.equal(betterExam(first, second), want));
  }
});
