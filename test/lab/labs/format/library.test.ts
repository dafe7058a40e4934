import assert from "node:assert/strict";
import { test } from "vitest";
import { findLab, summaryOf } from "../../../../src/lab/labs/format/library.js";
import { tinyLab } from "../../../support/tiny-lab.js";

test("a lab is found by its id and by its number, in any case", async () => {
  const summaries = [summaryOf(await tinyLab())];
  for (const word of ["tiny", "TINY", "7"]) assert.equal(findLab(summaries, word)?.id, "tiny");
  assert.equal(findLab(summaries, "8"), undefined);
});
