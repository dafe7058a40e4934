import assert from "node:assert/strict";
import { test } from "vitest";
import type { ProgressText } from "../../../src/testbed/context.js";
import { type MissedHeartbeatsDeps, watchMissedHeartbeats } from "../../../src/testbed/outage/missed-heartbeats.js";
import type { TraceEvent } from "../../../src/trace/events.js";
import { Trace } from "../../../src/trace/trace.js";
import { FakeClock, START_MS } from "../../support/fake-clock.js";

/** A node whose taint evicts one pod after 20 s. */
function silentNode() {
  const clock = new FakeClock();
  const timeAdded = new Date(START_MS).toISOString();
  const taint = { key: "node.kubernetes.io/unreachable", effect: "NoExecute", timeAdded };
  const conditions = [{ type: "Ready", status: "Unknown", reason: "NodeStatusUnknown" }];
  const node = { metadata: { name: "n1" }, spec: { taints: [taint] }, status: { conditions } };
  const toleration = { operator: "Exists", tolerationSeconds: 20 };
  const pods = new Map([["default/hasty", { metadata: { name: "hasty" }, spec: { tolerations: [toleration] } }]]);
  const view = { node, pods, evicted: new Set<string>() };
  return { clock, view };
}

const OPTIONS = {
  nodeName: "n1",
  kubeVersion: "1.25",
  lastRenewal: undefined,
  silentSinceMs: START_MS,
  explain: false,
};
const { signal } = new AbortController();

test("what is seen of an eviction leads back to the silence, where controllers elsewhere do not tell it", async () => {
  const { clock, view } = silentNode();
  const trace = new Trace(clock);
  const facts: TraceEvent[] = [];
  trace.addSink({ level: 3, write: (event) => facts.push(event) });
  const announced = new Map<string, string>();
  const expectEviction = (pod: string, causedBy: string) => {
    announced.set(pod, causedBy);
    view.evicted.add(pod);
  };
  const context = { progress: () => ({ update() {}, stop() {}, [Symbol.dispose]() {} }) };
  const deps = { context, clock, trace, client: {}, observer: { view, until: async () => {}, expectEviction } };
  await watchMissedHeartbeats(deps as unknown as MissedHeartbeatsDeps, { ...OPTIONS, explain: true }, signal);
  const chain: string[] = [];
  for (let id = announced.get("default/hasty"); id !== undefined; ) {
    const fact = facts.find((one) => one.id === id);
    assert(fact?.kind === "decision");
    chain.push(fact.what.split(":")[0] ?? "");
    id = fact.causedBy;
  }
  assert.deepEqual(chain, [
    `plan the eviction of pod default/hasty at ${new Date(START_MS + 20_000).toISOString().slice(11, 13)}`,
    "taint node n1 NoExecute",
    "set Ready of node n1 to Unknown",
    "n1 falls silent",
  ]);
});

test("the line about an eviction counts down, as the table above it does", async () => {
  const { clock, view } = silentNode();
  const shown: string[] = [];
  let latest: ProgressText = "";
  const show = () => shown.push(typeof latest === "string" ? latest : latest(80));
  const progress = (text: ProgressText) => {
    latest = text;
    const update = (next: ProgressText) => {
      latest = next;
    };
    return { update, stop() {}, [Symbol.dispose]() {} };
  };
  const until = async (isWanted: (seen: typeof view) => boolean) => {
    if (isWanted(view)) return;
    for (const ms of [0, 11_000, 30_000]) {
      clock.jump(ms);
      show();
    }
    view.evicted.add("default/hasty");
  };
  const deps = { context: { progress }, clock, trace: new Trace(clock), client: {}, observer: { view, until } };
  await watchMissedHeartbeats(deps as unknown as MissedHeartbeatsDeps, OPTIONS, signal);
  assert.deepEqual(
    shown,
    [20, 9, 0].map((left) => `pod default/hasty is evicted in ${left} s`),
  );
});
