import { mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { expectThatAllHold } from "../../support/run-scenario.js";

/** For faults that no ready scenario has: what follows from them, as upstream has it. */
const FOLDER = join(import.meta.dirname, "faults");
const home = mkdtempSync(join(tmpdir(), "kubelab-test-"));

test.each(readdirSync(FOLDER))("%s: every expectation holds", { timeout: 240_000 }, (file) =>
  expectThatAllHold(home, join(FOLDER, file), 1),
);
