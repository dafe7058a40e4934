import { readdirSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { runInProcess } from "../../support/run-cli.js";

const FOLDER = resolve(import.meta.dirname, "../../../scenarios");

const RUNS = readdirSync(FOLDER).flatMap((name) => [1, 2].map((seed) => [name, seed] as const));

test.each(RUNS)("%s, seed %i: every expectation holds", { timeout: 120_000 }, async (name, seed) => {
  const run = await runInProcess(["chaos", "run", resolve(FOLDER, name), "--seed", String(seed), "--json"]);
  const failed = JSON.parse(run.stdout).judgements.filter((one: { readonly holds: boolean }) => !one.holds);
  expect({ failed, code: run.code }).toEqual({ failed: [], code: 0 });
});
