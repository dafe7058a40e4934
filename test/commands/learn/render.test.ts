import assert from "node:assert/strict";
import { Chalk } from "chalk";
import { describe, test } from "vitest";
import { LabRenderer } from "../../../src/commands/learn/render.js";
import { sayIn } from "../../../src/i18n/catalogue.js";
import type { LabMessage } from "../../../src/labs/message.js";

function rendered(message: LabMessage, unicode: boolean): string {
  let text = "";
  const options = { chalk: new Chalk({ level: 0 }), width: () => 80, say: sayIn("en"), unicode };
  new LabRenderer(options, { write: (piece) => (text += piece) }).write(message);
  return text.trim().split("\n")[0] ?? "";
}

describe("marks, where a terminal shows all signs and where it shows ASCII", () => {
  const table: readonly (readonly [message: LabMessage, unicode: string, ascii: string])[] = [
    [{ kind: "verdict", ok: true, seen: "it is" }, "✓ correct: it is", "+ correct: it is"],
    [{ kind: "verdict", ok: false, seen: "none", want: "one" }, "✗ not yet", "x not yet"],
    [
      { kind: "answer", given: "a", right: "a", text: "it is" },
      "✓ That is what happened: it is",
      "+ That is what happened: it is",
    ],
    [
      { kind: "answer", given: "a", right: "b", text: "it is" },
      "✗ You expected something else. What happened: it is",
      "x You expected something else. What happened: it is",
    ],
    [{ kind: "look", line: "0.001 user" }, "▸ 0.001 user", "> 0.001 user"],
  ];
  for (const [message, unicode, ascii] of table) {
    test(unicode, () => {
      assert.equal(rendered(message, true), unicode);
      assert.equal(rendered(message, false), ascii);
    });
  }
});
