import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, test } from "vitest";
import { testsOf } from "../../../src/lab/build/judge.js";
import { allTasks, goldenOf, stubOf, taskIds } from "../../../src/lab/build/library.js";
import { firstWrong } from "../../../src/lab/build/runner/first-wrong.js";
import type { Wrong } from "../../../src/lab/build/runner/messages.js";
import type { Task } from "../../../src/lab/build/task.js";
import { parse } from "../../../src/util/yaml.js";
import { OWN_MODULES } from "./own-modules.js";

const MOST_WRONG = 20;

interface WrongSolution {
  readonly name: string;
  readonly from: string;
  readonly to: string;
  readonly fails: string;
}

const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");
const load = (text: string): Promise<Readonly<Record<string, unknown>>> =>
  import(/* @vite-ignore */ `data:text/javascript,${encodeURIComponent(text)}`);

async function judged(task: Task, written: Readonly<Record<string, unknown>>): Promise<Wrong | undefined> {
  return await firstWrong(testsOf(task, await goldenOf(task)), written, {
    at: () => {},
    passed: () => {},
    swallowed: () => assert.fail("the case goes on after its end"),
    url: "",
  });
}

const inWords = (wrong: Wrong | undefined) => (wrong === undefined ? undefined : JSON.stringify(wrong));

test("tasks have the numbers of their folders", async () => {
  const tasks = await allTasks();
  assert.deepEqual(
    tasks.map(({ number }) => number),
    tasks.map((_, i) => i + 1),
  );
});

test("each task leads to labs that exist", async () => {
  const labs = readdirSync(new URL("../../../labs/", import.meta.url)).map((name) => name.replace(/^\w+?-/, ""));
  for (const task of await allTasks()) {
    for (const lab of task.labs) assert.ok(labs.includes(lab), `${task.id} leads to ${lab}`);
  }
});

describe.each(await taskIds())("task %s", async (id) => {
  const task = (await allTasks()).find((one) => one.id === id);
  assert.ok(task);
  const solution = read(`solutions/${id}.mjs`);
  const wrongSolutions = parse(read(`wrong/${id}.yaml`)) as readonly WrongSolution[];

  test("kubelab's own module passes", async () => {
    assert.equal(inWords(await judged(task, OWN_MODULES[id] ?? {})), undefined);
  });

  test("the solution passes", async () => {
    assert.equal(inWords(await judged(task, await load(solution))), undefined);
  });

  test("the stub fails at each stage, because it is not written", async () => {
    const [stub, solved] = [await load(await stubOf(task)), await load(solution)];
    const written: Record<string, unknown> = { ...stub };
    for (const { id: stage, exports, checks } of task.stages) {
      if (written[exports] === solved[exports]) continue;
      const wrong = await judged(task, written);
      assert.deepEqual([wrong?.stage, wrong?.check, wrong?.got.kind], [stage, checks[0]?.id, "not-written"]);
      written[exports] = solved[exports];
    }
  });

  test("the stub has a place for each stage", async () => {
    const places = Array.from((await stubOf(task)).matchAll(/^\/\/ @stage (\S+)$/gm), ([, stage]) => stage);
    assert.deepEqual(
      places,
      task.stages.map((stage) => stage.id),
    );
  });

  test("there are wrong solutions, one for each check at least", () => {
    assert.ok(wrongSolutions.length >= MOST_WRONG, `only ${wrongSolutions.length}`);
    const named = new Set(wrongSolutions.map(({ fails }) => fails));
    const unused = task.stages.flatMap(({ checks }) => checks.map((one) => one.id)).filter((one) => !named.has(one));
    assert.deepEqual(unused, []);
  });

  test.each(wrongSolutions)("$name: fails $fails", async ({ from, to, fails }) => {
    assert.ok(solution.includes(from), `the solution has no ${from}`);
    const wrong = await judged(task, await load(solution.replace(from, () => to)));
    assert.equal(wrong?.check, fails, inWords(wrong));
  });
});
