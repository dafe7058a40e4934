import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCliProcess } from "../../../support/cli-process.js";

const home = mkdtempSync(join(tmpdir(), "kubelab-test-"));
const invariants = join(home, "never.yaml");
writeFileSync(invariants, "never: [node/node-1=Ready]\n");

test("a failing run is shrunk, and chaos run takes its file", { timeout: 240_000 }, async () => {
  const explored = await runCliProcess(
    home,
    ...["chaos", "explore", "--runs", "1", "--seed", "4", "--invariants", invariants, "--keep", home, "--json"],
  );
  expect(explored.code, explored.stderr).toBe(1);
  const { failures } = JSON.parse(explored.stdout);
  expect(failures).toMatchObject([{ seed: 4, condition: "node/node-1=Ready", isRepeatable: true }]);
  const again = await runCliProcess(home, "chaos", "run", failures[0].file, "--json");
  expect(JSON.parse(again.stdout)).toMatchObject({ seed: 4, holds: false });
  expect(again.code).toBe(1);
});

test("a run that keeps all invariants", { timeout: 240_000 }, async () => {
  const explored = await runCliProcess(
    home,
    "chaos",
    "explore",
    "--runs",
    "1",
    "--seed",
    "4",
    "--keep",
    home,
    "--json",
  );
  expect(JSON.parse(explored.stdout)).toEqual({ seed: 4, runs: 1, failures: [] });
  expect(explored.code).toBe(0);
});

test.each([
  [["--runs", "0"], "a whole number from 1"],
  [["--seed", "-1"], "a whole number from 0"],
  [["--invariants", "all"], "default or a file"],
  [["--invariants", "./missing.yaml"], "no such file"],
])("refuses %j", { timeout: 60_000 }, async (flags, message) => {
  const { code, stderr } = await runCliProcess(home, "chaos", "explore", ...flags);
  expect(code).toBe(2);
  expect(stderr).toContain(message);
});
