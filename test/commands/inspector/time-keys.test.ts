import assert from "node:assert/strict";
import { test } from "vitest";
import { futureOf, timeKeys } from "../../../src/commands/inspector/time-keys.js";
import { SystemClock } from "../../../src/util/clock.js";
import { FakeClock } from "../../support/fake-clock.js";

test("the page's timers are those with a purpose, the next one first, and only of a clock that can be held", () => {
  const clock = new SystemClock();
  clock.pause();
  const none = () => {};
  clock.timer(9_000, none, { who: "kubelet n1", what: "renew the Lease", setBy: "renewInterval", valueMs: 10_000 });
  clock.timer(500, none);
  clock.timer(1_000, none, { who: "kubelet n1", what: "relist", setBy: "relistPeriod" });
  const { nowMs = 0, isPaused, timers = [] } = futureOf(clock, "embedded")?.() ?? {};
  assert.ok(isPaused);
  assert.deepEqual(
    timers.map(({ dueMs, ...one }) => ({ inMs: dueMs - nowMs, ...one })),
    [
      { inMs: 1_000, who: "kubelet n1", what: "relist", setBy: "relistPeriod = 1 s" },
      { inMs: 9_000, who: "kubelet n1", what: "renew the Lease", setBy: "renewInterval = 10 s" },
    ],
  );
  for (const kind of ["joined", "real", undefined] as const) {
    assert.equal(futureOf(clock, kind), undefined);
    assert.deepEqual(timeKeys(clock, kind), []);
  }
  assert.equal(futureOf(new FakeClock(), "embedded"), undefined);
});

test("a runtime of somebody else is named, because it runs on in real time", async () => {
  const [pause] = timeKeys(new SystemClock(), "embedded", "unix:///run/containerd/containerd.sock");
  assert.equal(
    await pause?.run(new AbortController().signal),
    "the time stands still, but not for unix:///run/containerd/containerd.sock: it has no clock to hold, and runs in real time",
  );
});
