import { describe, expect, test } from "vitest";
import { hastySeries, renewalRhythm } from "../../../src/lab/grade/rhythm.js";

const at = (seconds: readonly number[]) => seconds.map((second) => ({ atMs: second * 1000 }));
/** The times of attempts with these waits between them. */
function spaced(waits: readonly number[]): readonly { readonly atMs: number }[] {
  const times = [0];
  for (const wait of waits) times.push((times.at(-1) ?? 0) + wait);
  return at(times);
}

const every = (seconds: number, count: number) => Array.from({ length: count }, () => seconds);

describe("renewals are steady if they come every 10 s", () => {
  const RENEWALS = [
    // what, seconds of the renewals in 45 s, speed of the clock, whether they are steady
    ["every 10 s", [3, 13, 23, 33, 43], 1, true],
    ["with jitter of 4 %", [3, 13.4, 23.8, 34.2, 44.6], 1, true],
    ["one is late by the machine's fault", [3, 13, 31, 41], 10, true],
    ["every 15 s", [8, 23, 38], 1, false],
    ["every 15 s on a fast clock", [8, 23, 38], 10, false],
    ["every 18 s on a fast clock", [0, 18, 36], 10, false],
    ["every 5 s", [5, 10, 15, 20, 25, 30, 35, 40], 10, false],
    ["none", [], 10, false],
    ["only at first", [3, 13], 10, false],
  ] as const;

  test.each(RENEWALS)("%s", (_, seconds, speed, isSteady) => {
    const gap = (seconds[1] ?? 10) - (seconds[0] ?? 0);
    const beforeMs = ((seconds[0] ?? 0) - gap) * 1000;
    expect(renewalRhythm(beforeMs, at(seconds), 45_000, speed).isSteady).toBe(isSteady);
  });

  test("a busy machine may delay each renewal by its noise", () => {
    const late = at([3, 16, 29, 42]);
    expect([0, 3_000].map((noiseMs) => renewalRhythm(-10_000, late, 45_000, 1, noiseMs).isSteady)).toEqual([
      false,
      true,
    ]);
  });

  test("the longest gap reaches to the end of the watch", () => {
    expect(renewalRhythm(0, at([10, 20]), 45_000, 1).longestMs).toBe(25_000);
  });
});

describe("attempts are hasty if their waits do not grow", () => {
  const WAITS = [
    // what, waits in seconds, whether a series of them is hasty
    [
      "the kubelet's: five at once, then doubled up to 7 s",
      [0, 0, 0, 0, 0, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 7],
      false,
    ],
    ["doubled, and begun late", [0.1, 0.2, 0.4, 0.8, 1.6], false],
    ["doubled up to 2 s", [0.1, 0.2, 0.4, 0.8, 1.6, 2, 2, 2, 2, 2, 2], false],
    ["a second longer each time", [1, 2, 3, 4], false],
    ["begun again with each renewal", [0.1, 0.2, 0.4, 0.8, 1.6, 10, 0.1, 0.2, 0.4, 0.8, 1.6], false],
    ["one attempt per renewal", [10, 10], false],
    ["five attempts per renewal", [0, 0, 0, 0, 10, 0, 0, 0, 0], false],
    ["every second", every(1, 20), true],
    ["every 2 s", every(2, 9), true],
    ["no more attempts than a back-off makes, by a slow agent", [2.1, 1.9, 2.4, 2.8, 3.6, 2.2], false],
    ["shorter and shorter", [4, 3.2, 2.5, 1.6, 1.2, 0.8, 0.4, 0.2, 0.1], true],
    ["hasty only in the second series", [0.1, 0.2, 10, ...every(0.5, 10)], true],
  ] as const;

  test.each(WAITS)("%s", (_, waits, isHasty) => {
    expect(hastySeries(spaced(waits)) !== undefined).toBe(isHasty);
  });

  test("waits within the noise of a busy machine say nothing, but many attempts do", () => {
    const waits = [0.4, 0.6, 0.5, 0.7, 0.3, 0.5, 0.6, 0.4, 0.5];
    const isHasty = (attempts: readonly { readonly atMs: number }[]) => hastySeries(attempts, 1_000) !== undefined;
    expect([isHasty(spaced(waits)), isHasty(spaced(every(0.3, 41))), isHasty(spaced(every(2, 9)))]).toEqual([
      false,
      true,
      true,
    ]);
    expect(hastySeries(spaced(waits))).toBeDefined();
  });

  test("the series that decides is named with its waits", () => {
    const found = hastySeries(spaced([0.1, 0.2, 10, ...every(0.5, 10)]));
    expect([found?.series.length, found?.early, found?.late]).toEqual([11, 500, 500]);
  });
});
