import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import stringWidth from "string-width";
import { afterEach, test } from "vitest";
import { newHome } from "../support/cli-process.js";
import { suiteNeeding } from "../support/requirements.js";
import { Terminal, type TerminalOptions } from "../support/terminal.js";

/** For the labs of these tests alone: others run at the same time, and make folders too. */
const temporary = mkdtempSync(join(tmpdir(), "t-"));
const homes: string[] = [];
function open(argv: readonly string[], options: Partial<TerminalOptions> = {}): Terminal {
  const home = options.home ?? newHome();
  homes.push(home);
  return new Terminal(argv, { ...options, home, env: { TMPDIR: temporary, ...options.env } });
}
afterEach(() => {
  for (const home of homes.splice(0)) rmSync(home, { recursive: true, force: true });
});

const widest = (screen: string) => Math.max(...screen.split("\n").map((line) => stringWidth(line)));
const labFolders = () => readdirSync(temporary).filter((name) => name.startsWith("kubelab-lab-"));

suiteNeeding(["tmux", "kubectl"], "learning in a terminal", () => {
  test("the name alone opens the menu; arrow keys choose a lab, and leave it again", async () => {
    await using terminal = open([]);
    const menu = await terminal.shows(/Which lab\?/);
    assert.match(menu, /Chapters/);
    assert.ok(widest(menu) <= 80);
    terminal.press("Down");
    await terminal.shows(/❯ {3}1 .*Ready/);
    terminal.press("Enter");
    const step = await terminal.shows(/^n run it .*q quit$/m);
    assert.match(step, /─{79}\nn run it/);
    terminal.press("Enter");
    await terminal.shows(/Step 2 of[\s\S]*^n next/m);
    terminal.press("l");
    await terminal.shows(/1 +A node joins.* done\n +2 .* now[\s\S]*^n next/m);
    terminal.press("p");
    await terminal.shows(/The picture of the step:\s+file:[\s\S]*^n next/m);
    // A letter more in the same input changes nothing.
    terminal.press("px");
    await terminal.shows(/(The picture of the step:\s+file:[\s\S]*){2}^n next/m);
    terminal.press("q");
    await terminal.shows(/1 of \d+ steps done[\s\S]*Which lab\?/);
  });

  test("the menu is redrawn at each size, and counts the hidden rows", async () => {
    await using terminal = open(["learn"]);
    assert.match(await terminal.shows(/Which lab\?/), /below: Chapters \d+, Incidents \d+/);
    const sizes = [
      [50, 15, /❯ {3}0 [\s\S]*↓ (below: )?Chapters \d+, Incidents \d+/],
      [200, 80, /❯ {3}0 [\s\S]*i\d+ [^\n]*\n Free play[\s\S]*\n {4}quit/],
      [80, 24, /❯ {3}0 [\s\S]*below: Chapters \d+, Incidents \d+/],
    ] as const;
    for (const [columns, rows, pattern] of sizes) {
      terminal.resize(columns, rows);
      const screen = await terminal.shows(pattern);
      assert.equal(screen.split("Which lab?").length, 2, screen);
      assert.match(screen, /Enter starts; q quits$/);
      for (const line of screen.split("\n").slice(0, 8)) assert.match(line, /^(kubelab: |\? | Chapters|❯ | {4}\d\w? )/);
    }
    terminal.press("i12");
    await terminal.shows(/❯ {3}i\d+ [\s\S]*above: Chapters/);
    terminal.press("q");
    assert.match(await terminal.shows(/ended with \d+/), /ended with 0/);
  });

  test("free play opens a window, q leaves it, and the menu is back", async () => {
    await using terminal = open(["learn"]);
    await terminal.shows(/Which lab\?/);
    terminal.press("p");
    await terminal.shows(/❯ {3}kubelab pleg/);
    terminal.press("Enter");
    await terminal.shows(/x exit 0 [\s\S]*\? help {2}q quit/);
    terminal.press("q");
    await terminal.shows(/relists? of kubelab[\s\S]*^l back to the menu/m);
    terminal.press("Enter");
    await terminal.shows(/❯ {3}kubelab pleg/);
  });

  test("Ctrl-C in a prompt: 130, the terminal is as it was, nothing is left", async () => {
    const before = labFolders();
    await using terminal = open(["learn", "start", "heartbeats"]);
    await terminal.shows(/^n run it/m);
    assert.equal(labFolders().length, before.length + 1);
    terminal.press("C-c");
    const end = await terminal.shows(/ended with \d+\s+\S*icanon/);
    assert.match(end, /interrupted\n0 of 9 steps done\. Continue with: kubelab learn start heartbeats\nended with 130/);
    assert.doesNotMatch(end, /-icanon|-echo /);
    assert.deepEqual(labFolders(), before);
  });

  test("+ and - change the speed of time at the prompt; q leaves a lab", async () => {
    await using terminal = open(["learn", "start", "heartbeats"]);
    await terminal.shows(/^n run it/m);
    terminal.press("+");
    await terminal.shows(/time runs 20x[\s\S]*^n run it/m);
    terminal.press("-");
    await terminal.shows(/time runs 10x[\s\S]*^n run it/m);
    terminal.press("q");
    await terminal.shows(/0 of 9 steps done\. Continue with: kubelab learn start heartbeats\s+ended with 0/);
  });

  test("a terminal that is closed: the lab is taken away all the same", async () => {
    const before = labFolders();
    const terminal = open(["learn", "start", "heartbeats"]);
    await terminal.shows(/^n run it/m);
    const folder = labFolders().find((name) => !before.includes(name)) ?? "";
    await terminal[Symbol.asyncDispose]();
    // Ends when the lab's process has.
    await once(spawn("tail", ["-f", "/dev/null", `--pid=${folder.split("-")[2]}`]), "close");
    assert.deepEqual(labFolders(), before);
  });

  test("digits answer a question, after a verdict t shows the whole trace, and a check runs once", async () => {
    await using terminal = open(["learn", "start", "wrong-ca-hash", "--speed", "1"], { rows: 60 });
    for (let step = 1; step <= 2; step++) {
      await terminal.shows(new RegExp(`Step ${step} of[\\s\\S]*^n (run it|next)`, "m"), true);
      terminal.press("Enter");
    }
    await terminal.shows(/Step 3 of[\s\S]*❯ 1 [\s\S]* 2 [\s\S]*^1-2 choose/m);
    terminal.press("2");
    // All that decided it is shown, so there is no w.
    await terminal.shows(/✓ That is what happened[\s\S]*Next: [\s\S]*^n next {2}t trace/m);
    terminal.press("t");
    await terminal.shows(/ runtime | kubelet | user [\s\S]*^n next/m);
    terminal.press("n");
    await terminal.shows(/Step 4 of[\s\S]*^○ [\s\S]*^c check {2}h hint {2}d solve/m);
    terminal.press("d");
    await terminal.shows(/Next: [\s\S]*^n next/m);
    terminal.press("Enter");
    await terminal.shows(/Step 5 of[\s\S]*^c check/m);
    terminal.press("c");
    await terminal.shows(/✗ not yet[\s\S]*^c check/m);
    terminal.press("h");
    await terminal.shows(/Hint 1 of[\s\S]*^c check/m);
  });

  test("a terminal of 60 columns, then of 100: no line is torn, in Chinese too", async () => {
    await using terminal = open(["learn", "start", "tokens", "--lang", "zh"], { columns: 60 });
    const narrow = await terminal.shows(/^c 检查/m, true);
    assert.ok(widest(narrow) <= 60, narrow);
    terminal.resize(100, 30);
    await terminal.shows(/─{99}\nc 检查/);
    terminal.press("C-c");
    await terminal.shows(/ended with 130/);
  });

  test("NO_COLOR: not one colour, but the prompt works", async () => {
    await using terminal = open(["learn", "start", "heartbeats"], { env: { NO_COLOR: "1" } });
    await terminal.shows(/^n run it/m);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one
    assert.doesNotMatch(terminal.colouredScreen(), /\u001b\[[0-9;]*(3[0-7]|9[0-7])m/);
    terminal.press("C-c");
    await terminal.shows(/ended with 130/);
  });

  test("TERM=dumb, as with a screen reader: numbers to type, and the cursor stays", async () => {
    await using terminal = open(["learn", "start", "heartbeats"], { env: { TERM: "dumb" } });
    await terminal.shows(/1\) run it[\s\S]*7\) quit\s+Type a number from 1 to 7:$/);
    terminal.press("1", "Enter");
    await terminal.shows(/Step 2 of[\s\S]*1\) next[\s\S]*Type a number from 1 to 8:$/);
    terminal.press("9", "Enter");
    await terminal.shows(/to 8: 9\s+Type a number from 1 to 8:$/);
    terminal.press("C-c");
    await terminal.shows(/ended with 130/);
  });
});
