import { describe, expect, test } from "vitest";
import { changed, parseChange } from "../../../src/lab/chaos/change.js";
import { openRecording, type Recording } from "../../../src/lab/chaos/recording.js";
import type { TraceEvent } from "../../../src/trace/events.js";

const START_MS = 1_700_000_000_000;
const SCENARIO = `
title: t
nodes: 2
do:
  - { when: { at: 10s }, fault: partition, with: { node: node-1, how: drop }, for: 50s }
  - { when: "pod/web=Running", fault: pull-fault, with: { image: nginx, how: unreachable } }
  - { when: { at: 5s }, fault: stream-cut }
expect: [{ condition: node/node-1=Unknown, within: 1m }]
`;
const head = {
  command: "kubelab chaos run t.yaml --seed 1",
  version: "1",
  seed: 1,
  startMs: START_MS,
  scenario: SCENARIO,
};

function fact(atMs: number, title: string): TraceEvent {
  return { seq: 1, id: "0".repeat(16), atMs: START_MS + atMs, actor: "user", level: 1, kind: "step", title };
}

function recording(run: unknown = head, nowMs = START_MS, version = "1"): Recording {
  const first = Object.assign(run === "none" ? {} : { run }, fact(0, "first"));
  return openRecording([first, fact(20_000, "the lab injects pull-fault, image nginx")], "run.ndjson", version, nowMs);
}

describe("a recording cannot be replayed", () => {
  test.each([
    ["in real time, without a seed", "none", START_MS, "1"],
    ["head of its first fact is damaged", { ...head, seed: "x" }, START_MS, "1"],
    ["kubelab 1 recorded it, and this is kubelab 2", head, START_MS, "2"],
    ["it is 301 days old", head, START_MS + 301 * 86_400_000, "1"],
    ["its time is later than now", head, START_MS - 86_400_000, "1"],
    ["the scenario in run.ndjson: title", { ...head, scenario: "title: 5" }, START_MS, "1"],
  ])("%s", (message, run, nowMs, version) => {
    expect(() => recording(run, nowMs, version)).toThrow(message);
  });
});

describe("the scenario, changed at", () => {
  const faults = (text: string, atMs: number) =>
    changed(recording(), parseChange(text, { nodes: 2 }), START_MS + atMs, START_MS).scenario.do;

  test.each([
    // step  change             faults, when, for
    [30_000, "no partition", ["partition 10000 20000", "pull-fault pod/web=Running", "stream-cut 5000"]],
    [10_000, "no partition", ["pull-fault pod/web=Running", "stream-cut 5000"]],
    [30_000, "no pull-fault", ["partition 10000 50000", "pull-fault pod/web=Running 10000", "stream-cut 5000"]],
    [15_000, "no pull-fault", ["partition 10000 50000", "stream-cut 5000"]],
    [
      30_000,
      "api-fault node=node-2 code=500 for=20s",
      ["partition 10000 50000", "pull-fault pod/web=Running", "stream-cut 5000", "api-fault 30000 20000"],
    ],
  ])("%i ms with %j", (atMs, change, want) => {
    const seen = faults(change, atMs).map(({ fault, when, for: length }) =>
      [fault, typeof when === "string" ? when : when.at, length ?? ""].join(" ").trim(),
    );
    expect(seen).toEqual(want);
  });

  test.each([
    ["no slow-storage", 30_000, 'no fault "slow-storage" at 30 s or later'],
    ["no partition", 61_000, 'no fault "partition" at 61 s or later'],
    ["no stream-cut", 30_000, "stream-cut cannot be taken back"],
  ])("%j at %i ms: not possible", (change, atMs, message) => {
    expect(() => faults(change, atMs)).toThrow(message);
  });

  test("a moment of renew-lease is an input, not a fault", () => {
    const plan = changed(recording(), { kind: "renew-lease", node: "node-1" }, START_MS + 40_000, START_MS);
    expect(plan.scenario).toEqual(recording().scenario);
    expect(plan.inputs.map(({ atMs }) => atMs - START_MS)).toEqual([40_000]);
  });
});

test.each([
  ["", "expected NAME=VALUE"],
  ["no", "the name of one fault after 'no'"],
  ["partition node-1", 'instead of "node-1"'],
  ["renew-lease node=node-3", "one of node-1, node-2"],
  ["partitoin node=node-1", "did you mean partition?"],
  ["partition node=node-1 how=maybe", "--change: do.0.with"],
  ["partition node=node-1 how=drop for=soon", "no duration such as 30s"],
])("--change %j is refused", (text, message) => {
  expect(() => parseChange(text, { nodes: 2 })).toThrow(message);
});
