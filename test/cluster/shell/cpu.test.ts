import assert from "node:assert/strict";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { test } from "vitest";
import { CpuTime, Scheduler } from "../../../src/cluster/shell/process/cpu.js";

/** More than the work of one turn. */
const LONG = 1_000;

/** One container on a scheduler whose turns come by hand. */
function startCpu() {
  const later: (() => void)[] = [];
  const cpu = new CpuTime(new Scheduler((run) => later.push(run)));
  /** @returns a process that does something long, `rounds` times */
  const busy = async (rounds: number, done: (round: number) => void = () => {}, isOver = () => false) => {
    for (let round = 0; round < rounds; round++) {
      await cpu.turn(LONG, isOver);
      done(round);
    }
  };
  const runAll = async (maxTurns = Number.POSITIVE_INFINITY) => {
    for (let turn = 0; turn < maxTurns; turn++) {
      const run = later.shift();
      if (run === undefined) return;
      run();
      await Promise.resolve().then(() => {});
    }
  };
  return { cpu, busy, runAll };
}

test("processes of a container take turns, each in the order of its arrival", async () => {
  const { busy, runAll } = startCpu();
  const order: string[] = [];
  for (const name of ["a", "b", "c"]) void busy(3, () => order.push(name));
  await runAll();
  assert.equal(order.join(""), "abcabcabc");
});

test("processes that have ended need no turn of their own", async () => {
  const { cpu, busy, runAll } = startCpu();
  const order: string[] = [];
  void busy(2, () => order.push("a"));
  for (let i = 0; i < 10; i++) void cpu.turn(LONG, () => true)?.then(() => order.push("over"));
  void busy(2, () => order.push("b"));
  await runAll();
  assert.equal(order.join(" "), `a ${"over ".repeat(10)}b a b`);
  assert.equal(cpu.scheduler.turns, 4);
});

test("two busy processes leave nothing of their earlier turns in memory", async () => {
  setFlagsFromString("--expose_gc");
  const gc = runInNewContext("gc") as () => void;
  const { busy, runAll } = startCpu();
  void busy(100);
  const earlier = startAndForget();
  void busy(100);
  await runAll(50);
  // A reference is strong until the turn of the event loop in which it was made ends.
  await new Promise(setImmediate);
  gc();
  assert.equal(earlier.deref(), undefined);

  /** A process whose only wait is the first one. */
  function startAndForget(): WeakRef<() => boolean> {
    const isOver = () => false;
    void busy(1, undefined, isOver);
    return new WeakRef(isOver);
  }
});
