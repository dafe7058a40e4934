import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { parseCondition } from "../../../src/testbed/time/condition.js";

describe("a condition that time is moved for", () => {
  test.each([
    ["pod/web=Running", { kind: "pod", namespace: "default", name: "web", state: "Running" }],
    ["pod/kube-system/dns=Ready", { kind: "pod", namespace: "kube-system", name: "dns", state: "Ready" }],
    ["node/node-1=Unknown", { kind: "node", name: "node-1", state: "Unknown" }],
    ["event=NodeNotReady", { kind: "event", text: "NodeNotReady" }],
    ["fact=lease is old=er", { kind: "fact", text: "lease is old=er" }],
  ])("%s", (text, parsed) => {
    assert.deepEqual(parseCondition(text), parsed);
  });

  test.each([
    ["web=Running", /"web=Running" is not a condition/],
    ["pod/web", /is not a condition/],
    ["pod/a/b/c=Running", /is not a condition/],
    ["event/x=y", /is not a condition/],
    ["node/node-1=Fine", /Fine is no state of a node/],
  ])("%s is refused", (text, message) => {
    assert.throws(() => parseCondition(text), { code: "USAGE", message });
  });
});
