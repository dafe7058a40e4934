import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, test } from "vitest";
import {
  createFileAtomic,
  makeFolder,
  removeAbandoned,
  replaceFile,
  replaceFileSync,
  writeFileAtomic,
} from "../../../src/util/os/files.js";
import { importsOf, sourceFiles } from "../../support/source-files.js";

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

const WRITERS = Array.from({ length: 20 }, (_, index) => `${index}`.repeat(10_000));

test("of many writers at once, each succeeds, a reader finds what one has written, and no temporary file is left", async () => {
  const path = join(folder, "busy", "kubelet.pem");
  const one = () => WRITERS.includes(readFileSync(path, "utf8"));
  await writeFileAtomic(path, WRITERS[0] ?? "");
  await Promise.all([
    ...WRITERS.map(async (text) => {
      await writeFileAtomic(path, text);
      assert.ok(one());
    }),
    ...WRITERS.map(() => removeAbandoned(join(folder, "busy"), ["kubelet.pem"])),
  ]);
  assert.ok(one());
  assert.deepEqual(readdirSync(join(folder, "busy")), ["kubelet.pem"]);
});

test("of many writers that create a file, one does", async () => {
  const path = join(folder, "created", "kubelet.key");
  const created = await Promise.all(WRITERS.map((text) => createFileAtomic(path, text, { mode: 0o600 })));
  assert.equal(created.filter(Boolean).length, 1);
  assert.equal(readFileSync(path, "utf8"), WRITERS[created.indexOf(true)]);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(join(folder, "created")), ["kubelet.key"]);
});

test("a file that could not be written leaves no temporary one", async () => {
  const path = join(folder, "failed", "file");
  await makeFolder(path);
  const failing = replaceFile(path, async (temporary) => {
    writeFileSync(temporary, "half");
    throw new Error("no more");
  });
  await assert.rejects(failing, { message: "no more" });
  assert.throws(() => replaceFileSync(path, "x"));
  assert.deepEqual(readdirSync(join(folder, "failed")), ["file"]);
});

/** What may rename a file by itself, and why. */
const RENAMES: Readonly<Record<string, string>> = {
  "src/util/os/files.ts": "the shared way",
  "src/staging/cri/grpc/listen.ts": "a socket: its temporary name is random, and not longer than its own",
  "src/kubelet/logs/container-log-manager.ts": "moves a log, as upstream",
  "src/kubelet/logs/rotated-logs.ts": "upstream's name, of a kubelet that has locked its folder",
  "src/kubelet/volumes/atomic-writer.ts": "upstream's name of a link, of a kubelet that has locked its folder",
  "src/lab/labs/progress/progress.ts": "keeps a broken file",
  "src/cluster/shell/fs/host-files.ts": "a container's rename",
  "src/util/os/socket-file.ts": "a socket that nobody listens at",
};

test("files are replaced in the one way", () => {
  const renaming = sourceFiles("src").filter((file) => {
    return importsOf(file).some(({ specifier, names = [] }) => {
      return /^node:fs(\/promises)?$/.test(specifier) && names.some((name) => /^rename(Sync)?$/.test(name));
    });
  });
  assert.deepEqual(renaming.sort(), Object.keys(RENAMES).sort());
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
