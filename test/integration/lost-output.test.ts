import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync } from "node:fs";
import { describe, test } from "vitest";

describe.skipIf(!existsSync("/dev/full"))("a full disk where stdout goes", () => {
  for (const argv of [["--version"], ["--help"], ["learn", "--help"]]) {
    test(`kubelab ${argv.join(" ")}: exit 1, and one sentence`, () => {
      const full = openSync("/dev/full", "w");
      const { status, stderr } = spawnSync(process.execPath, ["dist/cli.js", ...argv], {
        stdio: ["ignore", full, "pipe"],
        encoding: "utf8",
      });
      closeSync(full);
      assert.equal(stderr, "error: the output could not be written: ENOSPC\n");
      assert.equal(status, 1);
    });
  }
});
