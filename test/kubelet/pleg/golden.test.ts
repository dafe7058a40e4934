import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { GOLDEN, goldenLines, MISSING_GOLDEN } from "../../golden/golden.js";
import { type PlegScenario, replayPleg } from "../../golden/pleg.js";

for (const file of ["handmade", "random"]) {
  const scenarios = goldenLines<PlegScenario>(join(GOLDEN, "pleg", `${file}.jsonl`));
  describe.skipIf(MISSING_GOLDEN !== undefined)(
    `relists of the real kubelet: ${file} (${MISSING_GOLDEN ?? "there"})`,
    () => {
      test("there are scenarios", () => expect(scenarios.length).toBeGreaterThan(30));
      for (const scenario of scenarios) {
        test(scenario.name, async () => expect(await replayPleg(scenario)).toEqual([]));
      }
    },
  );
}
