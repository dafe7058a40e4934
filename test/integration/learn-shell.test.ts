import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, test, vi } from "vitest";
import { newHome } from "../support/cli-process.js";
import { suiteNeeding } from "../support/requirements.js";
import { Terminal } from "../support/terminal.js";

const homes: string[] = [];
function open(argv: readonly string[], env: Readonly<Record<string, string>>): Terminal {
  const home = newHome();
  homes.push(home);
  return new Terminal(argv, { home, env });
}
afterEach(() => {
  for (const home of homes.splice(0)) rmSync(home, { recursive: true, force: true });
});

/** Plays up to the first task: create a namespace. */
async function untilTask(terminal: Terminal): Promise<string> {
  await terminal.shows(/Step 1 of[\s\S]*^n /m, true);
  terminal.press("n");
  const screen = await terminal.shows(/Step 2 of[\s\S]*^c check/m, true);
  return /namespace (harbour|orchard|meadow|quarry)/.exec(screen.replace(/[`\s]+/g, " "))?.[1] ?? "";
}

suiteNeeding(["tmux"], "a lab at one terminal", () => {
  const SHELLS = [
    ["bash", "/bin/bash"],
    ["sh", "/bin/sh"],
    ["zsh", "/bin/zsh"],
  ] as const;
  for (const [name, path] of SHELLS) {
    test.skipIf(!existsSync(path))(`${name}: solved in the shell, a task is done without a key`, async () => {
      await using terminal = open(["learn", "start", "tour", "--seed", "1"], {
        SHELL: path,
        PS1: "user@host:a/long/folder# ",
      });
      const space = await untilTask(terminal);
      terminal.press("s");
      await terminal.shows(/A shell in lab tour[\s\S]*^tour 2\/\d+ ○ \$/m);
      terminal.press(`kubectl create namespace ${space}`, "Enter");
      // Its sign comes by itself if the program has ended before the check, else with the prompt.
      await terminal.shows(/created[\s\S]*(^✓ .*exit or Ctrl-D|^tour 2\/\d+ ✓)/m);
      terminal.press("Enter");
      await terminal.shows(/^tour 2\/\d+ ✓ \$/m);
      const pidFile = join(homes[0] ?? "", "pid");
      terminal.press(`clear; sleep 3131 & echo $! > ${pidFile}; echo begun`, "Enter");
      // A Ctrl-D before the prompt would be lost.
      await terminal.shows(/^begun\s+^tour 2\/\d+ ✓ /m);
      terminal.press("C-d");
      if (name === "zsh") {
        // It warns once of what still runs.
        await terminal.shows(/you have running jobs[\s\S]*^tour 2\/\d+ ✓ /m);
        terminal.press("C-d");
      }
      const back = await terminal.shows(/✓ [\s\S]*Next: [\s\S]*^n next/m);
      assert.doesNotMatch(back, /^ *✗/m);
      terminal.press("q");
      assert.match(
        await terminal.shows(/ended with \d+\s+\S*icanon/),
        /2 of \d+ steps done[\s\S]*ended with 0\s+icanon/,
      );
      const stat = () => readFileSync(`/proc/${readFileSync(pidFile, "utf8").trim()}/stat`, "utf8");
      // What the learner left in the background ends with the lab.
      await vi.waitFor(() => assert.throws(stat, { code: "ENOENT" }), 60_000);
    });
  }

  test("done in another terminal, a task turns green at the prompt; commands of the shell act on the lab", async () => {
    const env = { SHELL: "/bin/sh", PS1: "user@host:a/long/folder# " };
    await using terminal = open(["learn", "start", "tour", "--seed", "1"], env);
    const space = await untilTask(terminal);
    const [home = ""] = homes;
    await using shell = new Terminal(["learn", "shell"], { home, env });
    await shell.shows(/^tour 2\/\d+ ○ \$/m);
    shell.press("clear; kubelab learn check; kubelab learn hint", "Enter");
    await shell.shows(/✗ not yet[\s\S]*Hint 1 of/);
    await terminal.shows(/Hint 1 of[\s\S]*^c check/m);
    shell.press(`clear; kubectl create namespace ${space}`, "Enter");
    await terminal.shows(/✓ [\s\S]*Next: [\s\S]*^n next/m);
    shell.press("clear; kubelab learn next", "Enter");
    await shell.shows(/Step 3 of[\s\S]*^tour 3\/\d+ ○ /m);
    await terminal.shows(/Step 3 of[\s\S]*^c check/m);
    terminal.press("C-c");
    await terminal.shows(/ended with 130\s+icanon/);
  });
});
