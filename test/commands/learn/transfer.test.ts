import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "vitest";
import { type CliRun, runInProcess } from "../../support/run-cli.js";

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), "kubelab-transfer-"));
});
afterEach(() => {
  rmSync(cwd, { recursive: true, force: true });
});
const learn = (line: string): Promise<CliRun> => runInProcess(["learn", ...line.split(" ")], { cwd });

describe("progress in a file", () => {
  test("it is written for its owner alone, beside nothing else", async () => {
    const { code, stdout } = await learn("export mine.json");
    assert.deepEqual([code, stdout], [0, "mine.json: labs: 0\n"]);
    assert.deepEqual(readdirSync(cwd), ["mine.json"]);
    assert.equal(statSync(join(cwd, "mine.json")).mode & 0o777, 0o600);
    assert.equal((await learn("import mine.json")).code, 0);
  });

  test("a file that is there stays, unless --force says otherwise", async () => {
    const file = join(cwd, "thesis.txt");
    writeFileSync(file, "years of work");
    const { code, stderr } = await learn("export thesis.txt");
    assert.equal(code, 2);
    assert.match(stderr, /^error: thesis\.txt is there already\n.*--force/);
    assert.equal(readFileSync(file, "utf8"), "years of work");
    assert.match((await learn("export thesis.txt --lang zh")).stderr, /thesis\.txt 已经存在\n.*--force/);
    assert.equal((await learn("export thesis.txt --force")).code, 0);
    assert.match(readFileSync(file, "utf8"), /"labs"/);
  });

  test("no folder is made, and one is no file", async () => {
    const missing = await learn("export backup/mine.json");
    assert.equal(missing.code, 2);
    assert.match(
      missing.stderr,
      /^error: cannot write backup\/mine\.json: no such file or folder\n.*a folder that is there/,
    );
    assert.equal(existsSync(join(cwd, "backup")), false);
    mkdirSync(join(cwd, "backup"));
    for (const line of ["export backup", "export backup --force"]) {
      const folder = await learn(line);
      assert.equal(folder.code, 2);
      assert.match(folder.stderr, /^error: cannot write backup: it is a folder\n/);
    }
  });
});
