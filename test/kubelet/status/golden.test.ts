import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { AREAS } from "../../golden/areas.js";
import { GOLDEN, type GoldenLine, goldenLines, MISSING_GOLDEN } from "../../golden/golden.js";

describe.skipIf(MISSING_GOLDEN !== undefined)(`the real kubelet's statuses (${MISSING_GOLDEN ?? "there"})`, () => {
  const files = MISSING_GOLDEN === undefined ? readdirSync(join(GOLDEN, "status")).map((name) => `status/${name}`) : [];
  test("there are three files", () => expect(files.length).toBeGreaterThanOrEqual(3));
  for (const file of files) {
    const area = AREAS.find(({ matches }) => matches(file));
    for (const [i, line] of goldenLines<GoldenLine>(join(GOLDEN, file)).entries()) {
      test(`${area?.name}: ${line.name ?? i}`, async () => expect(await area?.replay(line)).toEqual([]));
    }
  }
});
