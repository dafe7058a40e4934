import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, test } from "vitest";
import { runInProcess } from "../../../support/run-cli.js";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** A checkout with `labs/01-heartbeats` as this program has it. */
function workshop(): string {
  const cwd = mkdtempSync(join(tmpdir(), "kubelab-check-labs-"));
  folders.push(cwd);
  for (const name of ["01-heartbeats", "messages.en.json"]) {
    cpSync(join("labs", name), join(cwd, "labs", name), { recursive: true });
  }
  return cwd;
}

function change(file: string, from: string | RegExp, to: string): void {
  const text = readFileSync(file, "utf8");
  const changed = text.replace(from, to);
  assert.notEqual(changed, text, `${file} has no ${from}`);
  writeFileSync(file, changed);
}

const check = (cwd: string, folder: string) => runInProcess(["learn", "check-labs", folder], { cwd });

describe("learn check-labs", () => {
  test("a folder of labs, or of one, from anywhere", async () => {
    const cwd = workshop();
    const lab = join(cwd, "labs", "01-heartbeats");
    const given = [
      [cwd, "labs"],
      [cwd, "labs/01-heartbeats"],
      [cwd, "labs/01-heartbeats/"],
      [lab, "."],
      [tmpdir(), lab],
    ] as const;
    for (const [from, folder] of given) {
      assert.deepEqual(await check(from, folder), { code: 0, stdout: "no mistakes; labs: 1\n", stderr: "" }, folder);
    }
  });

  test("a lab of the learner's own with the id of one of kubelab's: choose another", async () => {
    const cwd = workshop();
    const mine = join(cwd, "mine", "heartbeats");
    cpSync(join(cwd, "labs", "01-heartbeats"), mine, { recursive: true });
    for (const folder of ["mine", "mine/heartbeats"]) {
      const { code, stdout, stderr } = await check(cwd, folder);
      assert.equal(code, 1);
      assert.match(
        stdout,
        /^mine\/heartbeats\/lab\.yaml:\d+: .* has the id heartbeats already\. Give yours another id.*\n$/,
      );
      assert.match(stderr, /mistakes: 1; labs without mistakes: 0/);
    }
    change(join(mine, "lab.yaml"), /^id: .*$/m, "id: my-beats");
    cpSync(mine, join(cwd, "mine", "my-beats"), { recursive: true });
    assert.equal((await check(cwd, "mine/my-beats")).code, 0);
  });

  test("all mistakes, by file and line, as the learner would name the file", async () => {
    const cwd = workshop();
    const lab = join(cwd, "labs", "01-heartbeats");
    change(join(lab, "lab.yaml"), /^minutes: .*$/m, "minutes: many");
    change(join(lab, "lab.yaml"), /kubelab lease/, "kubelab leese");
    change(join(lab, "zh.md"), /^### afterwards$/m, "### later");
    cpSync(lab, join(cwd, "labs", "02-other"), { recursive: true });
    const { code, stdout, stderr } = await check(cwd, "labs");
    assert.equal(code, 1);
    const places = stdout
      .trim()
      .split("\n")
      .map((line) => /^(labs\/[\w-]+\/[\w.]+):(\d+): ./.exec(line));
    for (const place of places) assert.ok(place, stdout);
    const keys = places.map((place) => `${place?.[1]}:${place?.[2]?.padStart(4, "0")}`);
    assert.deepEqual(keys, [...keys].sort());
    for (const wanted of [
      /minutes: /,
      /no command leese/,
      /zh\.md:\d+: .*later/,
      /id heartbeats is used twice: 01-heartbeats has it too/,
    ]) {
      assert.match(stdout, wanted);
    }
    assert.match(stderr, new RegExp(`mistakes: ${places.length}; labs without mistakes: 0`));
  });

  const wrong: readonly (readonly [name: string, folder: string, message: RegExp, hint: RegExp])[] = [
    ["a folder without anything", "empty", /empty has no labs/, /Expected lab\.yaml, en\.md and zh\.md in it/],
    ["a folder of other folders", ".", /\. has no labs/, /Expected lab\.yaml/],
    ["a folder that is not there", "nowhere", /cannot read nowhere: no such file or folder/, /Name a folder/],
    [
      "a file",
      "labs/01-heartbeats/lab.yaml",
      /lab\.yaml is a file: expected a folder/,
      /kubelab learn check-labs labs\/01-heartbeats$/m,
    ],
  ];
  for (const [name, folder, message, hint] of wrong) {
    test(`${name}: one message`, async () => {
      const cwd = workshop();
      mkdirSync(join(cwd, "empty"));
      const { code, stdout, stderr } = await check(cwd, folder);
      assert.equal(code, 2);
      assert.equal(stdout, "");
      assert.match(stderr, message);
      assert.match(stderr, hint);
      assert.equal(stderr.match(/^error:/gm)?.length, 1);
    });
  }
});
