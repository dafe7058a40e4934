import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "vitest";
import type { Check } from "../../../../src/lab/labs/format/schema.js";
import { LabRuns } from "../../../../src/lab/labs/session/actions.js";
import { untilHeld } from "../../../../src/lab/labs/session/held.js";
import { sayIn } from "../../../../src/util/i18n/catalogue.js";
import { SystemRandom } from "../../../../src/util/random.js";
import { MemoryPlace } from "../../../support/memory-place.js";

const PATH = "/api/v1/nodes/n1";
const NODE: Check = { object: PATH, exists: true };

function open(check: Check, waitsForEffect = false, environment = new MemoryPlace()) {
  const runs = new LabRuns(environment, { say: sayIn("en") });
  const trace = environment.facts.openTrace();
  const stop = new AbortController();
  let runCount = 0;
  const counted = Object.assign(Object.create(runs) as LabRuns, {
    check: (...args: Parameters<LabRuns["check"]>) => {
      runCount += 1;
      return runs.check(...args);
    },
    follow: (onChange: (name: string) => void) => runs.follow(onChange),
  });
  let verdict: unknown;
  const done = untilHeld(
    { environment, runs: counted, random: new SystemRandom() },
    check,
    waitsForEffect,
    stop.signal,
  );
  done.then(
    (held) => {
      verdict = held;
    },
    () => {},
  );
  const write = (name: string) =>
    trace.emit(
      { kind: "state", subject: `nodes ${name}`, what: "stored", to: "resourceVersion 2", version: `nodes ${name}@2` },
      { actor: "apiserver", level: 3 },
    );
  return { environment, runs, write, stop, done, count: () => runCount, hasHeld: () => verdict !== undefined };
}

/** Lets everything happen that needs no time: the clock of the environment never waits. */
const settle = () => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)));

test("a check is not run again while nothing changes that it reads", async () => {
  const { environment, write, count, stop, done } = open(NODE);
  await settle();
  assert.equal(count(), 1);
  environment.objects.set(PATH, {});
  write("n2");
  await settle();
  assert.equal(count(), 1);
  stop.abort();
  await assert.rejects(done);
});

test("it holds by itself after the write, and a burst of writes is few runs", async () => {
  const { environment, write, count, done, hasHeld } = open(NODE);
  await settle();
  for (let i = 0; i < 100; i++) write("n1");
  await settle();
  assert.ok(count() <= 3, `${count()} runs`);
  assert.equal(hasHeld(), false);
  environment.objects.set(PATH, {});
  write("n1");
  assert.equal((await done).ok, true);
});

test("a check that held before the step must fail once: its command has not run", async () => {
  const environment = new MemoryPlace();
  environment.objects.set(PATH, {});
  const { write, done, hasHeld } = open(NODE, true, environment);
  await settle();
  write("n1");
  await settle();
  assert.equal(hasHeld(), false);
  environment.objects.delete(PATH);
  write("n1");
  await settle();
  environment.objects.set(PATH, {});
  write("n1");
  assert.equal((await done).ok, true);
});

test("a file of the lab's folder", async () => {
  const { environment, done } = open({ file: "key.txt", matches: "^7$" });
  await settle();
  writeFileSync(join(environment.folder, "key.txt"), "7\n");
  assert.equal((await done).ok, true);
});

test("the output of a background command", async () => {
  const { runs, done } = open({ output: "window", stream: "both", matches: "kept" });
  await settle();
  await runs.keep("window", "kubelab pleg", undefined, undefined, new AbortController().signal);
  assert.equal((await done).ok, true);
});

test("facts that the check's own command causes lead to one more look, not to an endless loop", async () => {
  const { environment, count, stop, done } = open({ command: "kubectl get pods", exit: 0 });
  const trace = environment.facts.openTrace();
  const { run } = environment;
  environment.run = async (...args) => {
    trace.emit({ kind: "note", text: "exec" }, { actor: "kubelet", level: 1 });
    return run.apply(environment, args);
  };
  await settle();
  await settle();
  assert.ok(count() <= 2, `${count()} runs`);
  stop.abort();
  await assert.rejects(done);
});
