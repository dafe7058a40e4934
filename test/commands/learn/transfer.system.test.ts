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
const learn = (line: string): Promise<CliRun> =>
  runInProcess(["learn", ...line.split(" ")], { cwd, env: { XDG_STATE_HOME: join(cwd, ".state") } });

describe("progress in a file", () => {
  test("only its owner can read it, and no other file is left", async () => {
    const { code, stdout } = await learn("export mine.json");
    assert.deepEqual([code, stdout], [0, "mine.json: labs: 0\n"]);
    assert.deepEqual(readdirSync(cwd), ["mine.json"]);
    assert.equal(statSync(join(cwd, "mine.json")).mode & 0o777, 0o600);
    assert.equal((await learn("import mine.json")).code, 0);
    const kept = join(cwd, ".state/kubelab/learn");
    assert.deepEqual([statSync(kept).mode & 0o777, statSync(join(kept, "progress.json")).mode & 0o777], [0o700, 0o600]);
  });

  test("an existing file stays, unless --force is given", async () => {
    const file = join(cwd, "thesis.txt");
    writeFileSync(file, "years of work");
    const { code, stderr } = await learn("export thesis.txt");
    assert.equal(code, 2);
    assert.match(stderr, /^error: thesis\.txt already exists\n.*--force/);
    assert.equal(readFileSync(file, "utf8"), "years of work");
    assert.match((await learn("export thesis.txt --lang zh")).stderr, /thesis\.txt 已经存在\n.*--force/);
    assert.equal((await learn("export thesis.txt --force")).code, 0);
    assert.match(readFileSync(file, "utf8"), /"labs"/);
  });

  test("no folder is created, and a folder is not accepted as a file", async () => {
    const missing = await learn("export backup/mine.json");
    assert.equal(missing.code, 2);
    assert.match(
      missing.stderr,
      /^error: cannot write backup\/mine\.json: no such file or folder\n.*an existing folder/,
    );
    assert.equal(existsSync(join(cwd, "backup")), false);
    mkdirSync(join(cwd, "backup"));
    for (const line of ["export backup", "export backup --force"]) {
      const folder = await learn(line);
      assert.equal(folder.code, 2);
      assert.match(folder.stderr, /^error: cannot write backup: it is a folder\n/);
    }
  });

  test("all progress is deleted only after a confirmation", async () => {
    const counts = { hints: 0, rightPredictions: 0, wrongPredictions: 0 };
    const labs = { tokens: { revision: 1, seed: 1, done: [], startedAtMs: 0, ...counts } };
    writeFileSync(join(cwd, "weeks.json"), JSON.stringify({ version: 1, labs }));
    assert.equal((await learn("import weeks.json")).code, 0);
    const asked = await learn("reset");
    assert.equal(asked.code, 2, asked.stderr);
    assert.match(asked.stderr, /--yes/);
    assert.match((await learn("report --json")).stdout, /"tokens"/);
    assert.match((await learn("reset --yes")).stdout, /all progress deleted/);
    // Without progress there is no question.
    assert.match((await learn("reset")).stdout, /all progress deleted/);
  });
});
