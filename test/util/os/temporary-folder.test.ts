import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, test } from "vitest";
import { makeTemporaryFolder } from "../../../src/util/os/temporary-folder.js";
import { missingPath } from "../../support/missing-path.js";

const before = process.env["TMPDIR"];
afterEach(() => {
  if (before === undefined) delete process.env["TMPDIR"];
  else process.env["TMPDIR"] = before;
});

test("folders of ended processes are removed, and no others", async () => {
  const place = mkdtempSync(join(tmpdir(), "kubelab-place-"));
  process.env["TMPDIR"] = place;
  const { pid: dead } = spawnSync(process.execPath, ["-v"]);
  const kept = [
    `kubelab-runtime-${process.ppid}-abc123`, // its process runs
    `kubelab-lab-${dead}-abc123`, // of another kind
    `kubelab-runtime-${dead}-abc`, // not made by mkdtemp
    "kubelab-runtime-abc123",
  ];
  for (const name of [...kept, `kubelab-runtime-${dead}-abc123`]) {
    mkdirSync(join(place, name));
    writeFileSync(join(place, name, "file"), "");
  }
  symlinkSync(place, join(place, `kubelab-runtime-${dead}-link12`));
  const made = await makeTemporaryFolder("runtime");
  const names = readdirSync(place).map((name) => join(place, name));
  const expected = [...kept, `kubelab-runtime-${dead}-link12`].map((name) => join(place, name));
  assert.deepEqual(names.sort(), [...expected, made].sort());
});

test("a folder for temporary files that does not exist: one clear error", async () => {
  const missing = missingPath();
  process.env["TMPDIR"] = missing;
  await assert.rejects(makeTemporaryFolder("runtime"), {
    code: "BAD_FILE",
    message: `cannot make a folder in ${missing}: no such file or folder`,
    hint: "Name another folder for temporary files with TMPDIR.",
  });
});
