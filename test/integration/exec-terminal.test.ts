import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, test } from "vitest";
import { newHome } from "../support/cli-process.js";
import { runOnTerminal, type TerminalStep } from "../support/pty.js";
import { suiteNeeding } from "../support/requirements.js";

/** The input at the terminal, the exit code, the expected output. Each is a process with its own cluster. */
const table: readonly (readonly [string, readonly TerminalStep[], number, RegExp])[] = [
  [
    "a shell: its size, a new size, Ctrl-C to it, its exit code",
    [
      ["/ #", "stty size\r"],
      ["24 80", "cat\r"],
      ["cat", "word\r"],
      // The terminal echoes it first, then the program in it. From here on the program gets Ctrl-C.
      // (Node's raw mode turns a line feed into CR LF also behind the CR that the remote terminal has sent.)
      ["word\r\r\nword", "\x03"],
      ["/ #", "echo o''ne\r", [30, 90]],
      ["one", "stty size\r"],
      ["30 90", "exit 5\r"],
    ],
    5,
    /exit code 5/,
  ],
  ["SIGTERM to this process", [["/ #", "signal 15"]], 130, /interrupted/],
];

suiteNeeding(["python3"], "kubelab exec -it as a process on a terminal of its own", () => {
  const home = newHome();
  afterAll(() => rmSync(home, { recursive: true, force: true }));

  for (const [title, steps, code, seen] of table) {
    test(`${title}; the terminal is given back`, async () => {
      const argv = [process.execPath, resolve("dist/cli.js"), "exec", "nettool", "-it", "--", "sh"];
      const run = await runOnTerminal(argv, join(home, "none"), steps);
      assert.match(run.output, seen);
      assert.equal(run.code, code, run.output);
      assert.equal(run.restored, true);
    });
  }
});
