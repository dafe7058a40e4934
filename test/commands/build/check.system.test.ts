import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "vitest";
import { newHome, runCliProcess } from "../../support/cli-process.js";

const WRONG = "export const renewInterval = (seconds) => seconds * 0.5 * 1000;";

test.each([
  ["en", /yours gave 20000/],
  ["zh", /你的得到 20000/],
])("the sentence of check --json is in the language asked for: %s", async (language, sentence) => {
  const home = newHome();
  writeFileSync(join(home, "mine.mjs"), `// kubelab build: renew-interval\n${WRONG}`);
  const { code, stdout } = await runCliProcess(home, "build", "check", "mine.mjs", "--json", "--lang", language);
  assert.match((JSON.parse(stdout) as { readonly sentence: string }).sentence, sentence);
  assert.equal(code, 1);
});

test("the name of a file names its task where the first line does not", async () => {
  const home = newHome();
  writeFileSync(join(home, "renew-interval.mjs"), WRONG);
  writeFileSync(join(home, "other.mjs"), WRONG);
  assert.match((await runCliProcess(home, "build", "check")).stdout, /yours gave 20000/);
  const { code, stderr } = await runCliProcess(home, "build", "check", "other.mjs");
  assert.match(stderr, /other.mjs does not name its task/);
  assert.equal(code, 2);
});
