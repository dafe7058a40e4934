import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "vitest";

test("a process that cannot open enough files says so, instead of reporting a bug", () => {
  const line = ["-c", `ulimit -n 20 && exec "$0" dist/cli.js learn list`, process.execPath];
  const { status, stderr } = spawnSync("sh", line, { encoding: "utf8" });
  assert.deepEqual(
    [status, stderr],
    [
      1,
      "error: this process cannot open more files\nRaise the limit, for example with `ulimit -n 1024`, and run the command again.\n",
    ],
  );
});
