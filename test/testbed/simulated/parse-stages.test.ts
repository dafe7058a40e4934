import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { DEFAULT_STAGES } from "../../../src/testbed/simulated/default-stages.js";
import { parseStages } from "../../../src/testbed/simulated/parse-stages.js";
import { findStage } from "../../../src/testbed/simulated/stage.js";
import { stagePod } from "./support.js";

describe("a file of stages that is refused: one sentence with the file, the stage and the field", () => {
  for (const [what, text, message] of [
    ["no list", "name: a", "s.yaml: expected one YAML list of stages"],
    ["an empty file", "", "s.yaml: expected one YAML list of stages"],
    ["two documents", "[]\n---\n[]", "s.yaml: expected one YAML list of stages"],
    ["no YAML", "- {", /^s\.yaml: line \d: /],
    ["no stage", "- 7", /^s\.yaml: stage 1: Invalid input: expected object/],
    ["no name", "- next: {}", /^s\.yaml: stage 1: name: Invalid input: expected string/],
    ["no next", "- name: a", /^s\.yaml: stage 1 "a": next: Invalid input: expected object/],
    ["an unknown field", "- {name: a, nxt: {}, next: {}}", /^s\.yaml: stage 1 "a": Unrecognized key: "nxt"/],
    ["an unknown field below", "- {name: a, next: {pase: Running}}", /^s\.yaml: stage 1 "a": next: Unrecognized key/],
    ["an unknown phase", "- {name: a, next: {phase: Done}}", /^s\.yaml: stage 1 "a": next\.phase: Invalid option/],
    [
      "an unknown policy",
      "- {name: a, match: {restartPolicy: [no]}, next: {}}",
      /"a": match\.restartPolicy\.0: Invalid/,
    ],
    ["a number as label", "- {name: a, match: {labels: {x: 1}}, next: {}}", /"a": match\.labels\.x: Invalid input/],
    [
      "no unit",
      "- {name: a, delay: {duration: '5'}, next: {}}",
      /"a": delay\.duration: time: missing unit in duration "5"/,
    ],
    ["a negative time", "- {name: a, delay: {jitter: -1s}, next: {}}", /"a": delay\.jitter: "-1s" is negative/],
    ["a deletion with a phase", "- {name: a, next: {delete: true, phase: Failed}}", /"a": next: a pod that is deleted/],
    ["a name twice", "- {name: a, next: {}}\n- {name: a, next: {}}", /stage 2 "a": name: another stage has this name/],
  ] as const) {
    test(what, () => {
      expect(() => parseStages(text, "s.yaml")).toThrow(message);
    });
  }
});

test("a single value and a list mean the same, and what is absent has a default", () => {
  const text = "- {name: a, match: {phase: Pending, restartPolicy: [Never]}, delay: {duration: 1m30s}, next: {}}";
  expect(parseStages(text, "s.yaml")).toEqual([
    {
      name: "a",
      match: { phase: ["Pending"], restartPolicy: ["Never"], deletion: false },
      delay: { durationMs: 90_000, jitterMs: 0 },
      next: {},
    },
  ]);
});

describe("the stage that a pod takes", () => {
  const stages = parseStages(
    `- {name: flaky, match: {labels: {app: flaky}, phase: [Pending, Running]}, next: {phase: Failed}}\n${DEFAULT_STAGES}`,
    "s.yaml",
  );
  for (const [what, pod, want] of [
    ["a new pod", stagePod({}), "pod-ready"],
    ["a pod without a phase", stagePod({ phase: undefined }), "pod-ready"],
    ["a running pod stays", stagePod({ phase: "Running" }), undefined],
    ["a Job's pod ends", stagePod({ phase: "Running", restartPolicy: "OnFailure" }), "pod-complete"],
    ["an ended pod stays", stagePod({ phase: "Succeeded", restartPolicy: "Never" }), undefined],
    ["a deleted pod goes, in any phase", stagePod({ phase: "Running", deletionTimestamp: "t" }), "pod-delete"],
    ["the first that matches", stagePod({ labels: { app: "flaky", more: "x" } }), "flaky"],
    ["another value of the label", stagePod({ labels: { app: "other" } }), "pod-ready"],
    [
      "a stage without deletion is for pods that stay",
      stagePod({ labels: { app: "flaky" }, deletionTimestamp: "t" }),
      "pod-delete",
    ],
  ] as const) {
    test(what, () => {
      expect(findStage(stages, pod)?.name).toBe(want);
    });
  }
});

test("the documentation shows the built-in stages", () => {
  expect(readFileSync("docs/commands.md", "utf8")).toContain(DEFAULT_STAGES);
});
