import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { GOLDEN, goldenLines, MISSING_GOLDEN } from "../../golden/golden.js";
import { type PodWorkersScenario, replayPodWorkers } from "../../golden/podworkers.js";

for (const file of ["handmade", "random"]) {
  const scenarios = goldenLines<PodWorkersScenario>(join(GOLDEN, "podworkers", `${file}.jsonl`));
  describe.skipIf(MISSING_GOLDEN !== undefined)(
    `pod workers of the real kubelet: ${file} (${MISSING_GOLDEN ?? "there"})`,
    () => {
      test("there are scenarios", () => expect(scenarios.length).toBeGreaterThan(10));
      for (const scenario of scenarios) {
        test(scenario.name, async () => expect(await replayPodWorkers(scenario)).toEqual([]));
      }
    },
  );
}
