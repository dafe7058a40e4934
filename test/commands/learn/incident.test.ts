import assert from "node:assert/strict";
import { test } from "vitest";
import { runInProcess } from "../../support/run-cli.js";

/** Without a terminal an exam is refused, but only once its lab is known. */
const FOUND = /^error: an exam needs a terminal/;
const ROWS = [
  [["disk-full", "--exam"], FOUND],
  [["i1", "--exam"], FOUND],
  [["--random", "--exam"], FOUND],
  [[], /^error: which incident\? its id, or --random\n/],
  [["disk-full", "--random"], /^error: which incident\? its id, or --random\n/],
  [["disk-ful"], /did you mean disk-full\?/],
  [["heartbeats"], /^error: heartbeats is a chapter, not an incident\nkubelab learn start heartbeats\n/],
] as const;
for (const [words, wanted] of ROWS) {
  test(`learn incident ${words.join(" ")}`, async () => {
    const { code, stderr } = await runInProcess(["learn", "incident", ...words], { env: { LANG: "C" } });
    assert.equal(code, 2);
    assert.match(stderr, wanted);
  });
}
