import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, test } from "vitest";
import { PROGRAM } from "../../../../src/commands/main.js";
import { LabFacts } from "../../../../src/lab/labs/environment/facts.js";
import { plainWords } from "../../../../src/lab/labs/environment/runner.js";
import { LabRunner } from "../../../../src/lab/labs/environment/shell-runner.js";
import { SystemClock } from "../../../../src/util/clock.js";
import { SystemRandom } from "../../../../src/util/random.js";

const words: readonly (readonly [string, readonly string[] | undefined])[] = [
  ["kubelab token list", ["kubelab", "token", "list"]],
  ["  kubelab   lease --node a ", ["kubelab", "lease", "--node", "a"]],
  ["kubelab token create --description 'two words'", ["kubelab", "token", "create", "--description", "two words"]],
  ['kubelab x --a "b c"', ["kubelab", "x", "--a", "b c"]],
  ["kubelab x --flag=v=w", ["kubelab", "x", "--flag=v=w"]],
  ["kubectl get nodes | wc -l", undefined],
  ["kubelab x > file", undefined],
  ["kubelab x $(date)", undefined],
  ['kubelab x "$HOME"', undefined],
  ["kubelab x *.yaml", undefined],
  ["kubelab a; kubelab b", undefined],
  ["kubelab a && kubelab b", undefined],
  ["kubelab a\nkubelab b", undefined],
  ["kubelab it's", undefined],
  ["kubelab a'b'c", undefined],
  ["kubelab a\\ b", undefined],
  ["kubelab ~/x", undefined],
];
for (const [line, want] of words) {
  test(`${JSON.stringify(line)}: ${want === undefined ? "needs a shell" : want.length}`, () =>
    assert.deepEqual(plainWords(line), want));
}

const folder = mkdtempSync(join(tmpdir(), "kubelab-runner-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const clock = new SystemClock();
const facts = new LabFacts(clock);
const runner = new LabRunner({
  program: PROGRAM,
  random: new SystemRandom(),
  clock,
  facts,
  env: { PATH: process.env["PATH"], HOME: folder, XDG_STATE_HOME: join(folder, "state") },
  folder,
  self: ["false"],
  columns: 80,
  isColoured: false,
  say: undefined,
  graceMs: 50,
});
/** A process that has ended is a zombie until its parent asks: it is dead too. */
function isAlive(pid: string): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
const signal = new AbortController().signal;

describe("commands of a lab", () => {
  const table: readonly (readonly [string, number, RegExp])[] = [
    ["printf 'a\\nb\\n'", 0, /^a\nb\n$/],
    ["pwd", 0, /kubelab-runner-/],
    ["exit 7", 7, /^$/],
    ["no-such-program-here", 127, /not found/],
    ["kill -9 $$", 143, /^$/],
    ["kubelab --version", 0, /^lab\n/],
    ["kubelab nonsense", 2, /unknown command/],
    ["kubelab token create --ttl never", 2, /ttl/],
    ["kubelab token create --ttl $(printf never)", 2, /--ttl.*never/],
    ["kubelab --version < no-such-file", 0, /^lab\n/],
  ];
  for (const [line, code, printed] of table) {
    test(`${line}: exit ${code}`, async () => {
      const result = await runner.run(line, undefined, signal);
      assert.equal(result.code, code, result.stderr);
      assert.match(result.stdout + result.stderr, printed);
    });
  }

  const written: readonly (readonly [line: string, files: readonly string[]])[] = [
    ["kubelab token list -o tokens.ndjson", ["tokens.ndjson"]],
    ["kubelab bootstrap --node n1 --dir n1", ["n1/kubelet.key", "n1/kubelet.pem"]],
    ["kubelab csr create --node n2 --out-dir n2", ["n2/kubelet.csr"]],
    ["kubelab learn export mine.json", ["mine.json"]],
  ];
  for (const [line, files] of written) {
    test(`${line}: its files are in the lab's folder`, async () => {
      const result = await runner.run(line, undefined, signal);
      assert.equal(result.code, 0, result.stderr);
      for (const file of files) assert.ok(existsSync(join(folder, file)), `${file} is not there`);
    });
  }

  test("what it prints is told as it comes, and colours are no part of what is checked", async () => {
    const told: string[] = [];
    const result = await runner.run("printf '\\033[31mred\\033[0m\\n'", (_stream, text) => told.push(text), signal);
    assert.equal(result.stdout, "red\n");
    assert.ok(told.join("").includes("\u001b[31m"));
  });

  test("a command that goes on is stopped with all that it started", async () => {
    const kept = runner.keep("sh -c 'echo $$; exec sleep 1000' & sh -c 'echo $$; exec sleep 1000' & wait", undefined);
    const pids = await new Promise<string[]>((resolve) => {
      const look = () => {
        const lines = kept.result.stdout.trim().split("\n");
        if (lines.length === 2) resolve(lines);
        else setImmediate(look);
      };
      look();
    });
    await kept.stop();
    await kept.stop();
    for (const pid of pids) assert.equal(isAlive(pid), false, pid);
    assert.equal((await kept.ended).code === 0, false);
  });

  test("the facts of a command of this process come with their lines, instead of its text; with $(...) too", async () => {
    const told: string[] = [];
    const facts: string[] = [];
    const line = "kubelab token create --mock --description $(echo two) --ttl 1h";
    const result = await runner.run(
      line,
      (stream, text, one) =>
        one !== undefined && "event" in one ? facts.push(...one.lines.english) : told.push(`${stream} ${text}`),
      signal,
    );
    assert.equal(result.code, 0, result.stderr);
    assert.match(facts.join("\n"), /[▸>] Store the token as Secret/);
    assert.equal(result.lines?.stderr.english.join("\n"), facts.join("\n"));
    assert.match(told.join(""), /^stdout \w{6}\.\w{16}\n$/);
  });

  test("a kubelab command of this process ends when it is stopped, with 130", async () => {
    const kept = runner.keep("kubelab lease --node quiet --mock", undefined);
    await kept.stop();
    assert.equal((await kept.ended).code, 130);
  });

  test("an abort ends it, and is thrown", async () => {
    const stop = new AbortController();
    const running = runner.run("sleep 1000", undefined, stop.signal);
    stop.abort();
    await assert.rejects(running, { name: "AbortError" });
  });
});
