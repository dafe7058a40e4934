import assert from "node:assert/strict";
import { test } from "vitest";
import { newHome, runCliProcess } from "../support/cli-process.js";

test("V8 knows what it is asked for: a flag that it does not know would be an error on stderr at every start", async () => {
  const { code, stderr } = await runCliProcess(newHome(), "lease", "--help");
  assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
});
