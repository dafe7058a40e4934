import { describe, expect, test } from "vitest";
import { Channel } from "../../../src/kubelet/config/channel.js";
import { PodConfig, type SourceUpdate } from "../../../src/kubelet/config/pod-config.js";
import { SourcesReady } from "../../../src/kubelet/config/sources.js";
import type { PodUpdate } from "../../../src/kubelet/types/pod-update.js";
import type { V1Pod } from "../../../src/staging/apimachinery/api/pod.js";
import { FakeClock, settle } from "../../support/fake-clock.js";
import { only, recordingTrace } from "../../support/trace.js";
import { makePod } from "../podworkers/pods.js";

const { signal } = new AbortController();

function start() {
  const clock = new FakeClock();
  const events: string[] = [];
  const { trace, events: facts } = recordingTrace(clock);
  const recorder = {
    event: (_pod: V1Pod, _type: string, reason: string, message: string) => void events.push(`${reason}: ${message}`),
  };
  const config = new PodConfig({ clock, trace, recorder });
  const seen: PodUpdate[] = [];
  const stop = new AbortController();
  const reader = (async () => {
    for await (const update of config.updates(stop.signal)) seen.push(update);
  })();
  const take = async () => {
    await settle();
    return seen
      .splice(0)
      .map(({ op, source, pods }) => `${op} ${source} ${pods.map(({ metadata }) => metadata.name).join(",")}`.trim());
  };
  return { trace, facts, config, take, seen, events, stop, reader };
}

const a = makePod("a");
const with_ = (pod: V1Pod, metadata: Partial<V1Pod["metadata"]>): V1Pod => ({
  ...pod,
  metadata: { ...pod.metadata, ...metadata },
});

describe("what a second SET means", () => {
  const deletionTimestamp = "2026-01-01T00:00:00Z";
  const table: [string, readonly V1Pod[], string[]][] = [
    ["nothing has changed", [a], []],
    ["the spec has changed", [{ ...a, spec: { ...a.spec, terminationGracePeriodSeconds: 1 } }], ["UPDATE api a"]],
    ["a label has changed", [with_(a, { labels: { x: "1" } })], ["UPDATE api a"]],
    ["an annotation has changed", [with_(a, { annotations: { x: "1" } })], ["UPDATE api a"]],
    ["only the kubelet's own annotations differ", [with_(a, { annotations: {} })], []],
    ["only the status has changed", [{ ...a, status: { phase: "Running" } }], ["RECONCILE api a"]],
    ["it is marked for deletion", [with_(a, { deletionTimestamp })], ["DELETE api a"]],
    ["it is gone", [], ["REMOVE api a"]],
    ["another one has come", [a, makePod("b")], ["ADD api b"]],
    ["it was made anew under its name", [with_(a, { uid: "new" })], ["REMOVE api a", "ADD api a"]],
  ];
  for (const [what, pods, want] of table) {
    test(`${what}: ${want.join(", ") || "nothing"}`, async () => {
      const { config, take } = start();
      const channel = config.channel("api");
      await channel({ op: "SET", pods: [a] }, signal);
      expect(await take()).toEqual(["ADD api a"]);
      await channel({ op: "SET", pods }, signal);
      expect(await take()).toEqual(want);
    });
  }
});

test("incremental updates of a source", async () => {
  const { config, take } = start();
  const channel = config.channel("http");
  const steps: [SourceUpdate["op"], V1Pod, string[]][] = [
    ["ADD", a, ["ADD http a"]],
    ["UPDATE", with_(a, { labels: { x: "1" } }), ["UPDATE http a"]],
    ["REMOVE", makePod("stranger"), []],
    ["REMOVE", a, ["REMOVE http a"]],
  ];
  for (const [op, pod, want] of steps) {
    await channel({ op, pods: [pod] }, signal);
    expect(await take()).toEqual(want);
  }
});

test("the source and the first sight are noted on a pod, and kept when it changes", async () => {
  const { config, seen } = start();
  const channel = config.channel("file");
  await channel({ op: "SET", pods: [a] }, signal);
  await channel({ op: "SET", pods: [with_(a, { annotations: { x: "1" } })] }, signal);
  await settle();
  expect(seen.map(({ pods }) => pods[0]?.metadata.annotations)).toEqual([
    { "kubernetes.io/config.source": "file", "kubernetes.io/config.seen": "2026-01-01T00:00:00.000Z" },
    { "kubernetes.io/config.source": "file", "kubernetes.io/config.seen": "2026-01-01T00:00:00.000Z", x: "1" },
  ]);
});

test("of two pods with one name the second is left out, with an event", async () => {
  const { config, take, events } = start();
  await config.channel("http")({ op: "SET", pods: [a, with_(a, { uid: "second" })] }, signal);
  expect(await take()).toEqual(["ADD http a"]);
  expect(events).toEqual([
    'FailedValidation: Error validating pod a_default(second) from http due to duplicate pod name "a", ignoring',
  ]);
});

test("sources are ready when each has reported and was handled; a source without pods sends an empty SET", async () => {
  const { config, take } = start();
  const ready = new SourcesReady((seen) => config.seenAllSources(seen));
  const [api, file] = [config.channel("api"), config.channel("file")];
  expect(ready.allReady()).toBe(false);
  await file({ op: "SET", pods: [] }, signal);
  expect(await take()).toEqual(["ADD file"]);
  ready.addSource("file");
  expect(ready.allReady()).toBe(false);
  await api({ op: "SET", pods: [a] }, signal);
  expect(ready.allReady()).toBe(false);
  ready.addSource("api");
  expect(ready.allReady()).toBe(true);
  await file({ op: "SET", pods: [] }, signal);
  expect(await take()).toEqual(["ADD api a"]);
});

test("the reader ends when its signal aborts", async () => {
  const { stop, reader } = start();
  stop.abort();
  await reader;
});

describe("Channel", () => {
  test("a sender waits while it is full, and nothing is lost or out of order", async () => {
    const channel = new Channel<number>(2);
    const sent: number[] = [];
    const sending = Promise.all([1, 2, 3, 4].map(async (n) => sent.push(await channel.send(n, signal).then(() => n))));
    await settle();
    expect(sent).toEqual([1, 2]);
    const got: number[] = [];
    for await (const n of channel.receive(signal)) {
      got.push(n);
      if (n === 4) break;
    }
    await sending;
    expect([got, sent]).toEqual([
      [1, 2, 3, 4],
      [1, 2, 3, 4],
    ]);
  });

  test("a sender that waits can give up", async () => {
    const channel = new Channel<number>(1);
    const stop = new AbortController();
    await channel.send(1, signal);
    const waiting = channel.send(2, stop.signal);
    stop.abort();
    await expect(waiting).rejects.toMatchObject({ name: "AbortError" });
    expect(channel.size).toBe(1);
  });
});

test("what changed is sent with its fact as the cause, which has the cause of the source's update", async () => {
  const { config, trace, facts, seen, stop, reader } = start();
  const api = config.channel("api");
  await api({ op: "SET", pods: [] }, stop.signal);
  await trace.because({ causedBy: "watch1", pod: "default/a" }, () => api({ op: "SET", pods: [a] }, stop.signal));
  await settle();
  const added = only(facts, "decision").find(({ what }) => what === "ADD from api: [default/a]");
  expect(added).toMatchObject({ causedBy: "watch1", pod: "default/a" });
  expect(seen.at(-1)?.scope).toEqual({ causedBy: added?.id, pod: "default/a" });
  stop.abort();
  await reader;
});
