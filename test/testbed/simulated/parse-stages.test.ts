import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { DEFAULT_STAGES } from "../../../src/testbed/simulated/default-stages.js";
import { parseStages } from "../../../src/testbed/simulated/parse-stages.js";
import { findStage } from "../../../src/testbed/simulated/stage.js";
import { stagePod } from "./support.js";

describe("a file of stages that is refused: the file, and of all wrong fields the stage, the path and the value", () => {
  for (const [what, text, message] of [
    ["no list", "name: a", "expected one YAML list of stages"],
    ["an empty file", "", "it has no stages"],
    ["only a comment", "# later", "it has no stages"],
    ["two documents", "[]\n---\n[]", "expected one YAML list of stages"],
    [
      "kwok's format",
      "apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Stage\n---\n[]",
      "this is a Stage of kwok, whose format is not read: a list of stages is",
    ],
    ["no YAML", "- {", /^s\.yaml: line \d: /],
    ["no stage", "- 7", "stage 1: it cannot be 7: expected the fields name, match, delay, next"],
    ["no name", "- next: {}", "stage 1: name is missing: expected a name"],
    ["no next", "- name: a", 'stage 1 "a": next is missing: expected the fields phase, conditions, delete'],
    [
      "an unknown field",
      "- {name: a, nxt: {}, next: {}}",
      'stage 1 "a": it cannot have "nxt": expected the fields name, match, delay, next',
    ],
    [
      "an unknown field below",
      "- {name: a, next: {pase: Running}}",
      'stage 1 "a": next cannot have "pase": expected the fields phase, conditions, delete',
    ],
    [
      "an unknown phase",
      "- {name: a, match: {phase: Done}, next: {}}",
      'stage 1 "a": match.phase cannot be "Done": expected Pending, Running, Succeeded or Failed',
    ],
    [
      "an unknown policy of several",
      "- {name: a, match: {restartPolicy: [Never, no]}, next: {}}",
      'stage 1 "a": match.restartPolicy[1] cannot be false: expected Always, OnFailure or Never',
    ],
    ["no phase", "- {name: a, match: {phase: []}, next: {}}", /match\.phase cannot be \[\]: expected Pending, /],
    [
      "a number as label",
      "- {name: a, match: {labels: {x: 1}}, next: {}}",
      'stage 1 "a": match.labels.x cannot be 1: expected text: quote it',
    ],
    [
      "a status",
      "- {name: a, next: {conditions: {Ready: yes}}}",
      /next\.conditions\.Ready cannot be true: expected "True", "False" or "Unknown"/,
    ],
    [
      "no unit",
      "- {name: a, delay: {duration: '5'}, next: {}}",
      'stage 1 "a": delay.duration cannot be "5": expected a duration such as 500ms or 1m30s',
    ],
    [
      "a negative time",
      "- {name: a, delay: {jitter: -1s}, next: {}}",
      /delay\.jitter cannot be "-1s": expected a duration/,
    ],
    [
      "a time without quotes",
      "- {name: a, delay: {jitter: 5}, next: {}}",
      /delay\.jitter cannot be 5: expected a duration/,
    ],
    [
      "a deletion with a phase",
      "- {name: a, next: {delete: true, phase: Failed}}",
      /next cannot be {"delete":true,"phase":"Failed"}: a pod that is deleted has no phase/,
    ],
    ["a name twice", "- {name: a, next: {}}\n- {name: a, next: {}}", 'stage 2 "a": name: another stage has this name'],
    [
      "all of several",
      "- {name: a, match: {phase: [Done, Running, Gone]}, next: {delete: 1}}\n- next: {}",
      [
        "4 fields are wrong",
        'stage 1 "a": match.phase[0] cannot be "Done": expected Pending, Running, Succeeded or Failed',
        'stage 1 "a": match.phase[2] cannot be "Gone": expected Pending, Running, Succeeded or Failed',
        'stage 1 "a": next.delete cannot be 1: expected true or false',
        "stage 2: name is missing: expected a name",
      ].join("\n"),
    ],
  ] as const) {
    test(what, () => {
      const said = typeof message === "string" ? `s.yaml: ${message}` : expect.stringMatching(message);
      expect(() => parseStages(text, "s.yaml")).toThrow(expect.objectContaining({ message: said }));
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
