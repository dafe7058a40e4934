import { describe, expect, test } from "vitest";
import { grade, untranslated } from "../../support/grade.js";

test("an agent that runs no pods gets no points for what never ran", { timeout: 240_000 }, async () => {
  const agent = "examples/agents/javascript/agent.mjs";
  const { verdicts, failed, why } = await grade(5, "node", agent, "{kubeconfig}", "{node}", "{cri}");
  expect(failed).toEqual(expect.arrayContaining(["adopts-containers", "away-local", "back-deleted", "storage-limit"]));
  expect(why("adopts-containers")).toBe("not examined: pod stays never ran in the runtime");
  expect(why("evicts-by-rank")).toBe("not examined: pods entitled and greedy never ran");
  expect(untranslated(verdicts)).toEqual([]);
});

const MISTAKES = [
  // mistake, requirement, the sentence that decides it
  ["right", "memory-pressure", /% of the Node's allocatable memory: MemoryPressure was not reported$/],
  ["evicts-largest", "evicts-by-rank", /; pod entitled, which stays within its request: phase Failed, /],
  ["hammers", "away-quiet", / in 30 s without an answer; the same one came \d+ times without a growing wait$/],
  ["gives-up-without-api", "back-lease", /^no renewal of the Lease in 45 s after the API server was back$/],
  ["exits-without-api", "back-lease", /^The agent has ended: it exited with code 1\.$/],
] as const;

describe("a well-known mistake fails its requirement", () => {
  test.concurrent.each(MISTAKES)("%s", { timeout: 300_000 }, async (mistake, failed, sentence) => {
    const graded = await grade(5, "node", "level-2.mjs", mistake, "{kubeconfig}", "{node}", "{cri}");
    expect(graded.failed).toContain(failed);
    expect(graded.why(failed)).toMatch(sentence);
    expect(untranslated(graded.verdicts)).toEqual([]);
  });
});
