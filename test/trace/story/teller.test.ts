import assert from "node:assert/strict";
import { test } from "vitest";
import type { Fact, TraceEvent } from "../../../src/trace/events.js";
import { MAX_STEPS } from "../../../src/trace/story/roles.js";
import { type StoryRule, tellStory } from "../../../src/trace/story/teller.js";
import { Depths } from "../../../src/trace/terminal/terminal-sink.js";
import type { EmitOptions } from "../../../src/trace/trace.js";
import { defined } from "../../../src/util/defined.js";
import { FakeClock } from "../../support/fake-clock.js";
import { recordingTrace } from "../../support/trace.js";

const REQUEST = { kind: "request", server: "s", identity: "admin", auditId: "a", durationMs: 0, status: 201 } as const;
const POST = { ...REQUEST, method: "POST", path: "/api/v1/namespaces/default/pods" } as const;
const decided = (what: string): Fact => ({ kind: "decision", what, why: "x" });
const user = { actor: "user" } as const;
const WRITES: StoryRule = {
  begins: ({ kind, actor }) => (kind === "request" && actor === "user" ? { title: "a write" } : undefined),
};

/** A run that tells its story, and the steps of each fact of it. */
function telling(rule: StoryRule = WRITES) {
  const { trace, events } = recordingTrace(new FakeClock());
  const story = tellStory(trace, rule);
  const told = () => events.flatMap((event) => (event.kind === "story" ? [textsOf(event)] : []));
  return { trace, story, told, emit: (fact: Fact, options: EmitOptions) => trace.emit(fact, options) };
}

const textsOf = ({ title, steps }: TraceEvent & { kind: "story" }) => [title, ...steps.map(({ text }) => text)];

/** A client's write: its request is reported after what the API server stored. @returns what the write leads to */
function write({ trace, emit }: ReturnType<typeof telling>, revision: number, causedBy?: string): string {
  const id = trace.newId();
  const version = `u@${revision}`;
  const state = { kind: "state", subject: "pods default/web", what: "stored", version } as const;
  emit({ ...state, to: `resourceVersion ${revision}` }, { actor: "apiserver", causedBy: id });
  emit({ ...POST, version }, { ...user, id, ...defined({ causedBy }) });
  return version;
}

const HEARD = { kind: "watch", type: "ADDED", resource: "pods", object: "default/web" } as const;

test("a story has what the write led to, each step after its cause, and the facts that lead from one to the next", async () => {
  const run = telling();
  run.emit(decided("of another"), { actor: "scheduler" });
  const version = write(run, 1);
  run.emit(HEARD, { actor: "controller", causedBy: version });
  const { id } = run.emit(HEARD, { actor: "scheduler", causedBy: version });
  await Promise.resolve();
  assert.deepEqual(run.told(), [["a write", "asks the API server to create pod web"]]);
  run.emit(decided("default/web goes to n"), { actor: "scheduler", causedBy: id });
  await Promise.resolve();
  assert.deepEqual(run.told()[1], [
    "a write",
    "stores pod default/web, revision 1",
    "hears that pod web was added",
    "chooses n",
  ]);
});

test("another beginning is another story, and what the earlier one leads to is told no more", async () => {
  const run = telling();
  const version = write(run, 1);
  await Promise.resolve();
  write(run, 2);
  run.emit(decided("late"), { actor: "scheduler", causedBy: version });
  run.story[Symbol.dispose]();
  assert.deepEqual(run.told(), [
    ["a write", "asks the API server to create pod web"],
    ["a write (2)", "asks the API server to create pod web"],
  ]);
});

test("a change that is repeated is told once, with what is stored of it; what is decided about the others is told", async () => {
  const run = telling({ begins: ({ kind }) => (kind === "step" ? { title: "a key" } : undefined) });
  const key = run.emit({ kind: "step", title: "Change it 3 times" }, user);
  for (const revision of [1, 2, 3]) {
    const version = write(run, revision, key.id);
    await Promise.resolve();
    run.emit(decided(`stop worker ${revision}`), { actor: "scheduler", causedBy: version });
    await Promise.resolve();
  }
  run.story[Symbol.dispose]();
  assert.deepEqual(
    run.told().flatMap(([, ...texts]) => texts),
    [
      "changes it 3 times",
      "asks the API server to create pod web",
      "stores pod default/web, revision 1",
      "stops worker 1",
      "stops worker 2",
      "stops worker 3",
    ],
  );
});

test("a story ends after so many steps that nobody reads more", () => {
  const run = telling();
  const version = write(run, 1);
  for (let i = 0; i < 2 * MAX_STEPS; i++) run.emit(decided(`decision ${i}`), { actor: "scheduler", causedBy: version });
  run.story[Symbol.dispose]();
  assert.equal(run.told().flat().length, 1 + MAX_STEPS);
});

test("steps of a sequence: each has the one before as its cause, and the first decision in it as its reason", async () => {
  const run = telling({
    begins: ({ kind, causedBy }) => (kind === "step" && causedBy === undefined ? { title: "all" } : undefined),
    roleOf: ({ kind }) => (kind === "step" ? "step" : undefined),
  });
  const depths = new Depths();
  const shown: number[] = [];
  run.trace.addSink({ write: (event) => void (event.kind === "step" && shown.push(depths.depthOf(event, true))) });
  run.trace.chapter("c", () =>
    run.trace.sequence(() => {
      run.trace.step("user", "one", {}, () => run.emit(decided("yes"), user));
      run.trace.step("user", "two", {}, () => run.trace.step("user", "in two", {}, () => undefined));
      run.trace.step("user", "three", {}, () => undefined);
    }),
  );
  run.story[Symbol.dispose]();
  assert.deepEqual(run.told(), [["all", "one", "two", "in two", "three"]]);
  assert.deepEqual(shown, [0, 0, 1, 0]);
});
