import { describe, expect, test } from "vitest";
import {
  firstPendingIndexes,
  generateNameWithIndex,
  includesIndex,
  intervalsText,
  succeededIndexes,
  totalOf,
  withIndexes,
} from "../../../src/cluster/controllers/job/indexed-job-utils.js";
import { matchPodFailurePolicy } from "../../../src/cluster/controllers/job/pod-failure-policy.js";
import type { JobObject } from "../../../src/cluster/controllers/job/utils.js";
import type { PodObject } from "../../../src/staging/apimachinery/api/objects.js";

const TRACKED = { finalizers: ["batch.kubernetes.io/job-tracking"] };

function pod(index: string, phase = "Running", metadata: object = TRACKED): PodObject {
  const annotations = { "batch.kubernetes.io/job-completion-index": index };
  return { apiVersion: "v1", kind: "Pod", metadata: { annotations, ...metadata }, status: { phase } } as PodObject;
}

function jobWith(completedIndexes: string, completions: number): JobObject {
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: {},
    spec: { completions },
    status: { completedIndexes },
  } as JobObject;
}

describe("intervals", () => {
  test.each<[indexes: number[], text: string, total: number]>([
    [[], "", 0],
    [[3], "3", 1],
    [[0, 1], "0,1", 2],
    [[2, 0, 1], "0-2", 3],
    [[0, 1, 2, 4, 5, 7], "0-2,4,5,7", 6],
    [[1, 1, 1], "1", 1],
  ])("%j is %j", (indexes, text, total) => {
    const intervals = withIndexes([], indexes);
    expect([intervalsText(intervals), totalOf(intervals)]).toEqual([text, total]);
  });

  test("new indexes join their neighbours", () => {
    const intervals = withIndexes(
      [
        [0, 2],
        [5, 5],
      ],
      [3, 4, 9],
    );
    expect(intervalsText(intervals)).toBe("0-5,9");
    expect([includesIndex(intervals, 4), includesIndex(intervals, 6)]).toEqual([true, false]);
  });
});

test.each<[what: string, stored: string, pods: PodObject[], before: string, now: string]>([
  ["nothing yet", "", [pod("0")], "", ""],
  ["a new success", "0", [pod("1", "Succeeded")], "0", "0,1"],
  ["a success that is counted already", "", [pod("1", "Succeeded", {})], "", ""],
  ["an index beyond the completions", "", [pod("5", "Succeeded")], "", ""],
  ["an index that is no number", "", [pod("x", "Succeeded"), pod("-1", "Succeeded")], "", ""],
  ["a failure", "", [pod("1", "Failed")], "", ""],
  ["a corrupted status", "0,x,2-y,3", [], "0,3", "0,3"],
  ["more than the completions in the status", "0-2,4-9", [], "0-2,4", "0-2,4"],
])("succeeded indexes: %s", (_what, stored, pods, before, now) => {
  const indexes = succeededIndexes(jobWith(stored, 5), pods);
  expect([intervalsText(indexes.before), intervalsText(indexes.now)]).toEqual([before, now]);
});

test.each<[active: string[], succeeded: number[], count: number, completions: number, pending: number[]]>([
  [[], [], 3, 5, [0, 1, 2]],
  [["0"], [], 2, 5, [1, 2]],
  [["1"], [0, 3], 5, 5, [2, 4]],
  [[], [0, 1, 2, 3, 4], 2, 5, []],
  [["7"], [], 2, 2, [0, 1]],
  [[], [1], 0, 5, []],
])(
  "pending indexes with active %j and succeeded %j: %i of %i are %j",
  (active, succeeded, count, completions, pending) => {
    const pods = active.map((index) => pod(index));
    expect(firstPendingIndexes(pods, withIndexes([], succeeded), count, completions)).toEqual(pending);
  },
);

test("a generated name keeps its index, and is short enough", () => {
  expect(generateNameWithIndex("job", 7)).toBe("job-7-");
  expect(generateNameWithIndex("a".repeat(63), 12)).toBe(`${"a".repeat(54)}-12-`);
});

const failed = (status: object) =>
  ({ ...pod("0", "Failed"), metadata: { namespace: "d", name: "p" }, status }) as PodObject;
const exits = (name: string, exitCode: number) => ({ name, state: { terminated: { exitCode } } });
const onExit = (action: string, requirement: object) => ({ action, onExitCodes: requirement, onPodConditions: [] });
const onCondition = (action: string, type: string) => ({ action, onPodConditions: [{ type, status: "True" }] });

test.each<[what: string, rules: object[], status: object, match: object]>([
  ["no rule", [], {}, { isCounted: true }],
  [
    "an exit code in the list",
    [onExit("FailJob", { operator: "In", values: [1, 42] })],
    { containerStatuses: [exits("c", 42)] },
    { isCounted: true, failJob: "Container c for pod d/p failed with exit code 42 matching FailJob rule at index 0" },
  ],
  [
    "an exit code that is not in the list",
    [onExit("Ignore", { operator: "NotIn", values: [1] })],
    { containerStatuses: [exits("c", 2)] },
    { isCounted: false },
  ],
  [
    "exit code 0 matches nothing",
    [onExit("Ignore", { operator: "NotIn", values: [1] })],
    { containerStatuses: [exits("c", 0)] },
    { isCounted: true },
  ],
  [
    "another container",
    [onExit("Ignore", { containerName: "main", operator: "In", values: [1] })],
    { containerStatuses: [exits("side", 1)] },
    { isCounted: true },
  ],
  [
    "an init container",
    [onExit("Ignore", { operator: "In", values: [3] })],
    { initContainerStatuses: [exits("init", 3)] },
    { isCounted: false },
  ],
  [
    "the first rule that matches",
    [onCondition("Count", "DisruptionTarget"), onExit("FailJob", { operator: "In", values: [1] })],
    { conditions: [{ type: "DisruptionTarget", status: "True" }], containerStatuses: [exits("c", 1)] },
    { isCounted: true },
  ],
  [
    "a condition that fails the job",
    [onExit("Ignore", { operator: "In", values: [1] }), onCondition("FailJob", "ConfigIssue")],
    { conditions: [{ type: "ConfigIssue", status: "True" }] },
    { isCounted: true, failJob: "Pod d/p has condition ConfigIssue matching FailJob rule at index 1" },
  ],
  [
    "a condition that is False",
    [onCondition("Ignore", "DisruptionTarget")],
    { conditions: [{ type: "DisruptionTarget", status: "False" }] },
    { isCounted: true },
  ],
])("pod failure policy: %s", (_what, rules, status, match) => {
  expect(matchPodFailurePolicy({ rules } as Parameters<typeof matchPodFailurePolicy>[0], failed(status))).toEqual(
    match,
  );
});
