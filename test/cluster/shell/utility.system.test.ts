import assert from "node:assert/strict";
import { test } from "vitest";
import type { UtilityCommand } from "../../../src/cluster/shell/utility/messages.js";
import { UtilityPool } from "../../../src/cluster/shell/utility/utility-pool.js";
import type { UtilityListener } from "../../../src/cluster/shell/utility/utility-process.js";
import { untilTrue } from "../../support/fake-clock.js";
import { childrenOf } from "../../support/processes.js";

/** A file system in which only the commands exist. */
const noFiles: UtilityListener = {
  serve: async (method) => {
    if (method === "exists") return true;
    if (method === "stat") return { isFile: true, isDirectory: false, isSymbolicLink: false, mode: 0o755, size: 0 };
    throw new Error(method);
  },
  onMemory: () => {},
};
const command = (text: string, args: readonly string[], stdin = ""): UtilityCommand => ({
  text,
  args,
  stdin: Buffer.from(stdin),
  env: { PATH: "/bin" },
  cwd: "/",
});
const ENDLESS = command("awk", ["BEGIN { while (1) {} }"]);
const DOUBLE = command("awk", ['BEGIN { x = "a"; while (1) x = x x }']);
const FIELDS = command("awk", ["BEGIN { $100000000 = 1 }"]);
const SORT = command("sort", [], "b\na\n");

/** Starts a command of a container, and finds its process. */
function start(pool: UtilityPool, owner: object, endless = ENDLESS) {
  const before = childrenOf(process.pid);
  const stop = new AbortController();
  const ended = pool.run(owner, endless, noFiles, stop.signal);
  ended.catch(() => {});
  return { ended, stop, pids: childrenOf(process.pid).filter((pid) => !before.includes(pid)) };
}

test("a command that computes without end blocks no other, and an abort ends its process", async () => {
  const pool = new UtilityPool();
  const { ended, stop, pids } = start(pool, {});
  assert.equal(pids.length, 1);
  const sorted = await pool.run({}, SORT, noFiles, new AbortController().signal);
  assert.deepEqual([sorted.stdout.toString(), sorted.exitCode], ["a\nb\n", 0]);
  stop.abort(new Error("killed"));
  await assert.rejects(ended, /killed/);
  await untilTrue(() => !childrenOf(process.pid).some((pid) => pids.includes(pid)));
});

test("a process that has ended its command runs the next one", async () => {
  const pool = new UtilityPool();
  const first = start(pool, {}, SORT);
  await first.ended;
  const second = start(pool, {}, SORT);
  assert.equal((await second.ended).stdout.toString(), "a\nb\n");
  assert.deepEqual([first.pids.length, second.pids.length], [1, 0]);
});

test("a container with two running commands waits for its third, and others do not", async () => {
  const pool = new UtilityPool();
  const owner = {};
  const running = [start(pool, owner), start(pool, owner)];
  const third = start(pool, owner, SORT);
  let hasEnded = false;
  void third.ended.then(() => {
    hasEnded = true;
  });
  await pool.run({}, SORT, noFiles, new AbortController().signal);
  assert.equal(hasEnded, false);
  running[0]?.stop.abort(new Error("killed"));
  assert.equal((await third.ended).stdout.toString(), "a\nb\n");
  running[1]?.stop.abort(new Error("killed"));
  await assert.rejects(running[1]?.ended ?? Promise.resolve(), /killed/);
});

test("a command whose text would become too long is out of memory, and its process goes on", async () => {
  const pool = new UtilityPool();
  const { ended, pids } = start(pool, {}, DOUBLE);
  await assert.rejects(ended, { name: "UtilityOutOfMemoryError" });
  const next = start(pool, {}, SORT);
  assert.equal((await next.ended).exitCode, 0);
  assert.deepEqual([pids.length, next.pids.length], [1, 0]);
});

test.runIf(process.platform === "linux")(
  "the memory of a running command is reported until it is stopped",
  async () => {
    const pool = new UtilityPool();
    const stop = new AbortController();
    const onMemory = (bytes: number) => {
      if (bytes > 2 ** 20) stop.abort(new Error("too much"));
    };
    await assert.rejects(pool.run({}, FIELDS, { ...noFiles, onMemory }, stop.signal), /too much/);
  },
);

for (const [text, args, stdin, want] of [
  ["sed", ["s/./x/g"], "é\n", "xx\n"],
  ["awk", ["{ print length($1), toupper($2) }"], "é àa\n", "2 àA\n"],
  ["cut", ["-c1-2"], "äöü\n", "ä\n"],
  ["sort", [], "é\nb\nà\n", "b\nà\né\n"],
  ["sort", ["-r"], "b\nA\na\nB\n", "b\na\nB\nA\n"],
  ["grep", ["é"], "é\ne\n", "é\n"],
] as const) {
  test(`a byte is a character for ${text}, as without a locale`, async () => {
    const run = (bytes: Buffer) =>
      new UtilityPool().run({}, { ...command(text, args), stdin: bytes }, noFiles, new AbortController().signal);
    assert.equal((await run(Buffer.from(stdin))).stdout.toString(), want);
    if (text === "grep") return;
    const odd = Buffer.from([0x61, 0xff, 0x0a]);
    const same = text === "sed" ? Buffer.from("xx\n") : text === "awk" ? Buffer.from("2 \n") : odd;
    assert.deepEqual((await run(odd)).stdout, same);
  });
}
