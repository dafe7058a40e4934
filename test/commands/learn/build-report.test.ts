import assert from "node:assert/strict";
import { test } from "vitest";
import { buildInWords, buildReport } from "../../../src/commands/learn/build-report.js";
import { allTasks } from "../../../src/lab/build/library.js";
import { EMPTY_PROGRESS, type LabProgress, type Progress } from "../../../src/lab/labs/progress/progress.js";
import { sayIn } from "../../../src/util/i18n/catalogue.js";

const run = (over: Partial<LabProgress>): LabProgress => ({
  ...{ revision: 1, seed: 0, done: [], hints: 0, rightPredictions: 0, wrongPredictions: 0, startedAtMs: 0 },
  ...over,
});
const tasks = (await allTasks()).slice(0, 2);
const [first, second] = tasks.map(({ stages }) => stages.map(({ id }) => id));
/** One stage with a hint, one that was shown first, the others open. */
const progress: Progress = {
  version: 1,
  labs: {
    [`build:renew-interval/${first?.[0]}`]: run({ done: [first?.[0] ?? ""], hints: 1 }),
    [`build:renew-interval/${first?.[1]}`]: run({ done: [first?.[1] ?? ""], shown: [first?.[1] ?? ""] }),
  },
};
const stages = (first?.length ?? 0) + (second?.length ?? 0);

test("a report without a begun task says nothing of build", () => {
  assert.deepEqual(buildInWords(tasks, EMPTY_PROGRESS, sayIn("en"), {}), []);
});

test("the points of build are in the report, in both languages and at the width of a terminal", () => {
  const words = `Stages of kubelab build: 2 of ${stages} done, 8 of ${stages * 10} points.`;
  assert.deepEqual(buildInWords(tasks, progress, sayIn("en"), {}), [words]);
  const narrow = buildInWords(tasks, progress, sayIn("en"), { columns: 30 });
  assert.deepEqual([narrow.length > 1, narrow.join(" ")], [true, words]);
  assert.match(buildInWords(tasks, progress, sayIn("zh"), {}).join(), /kubelab build 的阶段：/);
});

test("the teacher's report has each task", () => {
  assert.deepEqual(
    buildReport(tasks, progress).map(({ title: _, ...rest }) => rest),
    [
      {
        ...{ id: "renew-interval", number: 1, begun: true, stages: first?.length, stagesDone: 2, stagesShown: 1 },
        ...{ hints: 1, points: 8, mostPoints: (first?.length ?? 0) * 10 },
      },
      {
        ...{ id: "generate-events", number: 2, begun: false, stages: second?.length, stagesDone: 0, stagesShown: 0 },
        ...{ hints: 0, points: 0, mostPoints: (second?.length ?? 0) * 10 },
      },
    ],
  );
});
