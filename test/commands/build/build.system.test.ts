import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, test } from "vitest";
import { CliProcess, newHome, runCliProcess } from "../../support/cli-process.js";

const SOLUTION = readFileSync("test/lab/build/solutions/renew-interval.mjs", "utf8");
/** A word in the command line of a process that a learner's file starts. */
const MARK = "kubelab-build-left-over";
const SPAWN = `spawn("sh", ["-c", "sleep 300; : ${MARK}"])`;
const DETACHED = SPAWN.replace(")", ", { detached: true, stdio: 'inherit' }).unref()");
const HEAD = "// kubelab build: renew-interval\n";

describe("a task from an empty folder to its end", () => {
  const home = newHome();
  const file = join(home, "renew-interval", "renew-interval.mjs");
  const check = () => runCliProcess(home, "build", "check", "renew-interval");

  beforeAll(async () => {
    const made = await runCliProcess(home, "build", "start", "renew-interval");
    assert.equal(made.code, 0, made.stderr);
  });

  test("start makes one file, with the sentences of each stage", () => {
    assert.deepEqual(readdirSync(join(home, "renew-interval")), ["renew-interval.mjs"]);
    const text = readFileSync(file, "utf8");
    for (const part of ["Stage 3 of 3", "export function nextBackoff", "blob/v1.25.0/", "No wait is longer than 7 s"]) {
      assert.ok(text.includes(part), part);
    }
  });

  test("the file is not overwritten", async () => {
    const again = await runCliProcess(home, "build", "start", "1");
    assert.equal(again.code, 2);
    assert.match(again.stderr, /exists already/);
  });

  test("the stub fails with exit code 1", async () => {
    const { code, stdout } = await check();
    assert.equal(code, 1);
    assert.match(stdout, /renewInterval\(40\): this part is not written yet/);
  });

  test("a mistake is named with its case, in both languages", async () => {
    writeFileSync(file, HEAD + SOLUTION.replace("lastMs * 2", "lastMs + 200"));
    const { stdout } = await check();
    assert.match(
      stdout,
      /✓ the time between two renewals\n✗ .*\n {2}Each wait is twice as long.*\n {4}nextBackoff\(400\)/,
    );
    assert.match(stdout, /must give 800\n {4}yours gave 600/);
    const chinese = await runCliProcess(home, "build", "check", "renew-interval", "--lang", "zh");
    assert.match(chinese.stdout, /nextBackoff\(400\) 必须得到 800\n {4}你的得到 600/);
  });

  test("a hint costs points of its stage, and the end counts them", async () => {
    const hint = await runCliProcess(home, "build", "hint", "renew-interval");
    assert.match(hint.stdout, /Hint 1 of 2 for "the wait after a refused request"/);
    writeFileSync(file, HEAD + SOLUTION);
    const { code, stdout } = await check();
    assert.equal(code, 0);
    assert.match(stdout, /renew-interval is done: 28 of 30 points/);
    const list = JSON.parse((await runCliProcess(home, "build", "--json")).stdout) as readonly { points: number }[];
    assert.equal(list[0]?.points, 28);
  });

  test("show prints kubelab's own module, and open stages then bring no points", async () => {
    const asked = await runCliProcess(home, "build", "show", "generate-events");
    assert.equal(asked.code, 2);
    assert.match(asked.stderr, /prints the solution: the 3 stages .* no points/);
    const { stdout } = await runCliProcess(home, "build", "show", "generate-events", "--yes");
    assert.match(stdout, /export function generateEvents\(/);
    assert.match(stdout, /generateEvents: https:\/\/github.com\/kubernetes/);
    await runCliProcess(home, "build", "start", "generate-events");
    const path = join(home, "generate-events", "generate-events.mjs");
    const solution = readFileSync("test/lab/build/solutions/generate-events.mjs", "utf8");
    writeFileSync(path, `// kubelab build: generate-events\n${solution}`);
    assert.match(
      (await runCliProcess(home, "build", "check", path)).stdout,
      /done: 0 of 30 points.\n3 stages bring no points: kubelab build show came/,
    );
  });

  test("calls of other parts are compared one by one, and promises may wait", async () => {
    const judged = async (task: string, from: string, to: string) => {
      const path = join(home, "other.mjs");
      const solution = readFileSync(`test/lab/build/solutions/${task}.mjs`, "utf8");
      writeFileSync(path, `// kubelab build: ${task}\n${solution.replace(from, to)}`);
      return (await runCliProcess(home, "build", "check", path)).stdout.replaceAll(/\s+/g, " ");
    };
    assert.match(
      await judged("lease-loop", "base = (await this.#ensure()).lease", "base = first"),
      /sync\(\): call number 3 must be client.get\('n1'\) yours was client.update\(/,
    );
    assert.match(
      await judged("get-newer-than", "if (isReady)", "if (true)"),
      /getNewerThan\('p1', 10\) must wait yours gave \{ status: 'v1'/,
    );
    assert.match(
      await judged("get-newer-than", "if (isReady)", "if (false)"),
      /must give \{ status: 'v1' \} yours waits/,
    );
  });

  test("reset forgets the progress", async () => {
    await runCliProcess(home, "build", "reset", "renew-interval");
    const list = JSON.parse((await runCliProcess(home, "build", "--json")).stdout) as readonly { points: number }[];
    assert.equal(list[0]?.points, 0);
  });
});

describe("files that harm", () => {
  const home = newHome();
  const path = join(home, "mine.mjs");

  const table = [
    ["an endless loop", "while (true) {}", /renewInterval\(40\) did not come back within 4 s/],
    ["an exit", "process.exit(0)", /renewInterval\(40\) ended the process \(exit code 0\)/],
    [
      "a list without end",
      "const a = []; for (;;) a.push(new Array(1e5).fill(a.length))",
      /renewInterval\(40\) needed more memory[\s\S]*without\s+end\?\n$/,
    ],
    [
      "buffers without end",
      "const a = []; for (;;) a.push(Buffer.alloc(1e6, 1))",
      /renewInterval\(40\) needed more memory/,
    ],
    ["a promise instead of the value", "return { then() {} }", /yours gave a Promise/],
    ["a crash", "return seconds.minutes.hours", /yours threw TypeError: .*\s+\(line 2\)/],
    [
      "100,000 lines",
      "for (let i = 0; i < 1e5; i++) console.log(i); return 1",
      /printed 100000 lines:\n(.*\n)* {2}... 99990 more/,
    ],
    ["one endless line", "process.stdout.write('x'.repeat(5e7)); return 1", /printed 1 line:\n {2}x{10}/],
    ["a child that stays", `${SPAWN}; return 1`, /must give 10000\n {4}yours gave 1/],
    ["a child in a session of its own", `${DETACHED}; return 1`, /must give 10000\n {4}yours gave 1/],
    ["changed built-ins", "JSON.stringify = () => 'x'; return 1", /disturbed the process that calls it/],
    ["an error that is no error", "throw null", /yours threw null/],
  ] as const;

  test.each(table)("%s ends in a sentence", async (_name, body, sentence) => {
    writeFileSync(
      path,
      `${HEAD}export function renewInterval(seconds) { ${body} }
import { spawn } from "node:child_process";
`,
    );
    const { code, stdout, stderr } = await runCliProcess(home, "build", "check", path);
    assert.equal(stderr, "");
    assert.match(stdout, sentence);
    assert.equal(code, 1);
  });

  test("a promise that nothing resolves ends in a sentence", async () => {
    const text = "export class LeaseController { sync() { return new Promise(() => {}); } }";
    writeFileSync(path, `// kubelab build: lease-loop\n${text}`);
    const { code, stdout } = await runCliProcess(home, "build", "check", path);
    assert.match(stdout, /sync\(\) never ends/);
    assert.equal(code, 1);
  });

  test("no process is left that it has started", async () => {
    const left = readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && commandOf(pid).includes(MARK));
    assert.deepEqual(left, []);
  });

  test.each([
    ["a file that is no JavaScript", `${HEAD}export function (`, /mine.mjs:2 cannot be loaded: SyntaxError/],
    [
      "a type of TypeScript",
      `${HEAD}export function renewInterval(seconds: number) {}`,
      /mine.mjs:2 cannot be loaded: SyntaxError.*\n {4}export function renewInterval\(seconds: number\) \{\}\n[\s\S]* JSDoc/,
    ],
    [
      "an await that never ends",
      `${HEAD}await new Promise(() => {});`,
      /mine.mjs never gets loaded[\s\S]*never comes\n$/,
    ],
    [
      "a file that removes itself",
      `${HEAD}(await import("node:fs")).rmSync(new URL(import.meta.url)); throw 1`,
      /mine.mjs is not there any more/,
    ],
    ["a file that throws", `${HEAD}throw new Error("at once");`, /mine.mjs:2 cannot be loaded: Error: at once/],
    ["a file without exports", HEAD, /your file does not export renewInterval/],
  ])("%s", async (_name, text, sentence) => {
    writeFileSync(path, text);
    const { code, stdout } = await runCliProcess(home, "build", "check", path);
    assert.match(stdout, sentence);
    assert.equal(code, 1);
  });

  test.each([
    [["check", "absent"], /cannot read absent/],
    [["check"], /this folder has no file of a task/],
    [["start", "phaze"], /there is no task "phaze"\nDid you mean phase\?/],
    [["start", "lease"], /Did you mean lease-loop\?/],
    [["start", "phase", "taken"], /the folder has csr.mjs already\nA folder holds one task/],
    [["check", "/dev/null"], /\/dev\/null is no file and no folder/],
    [["start", "99"], /there is no task "99"/],
    [["chekc"], /unknown command 'chekc'\n\(Did you mean check\?\)\n/],
    [["chekc", "--lang", "zh"], /没有命令 'chekc'\n（是不是 check？）/],
    [["nonsense"], /unknown command 'nonsense'\nAdd --help/],
  ])("build %j is refused", async (words, sentence) => {
    mkdirSync(join(home, "taken"), { recursive: true });
    writeFileSync(join(home, "taken", "csr.mjs"), "");
    const { code, stderr } = await runCliProcess(home, "build", ...words);
    assert.match(stderr, sentence);
    assert.equal(code, 2);
  });
});

test("a state folder that cannot be written costs only the progress", async () => {
  const home = newHome();
  writeFileSync(join(home, "renew-interval.mjs"), HEAD + SOLUTION);
  const unwritable = { XDG_STATE_HOME: "/dev/null" };
  const { code, stdout, stderr } = await new CliProcess(home, ["build", "check", "--no-live"], unwritable).ended;
  assert.match(stdout, /✓ [\s\S]*\nrenew-interval is done\.\n/);
  assert.match(stderr, /^Your progress is not noted: /);
  assert.equal(code, 0);
});

test("watch judges each save, also one that replaces the file", async () => {
  const home = newHome();
  await runCliProcess(home, "build", "start", "renew-interval");
  const file = join(home, "renew-interval", "renew-interval.mjs");
  const watching = new CliProcess(home, ["build", "watch", "renew-interval"]);
  await watching.printed(/renewInterval\(40\): this part is not written yet/);
  writeFileSync(file, HEAD + SOLUTION.replace("0.25", "0.5"));
  await watching.printed(/yours gave 20000/);
  writeFileSync(file, HEAD + SOLUTION);
  await watching.printed(/renew-interval is done: 30 of 30 points/);
  await watching.printed(/\n\n\d\d:\d\d:\d\d renew-interval.mjs\n✓ /);
  watching.child.kill("SIGINT");
  assert.equal((await watching.ended).code, 130);
});

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}
