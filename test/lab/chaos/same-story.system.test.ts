import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { runCliProcess } from "../../support/cli-process.js";

const home = mkdtempSync(join(tmpdir(), "kubelab-test-"));
const scenario = resolve(import.meta.dirname, "same-story.yaml");
const timeout = 400_000;

async function record(seed: number): Promise<string> {
  const file = join(home, `${seed}.ndjson`);
  const { stderr } = await runCliProcess(home, "chaos", "run", scenario, "--seed", String(seed), "--trace", file);
  expect(stderr).toBe("");
  return file;
}

test.each([1, 2, 3])("the run of seed %i again tells the same story", { timeout }, async (seed) => {
  const file = await record(seed);
  const again = await runCliProcess(home, "replay", file);
  expect(again.stdout).toMatch(/^The same story: \d{4} facts of /);
  expect(again.code).toBe(0);
});

describe("a recorded run", { timeout }, () => {
  const recorded = record(4);

  test("of another seed tells another story: the first difference is shown", async () => {
    const file = join(home, "other-seed.ndjson");
    writeFileSync(file, readFileSync(await recorded, "utf8").replace('"seed":4', '"seed":5'));
    const { stdout, code } = await runCliProcess(home, "replay", file);
    expect(stdout).toMatch(/^The story differs first at \d+\.\d{3} s, in [a-z]+.*:\nrecorded +\| this time\n/);
    expect(code).toBe(1);
  });

  // The node is cut off from 10 s to 60 s, and its Lease was renewed last at 5 s. One that is renewed at 30 s lasts until 70 s.
  test.each(["renew-lease node=node-1", "no partition"])("what if, at 30 s: %s", async (change) => {
    const run = await runCliProcess(home, "replay", await recorded, "--from", "30s", "--change", change, "--json");
    expect(run.stderr).toBe("");
    const { zeroMs, recorded: before, instead, judgements } = JSON.parse(run.stdout);
    const unknown = (facts: readonly { subject?: string; to?: string; atMs: number }[]) =>
      facts.filter(({ subject, to }) => subject === "node node-1" && to === "Unknown").map(({ atMs }) => atMs - zeroMs);
    expect([unknown(before), unknown(instead)]).toEqual([[45_000], []]);
    expect(judgements[0]).toMatchObject({ condition: "node/node-1=Unknown", holds: false });
  });
});
