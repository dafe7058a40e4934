import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, test } from "vitest";
import { testsOf } from "../../../src/lab/build/judge.js";
import { allTasks, goldenOf, stubOf, taskIds } from "../../../src/lab/build/library.js";
import { firstWrong } from "../../../src/lab/build/runner/first-wrong.js";
import type { Wrong } from "../../../src/lab/build/runner/messages.js";
import type { Stage, Task } from "../../../src/lab/build/task.js";
import { WORDS } from "../../../src/lab/build/words.js";
import { parse } from "../../../src/util/yaml.js";
import { OWN_MODULES } from "./own-modules.js";

const MOST_WRONG = 20;
/** kubelab's own form of these waits, where the learner's does not. */
const OWN_ASYNC = ["clientUsages", "set", "update", "finish"];

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
    assert.equal(
      inWords(await judged({ ...task, async: [...task.async, ...OWN_ASYNC] }, OWN_MODULES[id] ?? {})),
      undefined,
    );
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

  test("a function that gives a promise instead of its value fails at its first case", async () => {
    const solved = await load(solution);
    for (const { id: stage, exports } of task.stages) {
      const own = solved[exports] as (...args: unknown[]) => unknown;
      if (/^class\b/.test(own.toString()) || task.async.includes(exports)) continue;
      const wrong: Wrong | undefined = await judged(task, {
        ...solved,
        [exports]: async (...args: unknown[]) => own(...args),
      });
      const begin: Stage | undefined = task.stages.find((one) => one.exports === exports);
      assert.deepEqual(
        [wrong?.stage, wrong?.check, wrong?.got.kind],
        [begin?.id, begin?.checks[0]?.id, "promise"],
        stage,
      );
    }
  });

  test.each(wrongSolutions)("$name: fails $fails", async ({ from, to, fails }) => {
    assert.ok(solution.includes(from), `the solution has no ${from}`);
    const wrong = await judged(task, await load(solution.replace(from, () => to)));
    assert.equal(wrong?.check, fails, inWords(wrong));
  });
});

describe("what a verdict says about waits", async () => {
  const tasks = await allTasks();
  const wrongIn = async (id: string, from: string, to: string) => {
    const task = tasks.find((one) => one.id === id);
    const solution = read(`solutions/${id}.mjs`);
    assert.ok(task !== undefined && solution.includes(from));
    return await judged(task, await load(solution.replace(from, () => to)));
  };

  test("a method that must not wait gives a promise", async () => {
    const wrong = await wrongIn("get-newer-than", "get(podUid)", "async get(podUid)");
    assert.deepEqual([wrong?.check, wrong?.got.kind], ["unknown", "promise"]);
  });

  test("a method that is missing is named", async () => {
    const wrong = await wrongIn("pod-worker", "finish(outcome)", "end(outcome)");
    assert.deepEqual([wrong?.check, wrong?.calls.at(-1), wrong?.got.kind], ["next", "finish('ok')", "no-method"]);
    assert.ok(wrong);
    assert.deepEqual(WORDS.en.differs("finish('ok')", wrong.want, wrong.got), ["your object has no method finish"]);
  });

  test("a call before a sleep is over is named with the sleep", async () => {
    const wrong = await wrongIn("lease-loop", "await this.#clock.sleep(sleepMs)", "this.#clock.sleep(sleepMs)");
    assert.deepEqual(wrong?.got, { kind: "too-early", text: "client.get('n1')", sleep: "clock.sleep(200)" });
  });

  test("the answers that led to the wrong call are given", async () => {
    const wrong = await wrongIn("lease-loop", "answer.status === 409", "answer.status !== 200");
    assert.match(wrong?.given?.at(-1) ?? "", /^client.update: \{ status: 500 \}$/);
    const dice = await wrongIn("renew-interval", "random() * factor", "random()");
    assert.deepEqual(dice?.given, ["dice.roll: 0.5"]);
  });

  test("a waiting call keeps its name in the calls before", async () => {
    const wrong = await wrongIn("get-newer-than", "if (isReady)", "if (true)");
    assert.equal(wrong?.calls.at(-1), "getNewerThan('p1', 10)");
    const released = await wrongIn("get-newer-than", " && one.minTimeMs <= timeMs", "");
    assert.deepEqual(released?.calls[1], "w1 = getNewerThan('p1', 10)");
  });
});
