import assert from "node:assert/strict";
import { Chalk } from "chalk";
import { describe, test } from "vitest";
import { LabRenderer } from "../../../../src/commands/learn/play/render.js";
import type { LabMessage } from "../../../../src/lab/labs/session/message.js";
import type { Fact } from "../../../../src/trace/events.js";
import { sayIn } from "../../../../src/util/i18n/catalogue.js";
import { textWidth } from "../../../../src/util/text/text-width.js";
import { fact } from "../../../trace/facts.js";

type TraceMessage = LabMessage & { kind: "trace" };
type Interest = TraceMessage["interest"];

const STATE: Fact = { kind: "state", subject: "pod a", what: "", to: "Running" };

function told(interest: Interest, awaited = 0, of: Fact = STATE, details: readonly string[] = []): TraceMessage {
  return { kind: "trace", fact: fact("1", of, {}), afterMs: 1_250, interest, awaited, details };
}

function shown(
  messages: readonly LabMessage[],
  { width = 80, hasKeys = true, lang = "en" as "en" | "zh" } = {},
): string[] {
  let text = "";
  const options = { chalk: new Chalk({ level: 0 }), width: () => width, say: sayIn(lang), unicode: true, hasKeys };
  const renderer = new LabRenderer(options, { write: (piece) => (text += piece) });
  for (const message of messages) renderer.write(message);
  return text.trimEnd().split("\n");
}

const times = (count: number, message: LabMessage) => Array.from({ length: count }, () => message);
const DONE: LabMessage = { kind: "done", step: "a", hints: 0 };
const LINE = "  1.250 user       ● pod a: Running";
const step = { kind: "step", id: "b", type: "do", title: "b", index: 2, count: 2 } as const;

describe("eight lines of a step's trace, and the number of the rest", () => {
  const table: readonly (readonly [what: string, messages: readonly LabMessage[], lines: number, rest: number])[] = [
    ["a short trace is whole", times(8, told("more")), 8, 0],
    ["a long one ends after eight lines", times(20, told("more")), 8, 12],
    ["what a step is about is always shown", times(10, told("about")), 10, 0],
    ["it has room kept", [...times(8, told("more", 3)), ...times(3, told("about"))], 8, 3],
    ["requests and the like are only counted", [...times(9, told("none")), told("about")], 1, 9],
  ];
  test.each(table)("%s", (_, messages, lines, rest) => {
    const want = [
      ...Array<string>(lines).fill(LINE),
      ...(rest === 0 ? [] : [`  … ${rest} more: t shows the whole trace`]),
    ];
    assert.deepEqual(shown([...messages, DONE]), want);
  });

  test("each step has its own; a count stands before the next message", () => {
    const text = shown([...times(9, told("more")), step, told("more"), DONE]);
    assert.deepEqual(text.slice(8), ["  … 1 more: t shows the whole trace", "", "Step 2 of 2: b", "", LINE]);
  });

  test("the lines that a result has more are counted as well", () => {
    const result: LabMessage = { kind: "output", stream: "stdout", text: "POST /x: 201\n", folded: 40 };
    const want = ["POST /x: 201", "  … 42 more: t shows the whole trace"];
    assert.deepEqual(shown([...times(2, told("none")), result, DONE]), want);
  });

  test("without the key, and in Chinese", () => {
    const messages = [...times(2, told("none")), DONE];
    assert.deepEqual(shown(messages, { hasKeys: false }), ["  … 2 more"]);
    assert.deepEqual(shown(messages, { lang: "zh" }), ["  …… 另有 2 条：按 t 显示全部"]);
  });
});

const ID = "0123456789abcdef".repeat(4);
const UID = "6dab0383-524b-4982-9d13-c977132fac00";

describe("a line", () => {
  test("has short IDs, and below it what the step is about", () => {
    const decision: Fact = { kind: "decision", what: `kill ${ID} of ${UID}`, why: "x", constants: [] };
    assert.deepEqual(shown([told("about", 0, decision, [`because ${ID}`])]), [
      "  1.250 user       ◆ kill 0123456789ab of 6dab0383",
      "                     because 0123456789ab",
    ]);
  });

  test("shows no command of a note, and a table's rows aligned", () => {
    const note: Fact = { kind: "note", text: "node is up\n  kubectl get pods" };
    const rows = [
      ["default/a-pod-with-a-long-name", "main", "non-existent", "running"],
      ["default/b", "main", "running", "exited"],
    ];
    const table: Fact = { kind: "table", title: "states", columns: ["pod", "container", "old", "new"], rows };
    assert.deepEqual(
      shown([told("about", 0, note), told("about", 0, table)]).map((line) => line.slice(19)),
      [
        "  node is up",
        "  states",
        "    CONTAINER  OLD           NEW",
        "  default/a-pod-with-a-long-name",
        "    main       non-existent  running",
        "  default/b",
        "    main       running       exited",
      ],
    );
  });

  test.each([60, 80, 120])("fits %d columns without a broken word", (width) => {
    const state: Fact = {
      kind: "state",
      subject: "Deployment default/shop",
      what: "",
      to: "many words ".repeat(20).trim(),
    };
    const text = shown([told("about", 0, state)], { width });
    for (const line of text) assert.ok(textWidth(line) <= width, line);
    assert.deepEqual(
      new Set(text.flatMap((line) => line.match(/[a-z]{4,}/g) ?? [])),
      new Set(["user", "default", "shop", "many", "words", "eployment"]),
    );
  });
});
