import { expect } from "vitest";
import { runCliProcess } from "./cli-process.js";

/**
 * Runs a ready scenario, and expects that each of its expectations holds. It runs the program as it is built: a test's own process
 * loads modules in ways that a held clock does not see.
 */
export async function expectThatAllHold(home: string, name: string, seed: number): Promise<void> {
  const run = await runCliProcess(home, "chaos", "run", name, "--seed", String(seed), "--json");
  const judgements: readonly { readonly holds: boolean }[] = JSON.parse(run.stdout || "{}").judgements ?? [];
  const failed = judgements.filter(({ holds }) => !holds);
  expect({ failed, code: run.code }, run.stderr).toEqual({ failed: [], code: 0 });
}
