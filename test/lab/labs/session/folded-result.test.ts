import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { foldedResult } from "../../../../src/lab/labs/session/folded-result.js";

const steps = Array.from({ length: 12 }, (_, i) => [
  `${String(i + 1).padStart(3)}   0.0${i + 10} filter    step ${i + 1}`,
  "                        why it is so",
  `                        pkg/a.go func${i + 1}`,
]);
const LINES = ["POST /x: 201", ...steps.flat()];
const TEXT = `${LINES.join("\n")}\n`;

describe("a long result of numbered steps", () => {
  const table: readonly (readonly [about: readonly string[], numbers: readonly number[], lines: number])[] = [
    [[], [1, 2, 3, 4, 5, 6, 7, 8], 9],
    [["func11$"], [1, 2, 3, 4, 5, 11], 9],
    [["step (9|10|11)$"], [9, 10, 11], 10],
    [["step"], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], 37],
  ];
  test.each(table)("about %j: steps %j", (about, numbers, count) => {
    const { text = "", folded = 0 } = foldedResult(TEXT, LINES, about) ?? {};
    assert.deepEqual(
      [...text.matchAll(/step (\d+)/g)].map(([, number]) => Number(number)),
      numbers,
    );
    assert.equal(text.trimEnd().split("\n").length, count);
    assert.equal(folded, LINES.length - count);
    assert.ok(text.startsWith("POST /x: 201\n"));
  });

  test("is found in English, where the terminal has it in Chinese and broken", () => {
    const shown = TEXT.replaceAll("step", "步骤").replaceAll("why it is so", "因为\n                        如此");
    assert.match(
      foldedResult(shown, LINES, ["step 12$"])?.text ?? "",
      /步骤 12\n +因为\n +如此\n +pkg\/a\.go func12\n$/,
    );
  });

  test("a short one, and one without numbered steps, stay whole", () => {
    assert.equal(foldedResult(LINES.slice(0, 12).join("\n"), LINES.slice(0, 12), []), undefined);
    const words = Array.from({ length: 30 }, () => "a line");
    assert.equal(foldedResult(words.join("\n"), words, ["line"]), undefined);
  });
});
