import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, test } from "vitest";
import { makeFolder, writeFileAtomic } from "../../../src/util/os/files.js";

const folder = mkdtempSync(join(tmpdir(), "kubelab-files-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("a file is replaced atomically, with its mode, and no temporary file is left", async () => {
  const path = join(folder, "replace", "kubelet.key");
  await writeFileAtomic(path, "first", { mode: 0o600 });
  assert.equal(statSync(path).mode & 0o777, 0o600);
  const inode = statSync(path).ino;
  await writeFileAtomic(path, "second", { mode: 0o600 });
  assert.equal(readFileSync(path, "utf8"), "second");
  assert.notEqual(statSync(path).ino, inode); // replaced by rename, not rewritten
  assert.deepEqual(readdirSync(join(folder, "replace")), ["kubelet.key"]);
});

test("the mode does not depend on the file that was there", async () => {
  const path = join(folder, "loose.key");
  writeFileSync(path, "x", { mode: 0o644 });
  await writeFileAtomic(path, "y", { mode: 0o600 });
  assert.equal(statSync(path).mode & 0o777, 0o600);
});

test("a folder that cannot be created is a LabError", async () => {
  writeFileSync(join(folder, "file"), "");
  await assert.rejects(writeFileAtomic(join(folder, "file", "kubelet.key"), "x"), {
    name: "LabError",
    code: "BAD_FILE",
    message: /cannot write .*kubelet\.key: /,
  });
});

test("a target that is a folder stays, and the temporary file is removed", async () => {
  const path = join(folder, "taken");
  await writeFileAtomic(join(path, "inside"), "x");
  await assert.rejects(writeFileAtomic(path, "y"), { code: "BAD_FILE" });
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.endsWith(".tmp")),
    [],
  );
});

test("makeFolder creates missing parents, and accepts an existing folder", async () => {
  const path = join(folder, "a", "b", "c");
  await makeFolder(path, 0o700);
  await makeFolder(path, 0o700);
  assert.equal(statSync(path).mode & 0o777, 0o700);
});

test("makeFolder: concurrent calls below a missing folder", async () => {
  for (let round = 0; round < 50; round++) {
    const parent = join(folder, `together-${round}`, "x");
    await Promise.all(["a", "b", "c", "c"].map((name) => makeFolder(join(parent, name))));
    assert.deepEqual(readdirSync(parent).sort(), ["a", "b", "c"]);
  }
});

test("makeFolder reports a file in the path", async () => {
  const file = join(folder, "file");
  writeFileSync(file, "");
  await assert.rejects(makeFolder(file), { code: "ENOTDIR" });
  await assert.rejects(makeFolder(join(file, "below")), { code: "ENOTDIR" });
});

test.skipIf(!existsSync("/proc/self"))(
  "makeFolder ends where a parent refuses: mkdir's own recursion never would",
  async () => {
    await assert.rejects(makeFolder("/proc/kubelab/node"), { code: "ENOENT" });
  },
);
