import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { COMMANDS } from "../../../src/commands/command-table.js";
import { compileLabs } from "../../../src/lab/labs/format/compile.js";

const compiled = await compileLabs("labs", { commands: COMMANDS.map(({ name }) => name) });
const labs = compiled.flatMap(({ lab }) => (lab === undefined ? [] : [lab]));

describe("the labs", () => {
  test("have no mistakes", () => {
    assert.deepEqual(
      compiled.flatMap(({ problems }) => problems),
      [],
    );
    assert.equal(labs.length, readdirSync("labs").filter((name) => /^\d/.test(name)).length);
  });

  test("every wait has a time limit; without one it would only look once", () => {
    const waits = labs.flatMap(({ definition }) => everyWait(definition));
    assert.ok(waits.length > 20, `found ${waits.length}`);
    assert.deepEqual(
      waits.filter(({ within }) => within === undefined),
      [],
    );
  });

  for (const { definition, text } of labs) {
    test(`${definition.id}: its Chinese is Chinese`, () => {
      const { zh, en } = text;
      // A title may be the words of an error message.
      const parts = [zh.summary, zh.introduction, ...Object.values(zh.closing)];
      for (const { title, body, hints, afterwards } of Object.values(zh.steps)) {
        parts.push(title, body, afterwards, ...hints.slice(0, 1));
      }
      for (const part of parts) if (part !== "") expect(part).toMatch(/[\u3000-\u9fff\uff00-\uffef]/);
      for (const [step, { afterwards }] of Object.entries(en.steps)) {
        assert.equal(zh.steps[step]?.afterwards === "", afterwards === "", `afterwards of ${step}`);
      }
    });
  }
});

/** The checks of all `wait` actions below a value. */
function everyWait(value: unknown): { within?: string }[] {
  if (typeof value !== "object" || value === null) return [];
  const own = "wait" in value && typeof value.wait === "object" && value.wait !== null ? [value.wait] : [];
  return [...own, ...Object.values(value).flatMap(everyWait)];
}
