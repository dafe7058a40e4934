import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Lab } from "../../../../src/lab/labs/format/lab.js";
import type { LabText, StepText } from "../../../../src/lab/labs/format/text.js";
import { proveLab } from "../../../../src/lab/labs/prove/prove.js";
import { MemoryPlace } from "../../../support/memory-place.js";
import { TINY_EN, TINY_YAML, TINY_ZH, tinyLab } from "../../../support/tiny-lab.js";

const signal = new AbortController().signal;
const options = { language: "en", seed: 1 } as const;

async function prove(yaml: string, environment = new MemoryPlace()) {
  return { ...(await proveLab(await tinyLab(yaml), environment, options, signal)), environment };
}

test("a lab that holds: no problems, and all its commands were run", async () => {
  const { problems, steps, environment } = await prove(TINY_YAML);
  assert.deepEqual(problems, []);
  assert.equal(steps, 5);
  const lines = environment.lines.map((line) => line.replace(/atlas|draco/, "NODE"));
  assert.deepEqual(lines, ["kubelab lab begin", "kubelab join NODE", "kubectl delete node NODE", "kubelab join NODE"]);
});

describe("a lab that is broken on purpose is caught", () => {
  const table: readonly (readonly [string, string, string, RegExp])[] = [
    // what is wrong, what stands there, what is put in its place, the problem
    ["begins in another state", "is: 0 }", "is: 1 }", /look: tiny cannot start: expected .* 1, seen .* 0/],
    [
      "its set-up fails",
      "kubelab lab begin",
      "kubelab nonsense",
      /look: `kubelab nonsense` exited with 127, expected 0/,
    ],
    ["a command ends otherwise than said", "do: kubelab join {{node}}", "do: kubelab nonsense {{node}}", /^join: /],
    [
      "a command's effect is another",
      'expect: { object: "/api/v1/nodes/{{node}}" }',
      'expect: { object: "/api/v1/nodes/other" }',
      /^join: wants node other to exist, sees/,
    ],
    ["a line to look at is not there", "joined \\\\w+", "left \\\\w+", /^lines: no line has left/],
    ["two outcomes hold", "exists: true }", "exists: false }", /guess: tiny, step guess: .*: stays, goes/],
    ["no outcome holds", "exists: false }", "exists: true }", /guess: tiny, step guess: .*: -/],
    [
      "a check holds before anything is done",
      'check: { object: "/api/v1/nodes/{{node}}", within: 60s }',
      'check: { object: "/api/v1/nodes/{{node}}", exists: false }',
      /^back: its check succeeds before the step is done/,
    ],
    [
      "a check does not hold after its solution",
      'check: { object: "/api/v1/nodes/{{node}}", within: 60s }',
      'check: { object: "/api/v1/nodes/nobody", within: 60s }',
      /^back: wants node nobody to exist/,
    ],
    [
      "nothing shows why a check holds",
      'check: { object: "/api/v1/nodes/{{node}}", within: 60s }',
      "check: { not: { command: kubelab nonsense } }",
      /^back: nothing shows what decided it$/,
    ],
  ];
  for (const [what, from, to, problem] of table) {
    test(what, async () => {
      assert.ok(TINY_YAML.includes(from), from);
      const { problems } = await prove(TINY_YAML.replace(from, to));
      assert.ok(
        problems.some((one) => problem.test(one)),
        problems.join("\n") || "no problems",
      );
    });
  }
});

test("a wrong answer that is right, or is about another mistake", async () => {
  const yaml = TINY_YAML.replace(
    'check: { object: "/api/v1/nodes/{{node}}", within: 60s }\n    solve:\n      - run: kubelab join {{node}}',
    'check: { file: answer.txt, matches: "^[34]$" }\n    mistakes: { any: "\\\\d", four: "4", five: "5" }\n    solve:\n      - { write: answer.txt, text: "3" }',
  );
  const said = (text: string) =>
    text.replace(/(### goal\n.*)\n/, "$1\n### mistakes\n- any: 不\n- four: 不\n- five: 不\n");
  const lab = await tinyLab(yaml, { "en.md": said(TINY_EN), "zh.md": said(TINY_ZH) });
  const { problems } = await proveLab(lab, new MemoryPlace(), options, signal);
  assert.deepEqual(problems, [
    "back: 4 is right, and no mistake",
    "back: 4 is mistake any, not four",
    "back: 5 is mistake any, not five",
  ]);
});

describe("the texts of each step are shown in both languages", () => {
  // `compileLab` finds these too; the proof finds them where they are shown, with the values of a run.
  const tables: readonly (readonly [string, (lab: Lab) => unknown, string])[] = [
    [
      "a variable that this run does not have",
      ({ text }) => Object.assign(step(text.zh, "back"), { hints: ["看 {{control9}}", "再看"] }),
      "back: zh: {{control9}} has no value",
    ],
    [
      "a task without a goal",
      ({ text }) => Object.assign(step(text.zh, "back"), { goal: "" }),
      "back: zh: it has no goal",
    ],
    [
      "a choice without words",
      ({ text }) => Object.assign(step(text.zh, "guess"), { choices: { stays: "留下" } }),
      "guess: zh: it has no choice goes",
    ],
    [
      "a task that is not translated",
      ({ text }) => Object.assign(step(text.zh, "join"), { body: "Join." }),
      "join: zh: its text is not in Chinese",
    ],
    ["no debrief", ({ text }) => Object.assign(text.en.closing, { debrief: "" }), "en: it has no debrief"],
    [
      "a variable in what comes afterwards",
      ({ text }) => Object.assign(step(text.en, "join"), { afterwards: "{{nobody}}" }),
      "join: en: {{nobody}} has no value",
    ],
  ];
  for (const [what, change, problem] of tables) {
    test(what, async () => {
      const lab = await tinyLab(TINY_YAML);
      change(lab);
      const { problems } = await proveLab(lab, new MemoryPlace(), options, signal);
      assert.deepEqual(problems, [problem]);
    });
  }
});

function step(text: LabText, id: string): StepText {
  return text.steps[id] ?? assert.fail(id);
}

test("an abort is no problem of the lab", async () => {
  const stop = new AbortController();
  stop.abort();
  await assert.rejects(proveLab(await tinyLab(), new MemoryPlace(), options, stop.signal), { name: "AbortError" });
});
