import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { readyScenarios } from "../../../src/lab/chaos/library.js";
import { expectThatAllHold } from "../../support/run-scenario.js";

const RUNS = (await readyScenarios()).flatMap(({ name }) => [2, 3].map((seed) => [name, seed] as const));
const home = mkdtempSync(join(tmpdir(), "kubelab-test-"));

test.each(RUNS)("%s, seed %i: every expectation holds", { timeout: 240_000 }, (name, seed) =>
  expectThatAllHold(home, name, seed),
);
