import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { readyScenarios } from "../../../src/lab/chaos/library.js";
import { runInProcess } from "../../support/run-cli.js";
import { expectThatAllHold } from "../../support/run-scenario.js";

const RUNS = (await readyScenarios()).map(({ name }) => name);

const home = mkdtempSync(join(tmpdir(), "kubelab-test-"));

test.each(RUNS)("%s: every expectation holds", { timeout: 240_000 }, (name) => expectThatAllHold(home, name, 1));

test("--junit: a case per expectation; what never happened is a failure", { timeout: 120_000 }, async () => {
  const file = resolve(import.meta.dirname, "never.yaml");
  const { stdout, code } = await runInProcess(["chaos", "run", file, "--junit"]);
  expect(code).toBe(1);
  expect(stdout).toContain('tests="2" skipped="0" failures="1"');
  expect(stdout).toContain('name="event=&lt;None&gt; (within 2 s)"><failure message="never happened"/>');
});
