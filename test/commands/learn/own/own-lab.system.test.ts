import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "vitest";
import type { LearnContext } from "../../../../src/commands/learn/context.js";
import { newLab } from "../../../../src/commands/learn/own/new-lab.js";
import {
  agreeToCommands,
  begunOwnLab,
  begunOwnLabs,
  findLabOrFolder,
} from "../../../../src/commands/learn/own/own-lab.js";
import { compileLab } from "../../../../src/lab/labs/format/compile.js";
import type { LabLibrary } from "../../../../src/lab/labs/format/library.js";
import { openLibrary } from "../../../../src/lab/labs/format/open-library.js";
import { ProgressStore } from "../../../../src/lab/labs/progress/progress-store.js";
import { sayIn } from "../../../../src/util/i18n/catalogue.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { runInProcess } from "../../../support/run-cli.js";

/** What the functions use of a learner's environment, in a new folder. */
async function environment() {
  const cwd = mkdtempSync(join(tmpdir(), "kubelab-own-"));
  let printed = "";
  const stream = { write: (text: string) => (printed += text) };
  const context = { cwd, streams: { stdout: stream, stderr: stream }, program: { commandNames: ["learn"] } };
  const withLibrary = (library: LabLibrary) => ({ ...base, library }) as unknown as LearnContext;
  const base = { context, say: sayIn("en"), library: await openLibrary(), withLibrary };
  return { env: base as unknown as LearnContext, cwd, printed: () => printed };
}

describe("a lab of one's own", () => {
  test("a new one under /proc is refused, not tried for ever", async () => {
    const { env } = await environment();
    await assert.rejects(newLab(env, "/proc/kubelab/mine"), { code: "BAD_FILE" });
  });

  test("a new one has no mistakes, and is found by its folder", async () => {
    const { env, cwd, printed } = await environment();
    await newLab(env, "07-my-lab");
    assert.match(printed(), /kubelab learn start \.\/07-my-lab/);
    assert.deepEqual((await compileLab(join(cwd, "07-my-lab"))).problems, []);
    const found = await findLabOrFolder(env, "./07-my-lab");
    assert.deepEqual([found.lab.id, found.lab.folder], ["my-lab", join(cwd, "07-my-lab")]);
    assert.equal((await found.env.library.load("my-lab"))?.definition.id, "my-lab");
    assert.equal((await found.env.library.load("tour"))?.definition.id, "tour");
  });

  test("a report has it once it was begun, and no more when its folder is gone", async () => {
    const { env, cwd } = await environment();
    await newLab(env, "mine");
    const { lab } = await findLabOrFolder(env, "./mine");
    const store = new ProgressStore({ XDG_STATE_HOME: cwd }, new FakeClock());
    const ids = async () => (await begunOwnLabs(env, await store.load())).map(({ id }) => id);
    assert.deepEqual(await ids(), []);
    await store.begin(lab, 1);
    await store.begin((await findLabOrFolder(env, "tour")).lab, 1);
    assert.deepEqual(await ids(), ["mine"]);
    const words = ["mine", "./mine", "tour", "other"];
    const progress = await store.load();
    assert.deepEqual(
      words.map((word) => begunOwnLab(env, progress, word)),
      ["mine", "mine", undefined, undefined],
    );
    rmSync(join(cwd, "mine"), { recursive: true });
    assert.deepEqual(await ids(), []);
  });

  const refused: readonly (readonly [string, (cwd: string) => void, string, RegExp])[] = [
    ["a folder that is not empty", (cwd) => mkdirSync(join(cwd, "a/b"), { recursive: true }), "a", /a is not empty/],
    ["a name that gives no id", () => {}, "Not An Id", /gives no id/],
    ["a file", (cwd) => writeFileSync(join(cwd, "file"), ""), "file", /cannot write file/],
  ];
  for (const [what, prepare, folder, message] of refused) {
    test(`new refuses ${what}`, async () => {
      const { env, cwd } = await environment();
      prepare(cwd);
      await assert.rejects(newLab(env, folder), { message });
    });
  }

  test("start refuses mistakes, which it prints, and an id of kubelab's", async () => {
    const { env, cwd, printed } = await environment();
    await newLab(env, "tour");
    await assert.rejects(findLabOrFolder(env, "./tour"), { message: /has the id tour already/ });
    await newLab(env, "mine");
    const file = join(cwd, "mine/lab.yaml");
    writeFileSync(file, readFileSync(file, "utf8").replace("minutes: 5", "minutes: 500"));
    await assert.rejects(findLabOrFolder(env, "mine"), { message: /mistakes: 1/ });
    assert.match(printed(), /mine\/lab\.yaml:6: minutes/);
    await assert.rejects(findLabOrFolder(env, "./nowhere"), { message: /no such file or folder/ });
  });

  test("before its first command a lab from elsewhere asks, until it was begun", async () => {
    const { env, cwd } = await environment();
    await newLab(env, "mine");
    const { lab } = await findLabOrFolder(env, "./mine");
    const store = new ProgressStore({ XDG_STATE_HOME: cwd }, new FakeClock());
    const asked: string[] = [];
    const confirm = (answer: boolean) => async (question: string) => asked.push(question) > 0 && answer;
    const at = (answer: boolean) => {
      const context = { ...env.context, env: {}, confirm: confirm(answer) };
      return { ...env, store, context } as unknown as LearnContext;
    };
    await assert.rejects(agreeToCommands(at(false), lab, true), { code: "DECLINED", hint: /mine\/lab\.yaml/ });
    await agreeToCommands(at(true), lab, true);
    assert.match(asked[0] ?? "", /^The commands of this lab come from .*mine\. .* Play it\?$/);
    await agreeToCommands(at(false), (await findLabOrFolder(env, "tour")).lab, true);
    await store.begin(lab, 1);
    await agreeToCommands(at(false), lab, true);
    assert.equal(asked.length, 2);
  });

  test("a lab that cannot be set up is to be started again, which keeps its best result", async () => {
    const { env, cwd } = await environment();
    await newLab(env, "mine");
    const file = join(cwd, "mine/lab.yaml");
    writeFileSync(file, `setup: [{ run: "false" }]\n${readFileSync(file, "utf8").replace(/^setup:.*\n/m, "")}`);
    writeFileSync(join(cwd, "answers.yaml"), "phase: active");
    const line = ["learn", "start", "./mine", "--yes", "--answers", "answers.yaml"];
    const { code, stderr } = await runInProcess(line, { cwd });
    assert.equal(code, 1);
    assert.match(stderr, /The commands of this lab come from \S*mine\. They run as \S+ in a new folder/);
    assert.match(stderr, /the lab itself has an error[\s\S]*Start it again: kubelab learn start \S*mine/);
    assert.doesNotMatch(stderr, /learn reset/);
  });
});
