import assert from "node:assert/strict";
import { test } from "vitest";
import { leaseStatus, withStatusAbove } from "../../src/commands/lease/status.js";
import type { ProgressText } from "../../src/testbed/context.js";
import type { NodeView } from "../../src/testbed/outage/node-observer.js";
import { asItIs } from "../../src/trace/translated.js";
import { sentencesIn } from "../../src/util/i18n/sentences.js";

const NOW = Date.parse("2026-01-01T00:01:00Z");

function rowsOf(view: Partial<NodeView>, lastHeartbeatMs?: number) {
  const observer = { nodeName: "n1", view: { node: undefined, pods: new Map(), evicted: new Set<string>(), ...view } };
  return leaseStatus({ agent: { lastHeartbeatMs }, observer, clock: { now: () => NOW }, kubeVersion: "1.25" }).rows;
}

const meta = { apiVersion: "v1", metadata: {} };
const taint = { key: "node.kubernetes.io/unreachable", effect: "NoExecute", timeAdded: "2026-01-01T00:00:50Z" };
const tolerant = (tolerationSeconds?: number) => ({
  ...meta,
  kind: "Pod",
  spec: { tolerations: [{ operator: "Exists", ...(tolerationSeconds === undefined ? {} : { tolerationSeconds }) }] },
});

test("lease status: nothing is known yet", () => {
  assert.deepEqual(rowsOf({}), [
    ["heartbeat", "none yet"],
    ["node n1", "not registered"],
    ["taints", "none"],
  ]);
});

test("lease status: a silent node, its grace period, its taints, and what becomes of its pods", () => {
  const condition = { type: "Ready", status: "Unknown", reason: "NodeStatusUnknown" };
  const node = { ...meta, kind: "Node", spec: { taints: [taint] }, status: { conditions: [condition] } };
  const pods = new Map<string, object>([
    ["default/stays", tolerant()],
    ["default/later", tolerant(30)],
    ["default/now", { ...meta, kind: "Pod" }],
    ["default/gone", tolerant()],
  ]);
  const evicted = new Set(["default/gone"]);
  assert.deepEqual(rowsOf({ node, pods, evicted } as unknown as NodeView, NOW - 12_400), [
    ["heartbeat", "12 s ago; the grace period ends in 28 s"],
    ["node n1", "Ready Unknown (NodeStatusUnknown)"],
    ["taints", "node.kubernetes.io/unreachable:NoExecute"],
    ["pod default/stays", "stays"],
    ["pod default/later", "is evicted in 20 s"],
    ["pod default/now", "is evicted in 0 s"],
    ["pod default/gone", "evicted; it stays until its node reports its end"],
  ]);
  assert.deepEqual(rowsOf({}, NOW - 40_000)[0], ["heartbeat", "40 s ago; the grace period is over"]);
});

test("the sentences of the table have their Chinese", async () => {
  const { say = asItIs } = (await sentencesIn("zh")) ?? {};
  for (const text of [
    "none yet",
    "not registered",
    "12 s ago; the grace period ends in 28 s",
    "12 s ago; the grace period is over",
    "is evicted in 20 s",
    "evicted; it stays until its node reports its end",
  ])
    assert.match(say(text), /^[^a-z]*(?:\d+ s)?[^a-z]*(?:\d+ s)?$/, text);
});

test("the table stands above each progress line, also an updated one", () => {
  const shown: ProgressText[] = [];
  const progress = (text: ProgressText) => {
    shown.push(text);
    return { update: (next: ProgressText) => void shown.push(next), stop() {}, [Symbol.dispose]() {} };
  };
  const context = { progress, random: {}, signal: new AbortController().signal, confirm: async () => true };
  const status = () => ({ title: "", columns: ["what", "state"], rows: [["taints", "none"]] });
  const above = withStatusAbove(context as unknown as Parameters<typeof withStatusAbove>[0], status);
  above.progress("waiting").update((columns) => `${columns} columns`);
  assert.deepEqual(
    shown.map((text) => (typeof text === "string" ? text : text(40))),
    ["WHAT    STATE\n  taints  none\n  waiting", "WHAT    STATE\n  taints  none\n  40 columns"],
  );
});
