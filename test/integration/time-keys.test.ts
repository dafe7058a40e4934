import { rmSync } from "node:fs";
import { describe, test } from "vitest";
import { newHome } from "../support/cli-process.js";
import { suiteNeeding } from "../support/requirements.js";
import { Terminal } from "../support/terminal.js";

suiteNeeding(["tmux"], "commands that hold their time at a terminal", () => {
  const table = [
    ["lease", ["lease"], /Keeping \S+ Ready/, /renew the Lease/],
    ["pleg", ["pleg"], /keys now act on|What they act on/, /relist/],
  ] as const;
  describe.each(table)("%s", (_name, argv, started, timer) => {
    test("z pauses, . moves to the next timer, > moves on by 10 s", async () => {
      const home = newHome();
      await using terminal = new Terminal([...argv, "-v", "1"], { home, columns: 120, rows: 50 });
      await terminal.shows(started);
      terminal.press("z");
      await terminal.shows(/the time stands still/, true);
      terminal.press(".");
      await terminal.shows(/[\d.]+ s passed: /, true);
      terminal.press(">");
      await terminal.shows(/10\.00 s passed: /, true);
      await terminal.shows(timer, true);
      terminal.press("z");
      await terminal.shows(/the time passes again/, true);
      terminal.press("C-c");
      await terminal.shows(/ended with 130\s+icanon/);
      rmSync(home, { recursive: true, force: true });
    });
  });
});
