import assert from "node:assert/strict";
import { test } from "vitest";
import type { ProgressText } from "../../../src/testbed/context.js";
import { type MissedHeartbeatsDeps, watchMissedHeartbeats } from "../../../src/testbed/outage/missed-heartbeats.js";
import { Trace } from "../../../src/trace/trace.js";
import { FakeClock, START_MS } from "../../support/fake-clock.js";

test("the line about an eviction counts down, as the table above it does", async () => {
  const clock = new FakeClock();
  const timeAdded = new Date(START_MS).toISOString();
  const taint = { key: "node.kubernetes.io/unreachable", effect: "NoExecute", timeAdded };
  const conditions = [{ type: "Ready", status: "Unknown", reason: "NodeStatusUnknown" }];
  const node = { metadata: { name: "n1" }, spec: { taints: [taint] }, status: { conditions } };
  const toleration = { operator: "Exists", tolerationSeconds: 20 };
  const pods = new Map([["default/hasty", { metadata: { name: "hasty" }, spec: { tolerations: [toleration] } }]]);
  const evicted = new Set<string>();
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
  const view = { node, pods, evicted };
  const until = async (isWanted: (seen: typeof view) => boolean) => {
    if (isWanted(view)) return;
    for (const ms of [0, 11_000, 30_000]) {
      clock.jump(ms);
      show();
    }
    evicted.add("default/hasty");
  };
  const deps = { context: { progress }, clock, trace: new Trace(clock), client: {}, observer: { view, until } };
  const options = {
    nodeName: "n1",
    kubeVersion: "1.25",
    lastRenewal: undefined,
    silentSinceMs: START_MS,
    explain: false,
  };
  await watchMissedHeartbeats(deps as unknown as MissedHeartbeatsDeps, options, new AbortController().signal);
  assert.deepEqual(
    shown,
    [20, 9, 0].map((left) => `pod default/hasty is evicted in ${left} s`),
  );
});
