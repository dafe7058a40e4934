import assert from "node:assert/strict";
import { readFile, stat } from "node:fs/promises";
import { createConnection, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, onTestFinished, test } from "vitest";
import { HeldTime } from "../../../src/testbed/time/held-time.js";
import { SystemClock } from "../../../src/util/clock.js";
import { elsewhere } from "../../../src/util/os/event-loop.js";
import { OwnedClock } from "../../../src/util/owned-clock.js";
import type { PendingTimer, Wait } from "../../../src/util/timer.js";

const { signal } = new AbortController();
const wait = (what: string): Wait => ({ what, setBy: "a test" });
const whats = (ran: readonly PendingTimer[]) => ran.map((timer) => timer.wait?.what);

function held(): { readonly clock: SystemClock; readonly time: HeldTime } {
  const clock = new SystemClock();
  clock.pause();
  return { clock, time: new HeldTime(clock) };
}

/** Runs `work` each `periodMs`, for ever. */
function loop(clock: SystemClock, periodMs: number, what: string, work: () => Promise<unknown>): void {
  void (async () => {
    for (;;) {
      await clock.sleep(periodMs, undefined, wait(what));
      await work();
    }
  })();
}

describe("time that is held for one piece of work", () => {
  test("passes only while the work waits for a timer", async () => {
    const { clock, time } = held();
    const startMs = clock.now();
    const result = await time.during(async () => {
      await clock.sleep(400);
      await elsewhere(new Promise((resolve) => setTimeout(resolve, 20)));
      return clock.now() - startMs;
    }, signal);
    assert.deepEqual([result, clock.now() - startMs], [400, 400]);
  });

  test("ends with the work's error", async () => {
    const { clock, time } = held();
    const failing = async () => {
      await clock.sleep(1);
      throw new Error("no");
    };
    await assert.rejects(time.during(failing, signal), /no/);
  });
});

test.each([
  [true, ["a", "caused by a", "b"]],
  [false, ["a", "b", "caused by a"]],
])("timers of one moment, one by one: %s", async (oneByOne, order) => {
  const { clock } = held();
  const seen: string[] = [];
  clock.timer(10, () => {
    seen.push("a");
    setImmediate(() => seen.push("caused by a"));
  });
  clock.timer(10, () => seen.push("b"));
  await new HeldTime(clock, oneByOne).jump(10, signal);
  assert.deepEqual(seen, order);
});

test("one by one, a wait of no time comes after what is ready at its moment", async () => {
  const { clock } = held();
  const seen: string[] = [];
  const time = new HeldTime(clock, true);
  const work = time.during(async () => {
    await clock.sleep(0);
    seen.push("waited");
    return "done";
  }, signal);
  for (let i = 1; i <= 20; i++) {
    await stat(".");
    seen.push(`ready ${i}`);
  }
  assert.equal(await work, "done");
  assert.deepEqual(seen.at(-1), "waited");
});

test("of two processes, only the owner of the next timer runs one", async () => {
  const { clock } = held();
  const startMs = clock.now();
  const moves: unknown[] = [];
  let timers: readonly PendingTimer[] = [{ dueMs: startMs + 5, waitMs: 5 }];
  using _following = clock.addFollower({
    settle: async () => ({ wasActive: false, timers }),
    follow: ({ clockMs, runs }) => {
      if (runs === "first") timers = [];
      if (runs !== undefined) moves.push([clockMs - startMs, runs]);
    },
  });
  clock.timer(10, () => {});
  await new HeldTime(clock, true).jump(10, signal);
  assert.deepEqual(moves, [
    [5, "first"],
    [10, "none"],
  ]);
});

describe("a paused clock", () => {
  test("runs no timer until it goes on, and then the rest of its time", async () => {
    const { clock } = held();
    let ran = 0;
    clock.timer(5, () => ran++);
    await new Promise((resolve) => setTimeout(resolve, 30));
    assert.equal(ran, 0);
    clock.resume();
    await new Promise((resolve) => setTimeout(resolve, 30));
    assert.equal(ran, 1);
  });

  test("tells who waits, for what and until when", () => {
    const { clock } = held();
    const now = clock.now();
    new OwnedClock(clock, "kubelet node-1").timer(2_000, () => {}, wait("relist"));
    clock.timer(1_000, () => {});
    assert.deepEqual(clock.pending, [
      { dueMs: now + 1_000, waitMs: 1_000 },
      { dueMs: now + 2_000, waitMs: 2_000, wait: { who: "kubelet node-1", what: "relist", setBy: "a test" } },
    ]);
  });

  test("shows its time to clocks that follow it", () => {
    const { clock } = held();
    const follower = new SystemClock(7);
    follower.follow(clock.reading);
    assert.deepEqual([follower.now(), follower.isPaused, follower.speed], [clock.now(), true, 1]);
  });
});

describe("time that is held", () => {
  test("steps from one timer with a purpose to the next; those without one run on the way", async () => {
    const { clock, time } = held();
    const start = clock.now();
    const limits: number[] = [];
    clock.timer(1_500, () => limits.push(clock.now() - start));
    loop(clock, 1_000, "relist", async () => {});
    loop(clock, 2_500, "renew", async () => {});
    const steps: unknown[] = [];
    for (let i = 0; i < 4; i++) {
      const { ms, ran } = await time.step(signal);
      steps.push([ms, whats(ran)]);
    }
    assert.deepEqual(steps, [
      [1_000, ["relist"]],
      [1_000, ["relist"]],
      [500, ["renew"]],
      [500, ["relist"]],
    ]);
    assert.deepEqual(limits, [1_500]);
    assert.equal(clock.now() - start, 3_000);
  });

  test("waits for requests and files between two timers", async () => {
    const { clock, time } = held();
    const socket = join(tmpdir(), `kubelab-held-${process.pid}.sock`);
    const server = createServer((one) => one.pipe(one)).listen(socket);
    onTestFinished(() => void server.close());
    const client = createConnection(socket);
    await new Promise((resolve) => client.once("connect", resolve));
    onTestFinished(() => void client.destroy());
    const done: number[] = [];
    loop(clock, 1_000, "ask", async () => {
      await readFile(new URL(import.meta.url));
      client.write("x");
      await new Promise((resolve) => client.once("data", resolve));
      done.push(clock.now());
    });
    const start = clock.now();
    const { ran } = await time.jump(20_500, signal);
    assert.equal(ran.length, 20);
    assert.deepEqual(
      done,
      Array.from({ length: 20 }, (_, i) => start + 1_000 * (i + 1)),
    );
    assert.equal(clock.now(), start + 20_500);
  });

  test("moves until a condition is met, and says when it is not", async () => {
    const { clock, time } = held();
    let rounds = 0;
    loop(clock, 1_000, "count", async () => rounds++);
    const met = await time.until(async () => rounds === 7, 60_000, signal);
    assert.deepEqual([met?.ms, met?.ran.length], [7_000, 7]);
    assert.equal(await time.until(async () => false, 5_000, signal), undefined);
    assert.equal(rounds, 12);
  });

  test("asks the parts in other processes, until none of them did anything", async () => {
    const { clock, time } = held();
    const answers = [true, true, false, false];
    const followed: number[] = [];
    clock.addFollower({
      settle: async () => ({
        wasActive: answers.shift() ?? false,
        timers: [{ dueMs: clock.now() + 100, waitMs: 100, wait: wait("there") }],
      }),
      follow: ({ clockMs }) => followed.push(clockMs),
    });
    const start = clock.now();
    const { ms, ran } = await time.step(signal);
    assert.deepEqual([ms, whats(ran), answers], [100, ["there"], []]);
    assert.equal(followed.at(-1), start + 100);
  });

  test("ends with a sentence when nobody waits, or when a wait starts again at once", async () => {
    const { clock, time } = held();
    await assert.rejects(time.step(signal), { code: "FAILED", message: /there is no timer to step to/ });
    loop(clock, 0, "spin", async () => {});
    await assert.rejects(time.jump(1_000, signal), { code: "FAILED", message: /the time stands still: spin/ });
  });

  test("stops when its signal aborts", async () => {
    const { clock, time } = held();
    const stop = new AbortController();
    loop(clock, 1_000, "stop", async () => stop.abort(new Error("enough")));
    await assert.rejects(time.jump(60_000, stop.signal), /enough/);
  });
});

test("two who hold one clock: it ends at the later of both times, and no timer runs twice", async () => {
  const clock = new SystemClock();
  const time = [new HeldTime(clock), new HeldTime(clock)];
  clock.pause();
  const startMs = clock.now();
  let runs = 0;
  const run = () => {
    runs += 1;
  };
  for (let ms = 1_000; ms <= 10_000; ms += 1_000) clock.timer(ms, run);
  await Promise.all(time.map((one, i) => one.jump([5_000, 8_000][i] ?? 0, new AbortController().signal)));
  assert.equal(clock.now() - startMs, 8_000);
  assert.equal(runs, 8);
});
