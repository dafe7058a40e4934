import assert from "node:assert/strict";
import { test } from "vitest";
import { commandsOf } from "../../../../src/lab/labs/format/commands.js";
import { compileLabs } from "../../../../src/lab/labs/format/compile.js";
import { typeOf } from "../../../../src/lab/labs/format/steps.js";
import { LANGUAGES } from "../../../../src/util/i18n/language.js";

const labs = (await compileLabs("labs")).flatMap(({ lab }) => (lab === undefined ? [] : [lab]));

for (const kind of ["chapter", "incident"]) {
  test(`at most one step of a ${kind} in five needs only Enter`, () => {
    const steps = labs.flatMap(({ definition }) => (definition.kind === kind ? definition.steps : []));
    const passive = steps.filter((step) => !["check", "predict"].includes(typeOf(step)));
    assert.ok(steps.length > 80);
    assert.ok(passive.length * 5 <= steps.length, `${passive.length} of ${steps.length}`);
  });
}

for (const { definition, text } of labs) {
  test(`${definition.id}: begins with something to do, and says why each wrong choice is wrong`, () => {
    assert.notEqual(typeOf(definition.steps[0] ?? assert.fail()), "read");
    for (const step of definition.steps) {
      if (!("predict" in step)) continue;
      for (const language of LANGUAGES) {
        const { mistakes = {} } = text[language].steps[step.id] ?? {};
        // The right one has none, unless it depends on the run.
        const silent = step.predict.filter((choice) => mistakes[choice] === undefined);
        assert.ok(silent.length <= 1, `${language} ${step.id}: ${silent.join(", ")}`);
      }
    }
  });
}

test("no step prints whole pods: what it shows is what the step is about", () => {
  const lines = labs.flatMap(({ definition }) => commandsOf(definition.steps));
  assert.deepEqual(
    lines.filter((line) => /^kubectl get (?:pods?|secrets?) .*-o (?:yaml|json)$/.test(line)),
    [],
  );
  assert.ok(lines.length > 300);
});
