import { expect, test } from "vitest";
import { StaleInformerCache } from "../../../../src/cluster/controllers/support/shared-deps.js";
import { runSyncLoop } from "../../../../src/cluster/controllers/support/sync-loop.js";
import { WorkQueue } from "../../../../src/staging/client-go/workqueue.js";
import { Trace } from "../../../../src/trace/trace.js";
import { FakeClock, settle } from "../../../support/fake-clock.js";
import { recordingTrace } from "../../../support/trace.js";
import { errorsOf } from "./on-store.js";

test("a controller ends when the syncs of all its queues have ended: the next one would repeat what they do", async () => {
  const clock = new FakeClock();
  const [queue, other] = [new WorkQueue(clock), new WorkQueue(clock)];
  let finish = () => {};
  const writing = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const stop = new AbortController();
  let hasEnded = false;
  const loop = { name: "job", trace: new Trace(clock), queue, sources: [], sync: () => writing };
  const running = runSyncLoop({ ...loop, others: [{ queue: other, sync: async () => {} }] }, stop.signal).then(() => {
    hasEnded = true;
  });
  queue.add("default/web");
  await settle();
  stop.abort();
  await settle();
  expect(hasEnded).toBe(false);
  finish();
  await running;
});

test("a cache that lacks the controller's own writes is no error of the cluster", async () => {
  const clock = new FakeClock();
  const { trace, events } = recordingTrace(clock);
  const queue = new WorkQueue(clock);
  const stop = new AbortController();
  const sync = async (key: string) => {
    if (queue.numRequeues(key) === 0)
      throw key === "stale" ? new StaleInformerCache("out of date") : new Error("broken");
  };
  const running = runSyncLoop({ name: "endpointslice", trace, queue, sources: [], sync }, stop.signal);
  queue.add("stale");
  queue.add("broken");
  await clock.advance(100);
  stop.abort();
  await running;
  expect(errorsOf(events)).toEqual(["endpointslice: broken: broken"]);
});
