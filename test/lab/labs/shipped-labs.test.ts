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
