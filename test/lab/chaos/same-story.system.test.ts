import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { runCliProcess } from "../../support/cli-process.js";
import { storyOf } from "../../support/story.js";

const home = mkdtempSync(join(tmpdir(), "kubelab-test-"));
const scenario = resolve(import.meta.dirname, "same-story.yaml");

async function story(seed: number, run: number): Promise<ReturnType<typeof storyOf>> {
  const file = join(home, `${seed}-${run}.ndjson`);
  const { stderr } = await runCliProcess(home, "chaos", "run", scenario, "--seed", String(seed), "--trace", file);
  expect(stderr).toBe("");
  return storyOf(file);
}

test("two runs of a seed tell the same story, and another seed tells another one", { timeout: 400_000 }, async () => {
  const stories = [];
  for (const seed of [1, 2]) {
    const first = await story(seed, 1);
    const second = await story(seed, 2);
    expect(first.size).toBeGreaterThan(8);
    expect([...second.keys()].sort()).toEqual([...first.keys()].sort());
    for (const [who, facts] of first) expect(second.get(who), `${who}, seed ${seed}`).toEqual(facts);
    stories.push(first);
  }
  expect(stories[0]).not.toEqual(stories[1]);
});
