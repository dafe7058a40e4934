import assert from "node:assert/strict";
import { queryObjects } from "node:v8";
import { afterEach, beforeEach, describe, test } from "vitest";
import { PIDS_LIMIT } from "../../../src/cluster/shell/container-machine.js";
import { ShellState } from "../../../src/cluster/shell/language/state.js";
import { Process } from "../../../src/cluster/shell/process/process.js";
import { settle } from "../../support/fake-clock.js";
import { loadPrograms, RuntimeLab } from "./lab.js";

let lab = new RuntimeLab();
beforeEach(async () => {
  await loadPrograms();
  lab = new RuntimeLab();
});
afterEach(async () => {
  lab.stop();
  await settle(10);
});

/** When a fork bomb has failed to fork this often, it has started more than 3,000 processes. */
const REFUSED_FORKS = 1000;
/** The running processes, and some that have ended but are still jobs of a running shell. */
const MAX_OBJECTS = PIDS_LIMIT + 200;

/** The objects of a class that are left after a garbage collection. */
function countOf(type: typeof Process | typeof ShellState): number {
  return queryObjects(type, { format: "count" });
}

describe("a fork bomb keeps only its running processes in memory", () => {
  for (const [name, script] of [
    ["shells that end before their children", "bomb() { bomb & bomb & }; bomb; sleep infinity"],
    ["shells with a trap", "bomb() { trap : TERM; bomb & bomb & }; bomb; sleep infinity"],
    ["shells whose children write into a variable", "bomb() { x=$(bomb & bomb &); }; bomb; sleep infinity"],
  ] as const) {
    test(name, async () => {
      const [processes, states] = [countOf(Process), countOf(ShellState)];
      const { running } = lab.run({ command: ["sh", "-c", script] });
      assert.ok(running !== undefined);
      while (running.machine.refusedForks < REFUSED_FORKS) await settle(1);
      assert.ok(countOf(Process) - processes <= MAX_OBJECTS, `${countOf(Process) - processes} processes`);
      assert.ok(countOf(ShellState) - states <= MAX_OBJECTS, `${countOf(ShellState) - states} states`);
    });
  }
});
