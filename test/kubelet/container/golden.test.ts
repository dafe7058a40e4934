import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { GOLDEN, goldenLines, MISSING_GOLDEN } from "../../golden/golden.js";
import { type CacheScenario, replayCache } from "../../golden/podcache.js";

for (const file of ["handmade", "random"]) {
  const scenarios = goldenLines<CacheScenario>(join(GOLDEN, "podcache", `${file}.jsonl`));
  const title = `waits on the real kubelet's pod cache: ${file}`;
  describe.skipIf(MISSING_GOLDEN !== undefined)(`${title} (${MISSING_GOLDEN ?? "there"})`, () => {
    test("there are scenarios", () => expect(scenarios.length).toBeGreaterThanOrEqual(20));
    for (const scenario of scenarios) {
      test(scenario.name, async () => expect(await replayCache(scenario)).toEqual([]));
    }
  });
}
