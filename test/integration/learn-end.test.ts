import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, test } from "vitest";
import { openLibrary } from "../../src/lab/labs/format/open-library.js";
import type { LabProgress, Progress } from "../../src/lab/labs/progress/progress.js";
import { CliProcess, newHome } from "../support/cli-process.js";
import { suiteNeeding } from "../support/requirements.js";
import { Terminal } from "../support/terminal.js";

const { summaries } = await openLibrary();
const LAB = "wrong-ca-hash";
const steps = summaries.find(({ id }) => id === LAB)?.steps ?? [];
const revision = summaries.find(({ id }) => id === LAB)?.revision ?? 0;
const homes: string[] = [];

/** A home whose learner has come so far in the lab. */
function homeWith(over: Partial<LabProgress>): string {
  const home = newHome();
  homes.push(home);
  const run = {
    revision,
    seed: 1,
    done: [],
    hints: 0,
    rightPredictions: 1,
    wrongPredictions: 0,
    startedAtMs: 1,
    ...over,
  };
  mkdirSync(join(home, "state", "kubelab", "learn"), { recursive: true });
  writeFileSync(fileOf(home), JSON.stringify({ version: 1, labs: { [LAB]: run } } satisfies Progress));
  return home;
}

const fileOf = (home: string) => join(home, "state", "kubelab", "learn", "progress.json");
const saved = (home: string) => (JSON.parse(readFileSync(fileOf(home), "utf8")) as Progress).labs[LAB];

afterEach(() => {
  for (const home of homes.splice(0)) rmSync(home, { recursive: true, force: true });
});

suiteNeeding(["tmux", "kubectl"], "a second terminal", () => {
  test("learn status and learn shell find the lab at a prompt", async () => {
    const home = newHome();
    homes.push(home);
    const variables = { HOME: home, XDG_STATE_HOME: join(home, "state"), SHELL: "/bin/sh" };
    const other = (argv: readonly string[], input: string) =>
      spawnSync(process.execPath, ["dist/cli.js", "learn", ...argv], {
        encoding: "utf8",
        input,
        env: { ...process.env, ...variables },
      });
    assert.match(other(["shell"], "").stderr, /no lab is running/);
    await using terminal = new Terminal(["learn", "start", "heartbeats"], { home });
    await terminal.shows(/^n run it/m);
    assert.match(
      other(["status"], "").stdout,
      /Step 1 of 9: A node joins[\s\S]*\$ kubelab lease --node[\s\S]*at a prompt/,
    );
    assert.match(other(["next"], "").stderr, /^error: played in another terminal: heartbeats\n/);
    const shell = other(["shell"], "pwd; kubectl get nodes; exit 7\n");
    assert.match(shell.stdout, /kubelab-lab-[\s\S]*witness +Ready/);
    assert.equal(shell.status, 7);
    await using inside = new Terminal(["learn", "shell"], { home });
    await inside.shows(/The\s+command\s+is\s+kubelab\s+here,\s+without\s+npx/);
    assert.match(other(["shell", "tokens"], "").stderr, /lab tokens is not running\nRunning: heartbeats/);
    for (const how of ["--detach", "--yes"]) {
      const second = other(["start", "1", how], "");
      assert.deepEqual([second.status, second.stdout], [1, ""]);
      assert.match(
        second.stderr,
        /^error: lab heartbeats is already played in another terminal \(process \d+\)\nAnswer there/,
      );
    }
    other(["start", "tokens", "--detach"], "");
    assert.match(
      other(["status"], "").stderr,
      /^lab tokens; also running: heartbeats \(kubelab learn status ID chooses\)/,
    );
    assert.match(
      other(["status", "heartbeats", "--lang", "zh"], "").stdout,
      /第 1 步.*\n[\s\S]*\$ kubelab lease --node/,
    );
    assert.match(other(["check"], "").stderr, /^lab tokens, in the background; .*: heartbeats\n/);
    assert.match(other(["shell"], "exit 0\n").stderr, /^lab tokens; also running: heartbeats \(kubelab learn shell ID/);
    assert.equal(other(["shell", "heartbeats"], "exit 0\n").stderr, "");
    // A command in the shell of a lab is about that lab, although another one is newer, or runs in the background.
    const own = other(["shell", "1"], "kubelab learn status; kubelab learn check; kubelab learn stop; exit 0\n");
    assert.match(own.stdout, /\$ kubelab lease --node[\s\S]*Lab heartbeats waits at a prompt/);
    assert.equal(
      own.stderr,
      "error: not yet\nkubelab learn next\nerror: played in another terminal: heartbeats\nAnswer there. Its present step: kubelab learn status\n",
    );
    assert.match(other(["status", "1"], "").stdout, /Lab heartbeats waits at a prompt/);
    other(["stop"], "");
    const script = join(home, "shell.sh");
    writeFileSync(script, "#!/bin/sh\necho inside\nwhile test ! -e $HOME/leave; do sleep 0.1; done\n", { mode: 0o755 });
    const open = new CliProcess(home, ["learn", "shell"], { SHELL: script });
    await open.printed(/inside/);
    terminal.press("C-c");
    await open.says(/Lab heartbeats has ended, and with it its cluster/);
    writeFileSync(join(home, "leave"), "");
    assert.equal((await open.ended).code, 0);
  });
});

suiteNeeding(["tmux"], "the shell of a lab in Chinese", () => {
  test("what kubelab says there is Chinese as well, in lines that break between words; --lang decides otherwise", async () => {
    const home = newHome();
    homes.push(home);
    await using lab = new Terminal(["learn", "start", "heartbeats", "--lang", "zh"], { home });
    await lab.shows(/^n 运行/m);
    const env = { SHELL: "/bin/sh" };
    await using english = new Terminal(["learn", "shell", "--lang", "en"], { home, env });
    const opened = await english.shows(/1\/9 ○ \$/);
    assert.match(
      opened.replaceAll("\n", " "),
      /^A shell in lab heartbeats, in \S+; exit leaves it\. The command is kubelab here, without npx\. heartbeats 1\/9 ○ \$/,
    );
    await using chinese = new Terminal(["learn", "shell"], { home, env });
    await chinese.shows(/^进入实验 heartbeats 的 shell[\s\S]*1\/9 ○ \$/);
    lab.press("C-c");
    await chinese.shows(/\n实验 heartbeats 已经结束/);
    assert.match(await english.shows(/Lab heartbeats has ended/), /^Lab heartbeats has ended/m);
  });
});

suiteNeeding(["tmux", "openssl"], "the end of a lab", () => {
  test("an exam has a time and no hints; who hands it in too early gets a result, and exit code 1", async () => {
    const home = homeWith({ done: steps.slice(0, 1) });
    await using terminal = new Terminal(["learn", "start", LAB, "--exam", "9"], { home });
    const first = await terminal.shows(/Step 1 of 5[\s\S]*\(9 min left\)[\s\S]*X hand in/, true);
    assert.match(first, /an exam: 9 min, no hints/);
    assert.doesNotMatch(first, /h hint|d solve/);
    terminal.press("x", "q", "X");
    await terminal.shows(
      /Exam: 0 of 30 points, 1 of 9 min used\.\nNot finished: 5 of 5 steps left\.[\s\S]*ended with 1/,
    );
    assert.equal(saved(home)?.exam?.isFinished, false);
  });

  test("Ctrl-C hands an exam in", async () => {
    const home = homeWith({ done: [] });
    await using terminal = new Terminal(["learn", "start", LAB, "--exam", "9"], { home });
    await terminal.shows(/Step 1 of 5[\s\S]*\(9 min left\)/, true);
    terminal.press("C-c");
    await terminal.shows(/Exam: 0 of 30 points, 1 of 9 min used\.[\s\S]*ended with 130/);
    assert.equal(saved(home)?.exam?.isFinished, false);
  });

  test("a result, what the learner knows, and the next lab without leaving", async () => {
    const home = homeWith({ done: steps.slice(0, -1), hints: 1 });
    await using terminal = new Terminal(["learn", "start", LAB], { home, rows: 50 });
    await terminal.shows(/Step 5 of 5[\s\S]*^c check/m);
    terminal.press("d");
    const end = await terminal.shows(/^next lab: [\s\S]*^n next {2}l list {2}q quit/m);
    assert.match(end, /What you now know\n( {2}- [^\n]*\n){3}/);
    assert.match(
      end,
      /Your result: 18 of 30 points\n {2}predictions {2}1 of 1 right\n {2}tasks {8}1 of 2 solved by you, 1 by kubelab \(no points\)\n {2}hints {8}1, at 2 points each/,
    );
    terminal.press("Enter");
    await terminal.shows(/Lab i9: /, true);
    terminal.press("C-c");
    await terminal.shows(/ended with 130/);
    assert.deepEqual([saved(home)?.shown, saved(home)?.best?.shown], [["cure"], 1]);
  });

  test("from there the menu points at the next lab", async () => {
    const home = homeWith({ done: steps.slice(0, -1) });
    await using terminal = new Terminal(["learn", "start", LAB], { home, rows: 50 });
    await terminal.shows(/Step 5 of 5[\s\S]*^c check/m);
    terminal.press("d");
    await terminal.shows(/^next lab: /m);
    terminal.press("l");
    await terminal.shows(/Which lab\?[\s\S]*❯ +i9 /, true);
    terminal.press("q");
    await terminal.shows(/ended with 0/);
  });

  test("a finished lab is played again only after a question", async () => {
    const home = homeWith({ done: steps, finishedAtMs: 2 });
    const before = saved(home);
    await using terminal = new Terminal(["learn", "start", LAB], { home });
    await terminal.shows(
      /finished this lab with 30 of 30 points\. Play it again\?[\s\S]*❯ 1 play it again\s+2 not now/,
    );
    terminal.press("2");
    await terminal.shows(/ended with 0/);
    assert.deepEqual(saved(home), before);
  });
});
