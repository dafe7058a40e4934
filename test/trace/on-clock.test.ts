import assert from "node:assert/strict";
import { test } from "vitest";
import type { TraceEvent } from "../../src/trace/events.js";
import { startMs } from "../../src/trace/graph/graph.js";
import { onClock } from "../../src/trace/on-clock.js";
import { FakeClock } from "../support/fake-clock.js";
import { note, request } from "./facts.js";

/** A test's clock that says how fast it runs. */
function clockAt(nowMs: number, speed: number) {
  return Object.assign(new FakeClock(nowMs), { speed });
}

test.each([
  ["as fast, hours behind", 1, 1, 900, 100],
  ["five times as fast as the command", 1, 5, 500, 500],
  ["a command that is six times as fast", 30, 5, 983, 17],
])("the facts of a command on the clock of its lab: %s", (_, ofCommand, ofLab, begunMs, lastsMs) => {
  const from = clockAt(11_000_000, ofCommand);
  const to = clockAt(1_000, ofLab);
  const got: TraceEvent[] = [];
  const sink = onClock({ level: 3, write: (event) => void got.push(event) }, from, to);
  assert.equal(sink.level, 3);
  sink.write(note("1", { atMs: 11_000_000 }));
  sink.write(request("2", { atMs: 11_000_000, durationMs: 100 }));
  sink.write(note("3", { atMs: 10_999_900 }));
  const [now, answered, before] = got;
  assert.equal(now?.atMs, 1_000);
  assert.equal(answered?.atMs, 1_000);
  assert.equal(answered === undefined ? undefined : Math.round(startMs(answered)), begunMs);
  assert.equal(before?.atMs, 1_000 - lastsMs);
});

test("facts on the same clock stay as they are", () => {
  const clock = new FakeClock();
  const sink = { write: () => {} };
  assert.equal(onClock(sink, clock, clock), sink);
});
