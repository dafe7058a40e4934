import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "vitest";
import { recordSession, sessionIn, structureOf, withSession } from "../../scripts/session-text.js";
import { suiteNeeding } from "../support/requirements.js";

suiteNeeding(["kubectl", "openssl"], "the session that README shows", () => {
  test("is what the program prints today: npm run record-session makes it so", async () => {
    const shown = structureOf(sessionIn(readFileSync("README.md", "utf8")));
    assert.ok(shown.length > 6, shown.join("\n"));
    assert.deepEqual(shown, structureOf(await recordSession()));
  });
});

test("a recording takes the place of the one before, and of nothing else", () => {
  const readme = readFileSync("README.md", "utf8");
  const again = withSession(readme, "Step 1 of 1: x");
  assert.deepEqual(structureOf(sessionIn(again)), ["Step 1 of 1: x"]);
  assert.equal(again.split("<!-- end of the recording -->")[1], readme.split("<!-- end of the recording -->")[1]);
});
