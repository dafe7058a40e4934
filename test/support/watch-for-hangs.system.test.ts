import { spawn } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";

/** The files of a run, and what the watcher prints of each. */
const FILES: Readonly<Record<string, readonly [source: string, hang: RegExp | undefined]>> = {
  "blocks-the-loop": [
    // In microtasks, and mostly in its own function when it is looked at.
    `test("first", () => {}); test("second", async () => { for (let i = 0; ; i++) if (i % 1e6 === 0) await undefined; });`,
    /^HANG \S+blocks-the-loop\.test\.ts > second: its event loop is blocked for 5 s\n {2}is in\n[\s\S]*blocks-the-loop\.test\.ts:\d+\)/m,
  ],
  "never-loads": [
    `await new Promise((resolve) => process.once("SIGUSR2", resolve)); test("first", () => {});`,
    /^HANG \S+never-loads\.test\.ts, outside of tests: no test began or ended for 5 s$[\s\S]*^ {2}active: /m,
  ],
  "waits-for-ever": [
    `test("slow", () => new Promise(() => {}), 2_000); test("next", () => {});`,
    // Its own time limit ends it.
    undefined,
  ],
};

/** Units share their process's modules and its watcher. */
for (const isolate of [true, false]) {
  test(`a test file that hangs is ended, and where it hangs is printed (isolate: ${isolate})`, async () => {
    const folder = mkdtempSync(join(tmpdir(), "kubelab-hangs-"));
    const config = {
      root: folder,
      test: { globals: true, isolate, maxWorkers: 3, setupFiles: [resolve("test/support/watch-for-hangs.ts")] },
      server: { fs: { strict: false } },
    };
    writeFileSync(join(folder, "vitest.config.mjs"), `export default ${JSON.stringify(config)}`);
    for (const [name, [source]] of Object.entries(FILES)) writeFileSync(join(folder, `${name}.test.ts`), source);
    const argv = [resolve("node_modules/vitest/vitest.mjs"), "run", "--config", join(folder, "vitest.config.mjs")];
    const env = { ...process.env, KUBELAB_TEST_HANG_MS: "5000" };
    const child = spawn(process.execPath, argv, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
    for (const [name, [, hang]] of Object.entries(FILES)) {
      if (hang === undefined) expect(stderr).not.toContain(`HANG ${join(folder, name)}`);
      else expect(stderr).toMatch(hang);
    }
    expect(stdout + stderr).toContain("Test timed out in 2000ms");
  });
}
