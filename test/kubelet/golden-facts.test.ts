import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { factLines } from "../golden/areas.js";
import { replayFact } from "../golden/facts.js";
import { GOLDEN, MISSING_GOLDEN } from "../golden/golden.js";

const facts = MISSING_GOLDEN === undefined ? factLines(join(GOLDEN, "facts.json")) : [];

describe.skipIf(MISSING_GOLDEN !== undefined)(`constants of the real kubelet (${MISSING_GOLDEN ?? "there"})`, () => {
  test("there are facts", () => expect(facts.length).toBeGreaterThan(55));
  for (const fact of facts) {
    test(fact.name, async () => expect(await replayFact(fact)).toEqual([]));
  }
});
