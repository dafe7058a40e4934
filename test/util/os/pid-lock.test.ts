import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, test } from "vitest";
import { readIfThere } from "../../../src/util/os/files.js";
import { lockHolder, tryLock } from "../../../src/util/os/pid-lock.js";
import { markOf } from "../../../src/util/os/processes.js";

/** Reads the lock, after which another process does something. */
const readThen = (others: () => void) => async (file: string) => {
  const text = await readIfThere(file);
  others();
  return text;
};

/** More than Linux gives to any process. */
const STALE = "99999999 1\n";
const live = async () => `${process.ppid} ${await markOf(process.ppid)}`.trim().concat("\n");

let path: string;
beforeEach(() => {
  path = join(mkdtempSync(join(tmpdir(), "kubelab-lock-")), "a.lock");
});

test("a lock is held until it is disposed of", async () => {
  const answer = await tryLock(path, "");
  assert.equal(answer.outcome, "taken");
  assert.match(readFileSync(path, "utf8"), new RegExp(`^${process.pid}\\b.*\n$`));
  if (answer.outcome === "taken") await answer.lock[Symbol.asyncDispose]();
  assert.throws(() => readFileSync(path), { code: "ENOENT" });
});

test("the lock of a running process is held, and its holder is named", async () => {
  writeFileSync(path, await live());
  assert.deepEqual(await tryLock(path, ""), { outcome: "held", pid: process.ppid });
  assert.equal(await lockHolder(path), process.ppid);
});

for (const [what, content] of [
  ["a killed process", STALE],
  ["a process that was killed while it wrote", ""],
] as const) {
  test(`the lock of ${what} does not count`, async () => {
    writeFileSync(path, content);
    assert.equal(await lockHolder(path), undefined);
    assert.equal((await tryLock(path, "")).outcome, "taken");
  });
}

test("a lock that replaced the stale one after it was read is not removed", async () => {
  const other = await live();
  writeFileSync(path, STALE);
  const read = readThen(() => writeFileSync(path, other));
  assert.deepEqual(await tryLock(path, "", read), { outcome: "held", pid: process.ppid });
  assert.equal(readFileSync(path, "utf8"), other);
});

test("while another process removes a stale lock, that process counts as its holder", async () => {
  writeFileSync(path, STALE);
  const other = await live();
  const removal = `${path}.${createHash("sha256").update(STALE).digest("hex").slice(0, 8)}`;
  const read = readThen(() => writeFileSync(removal, other));
  assert.deepEqual(await tryLock(path, "", read), { outcome: "held", pid: process.ppid });
  assert.equal(readFileSync(path, "utf8"), STALE);
});
