import assert from "node:assert/strict";
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { PayloadError, writeAtomically } from "../../../src/kubelet/volumes/atomic-writer.js";
import { FakeClock, FakeRandom } from "../../support/fake-clock.js";

const DEPS = { clock: new FakeClock(), random: new FakeRandom() };
const payloadOf = (files: Record<string, string>, mode = 0o644) =>
  new Map(Object.entries(files).map(([path, text]) => [path, { data: Buffer.from(text), mode }]));
const folder = () => join(mkdtempSync(join(tmpdir(), "atomic-")), "volume");

test("atomic writer: files are links through ..data into a folder with the time in its name", async () => {
  const dir = folder();
  assert.equal(await writeAtomically(DEPS, dir, payloadOf({ a: "1", "sub/b": "2" }, 0o440)), true);
  const data = readlinkSync(join(dir, "..data"));
  assert.match(data, /^\.\.2026_01_01_00_00_00\.\d+$/);
  assert.deepEqual(readdirSync(dir).sort(), ["..data", data, "a", "sub"].sort());
  assert.equal(readlinkSync(join(dir, "a")), "..data/a");
  assert.equal(readlinkSync(join(dir, "sub")), "..data/sub");
  assert.equal(readFileSync(join(dir, "sub/b"), "utf8"), "2");
  assert.equal(statSync(join(dir, "a")).mode & 0o777, 0o440);
});

test("atomic writer: the same again changes nothing; new content comes in a new folder, the old one goes", async () => {
  const dir = folder();
  await writeAtomically(DEPS, dir, payloadOf({ a: "1", gone: "x" }));
  const first = readlinkSync(join(dir, "..data"));
  assert.equal(await writeAtomically(DEPS, dir, payloadOf({ a: "1", gone: "x" })), false);
  assert.equal(readlinkSync(join(dir, "..data")), first);
  assert.equal(await writeAtomically(DEPS, dir, payloadOf({ a: "2" })), true);
  const second = readlinkSync(join(dir, "..data"));
  assert.notEqual(second, first);
  assert.deepEqual(readdirSync(dir).sort(), ["..data", second, "a"].sort());
  assert.equal(readFileSync(join(dir, "a"), "utf8"), "2");
});

const changes: readonly (readonly [string, Record<string, string>, boolean])[] = [
  ["a file more", { a: "1", b: "2" }, true],
  ["a file less", {}, true],
  ["another content", { a: "2" }, true],
  ["the same", { a: "1" }, false],
];
for (const [name, files, want] of changes) {
  test(`atomic writer: ${name} ${want ? "is" : "is not"} written`, async () => {
    const dir = folder();
    await writeAtomically(DEPS, dir, payloadOf({ a: "1" }));
    assert.equal(await writeAtomically(DEPS, dir, payloadOf(files)), want);
    assert.deepEqual(
      readdirSync(dir).filter((one) => !one.startsWith("..")),
      Object.keys(files),
    );
  });
}

test("atomic writer: what an earlier run left half done is put right", async () => {
  const dir = folder();
  await writeAtomically(DEPS, dir, payloadOf({ a: "1", b: "2" }));
  writeFileSync(join(dir, "stray"), "");
  mkdirSync(join(dir, "..2025_01_01_00_00_00.1"));
  await writeAtomically(DEPS, dir, payloadOf({ a: "3" }));
  assert.deepEqual(readdirSync(dir).length, 3);
  assert.ok(lstatSync(join(dir, "a")).isSymbolicLink());
});

const unsafe: readonly (readonly [string, RegExp])[] = [
  ["../a", /must not contain '\.\.'/],
  ["a/../../b", /must not contain '\.\.'/],
  ["/etc/passwd", /must be relative path: \/etc\/passwd/],
  ["..data", /must not start with '\.\.': \.\.data/],
  ["", /must not be empty/],
  ["a//b", /must not contain an empty part/],
  [".", /must not contain an empty part/],
  ["a\0b", /must not contain a NUL/],
  ["x".repeat(256), /filename must be less than or equal to 255 characters/],
];
for (const [path, message] of unsafe) {
  test(`atomic writer: ${JSON.stringify(path.slice(0, 20))} is refused before anything is written`, async () => {
    const dir = folder();
    const payload = payloadOf({ good: "1", [path]: "2" });
    await assert.rejects(writeAtomically(DEPS, dir, payload), (error: Error) => {
      assert.ok(error instanceof PayloadError);
      assert.match(error.message, message);
      return true;
    });
    assert.throws(() => readdirSync(dir), /ENOENT/);
  });
}
