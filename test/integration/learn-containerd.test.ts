import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { CliProcess, newHome } from "../support/cli-process.js";
import { suiteNeeding } from "../support/requirements.js";

/** Command lines of this machine's processes. */
function processes(): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        return [readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ")];
      } catch {
        return []; // It has ended meanwhile.
      }
    });
}

suiteNeeding(["containerd", "busybox-static", "root", "kubectl"], "a lab with a containerd of its own", () => {
  test("quitting while its pod runs leaves no container, no shim, no mount and no folder", async () => {
    const home = newHome();
    try {
      writeFileSync(join(home, "answers.yaml"), "order: both\nreal: two\ndown: nothing-seen\n");
      const argv = ["learn", "start", "pleg-containerd", "--yes", "--answers", "answers.yaml"];
      const lab = new CliProcess(home, argv, { TMPDIR: tmpdir() });
      let folder = "";
      lab.child.stdout?.on("data", (chunk) => {
        folder ||= new RegExp(`${tmpdir()}/kubelab-lab-[\\w-]+`).exec(String(chunk))?.[0] ?? "";
      });
      await lab.printed(/Step 5 of/);
      assert.notEqual(folder, "");
      assert.ok(readFileSync("/proc/mounts", "utf8").includes(folder));
      const { code, stderr } = await lab.kill("SIGINT");
      assert.equal(code, 130, stderr);
      assert.ok(!readFileSync("/proc/mounts", "utf8").includes(folder));
      assert.deepEqual(
        processes().filter((line) => line.includes(folder)),
        [],
      );
      assert.equal(existsSync(folder), false);
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  }, 120_000);
});
