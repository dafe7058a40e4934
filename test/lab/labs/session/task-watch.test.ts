import assert from "node:assert/strict";
import { test } from "vitest";
import type { LabSession } from "../../../../src/lab/labs/session/session.js";
import { TaskWatch } from "../../../../src/lab/labs/session/task-watch.js";
import { Mutex } from "../../../../src/util/async/mutex.js";
import { SystemRandom } from "../../../../src/util/random.js";

test("a shell is told that a task is done after its prompt knows it", async () => {
  const order: string[] = [];
  let tell: () => void = () => {};
  const told = new Promise<void>((resolve) => (tell = resolve));
  const finish = () => {
    order.push("verdict");
    return true;
  };
  const session = { untilDone: async () => finish } as unknown as LabSession;
  const suspend = async () => {
    order.push("prompt away");
    return async () => {
      order.push("notice");
      tell();
    };
  };
  await using watch = new TaskWatch(session, { random: new SystemRandom(), turns: new Mutex(), suspend });
  watch.note({ kind: "step", id: "a", type: "check", title: "a", index: 1, count: 2 });
  await told;
  assert.deepEqual(order, ["prompt away", "verdict", "notice"]);
});
