import { expect, test } from "vitest";
import type { TraceEvent } from "../../../src/trace/events.js";
import { ANONYMOUS, Face } from "./support.js";

async function decisionsOf(run: (face: Face) => Promise<void>): Promise<string[]> {
  await using face = await Face.open();
  const events: TraceEvent[] = [];
  face.trace.addSink({ write: (event) => events.push(event) });
  await run(face);
  return events.flatMap((event) => {
    if (event.kind !== "decision" || event.auditId !== "mine") return [];
    expect([event.actor, event.level]).toEqual(["apiserver", 3]);
    return [`${event.what} | ${event.why}`];
  });
}

const headers = { "audit-id": "mine" };

test("a forbidden request: the user, the credential and the reason", async () => {
  const decisions = await decisionsOf(async (face) => {
    await face.ask("/api/v1/nodes", { as: ANONYMOUS, headers });
  });
  expect(decisions.map((line) => line.split(" | ")[0])).toEqual(["is system:anonymous", "forbid list /api/v1/nodes"]);
});

test("an unknown token", async () => {
  const decisions = await decisionsOf(async (face) => {
    await face.ask("/api/v1/nodes", { as: { token: "abcdef.0123456789abcdef" }, headers });
  });
  expect(decisions.length).toBe(1);
  expect(decisions[0]).toMatch(/^401 Unauthorized \| /);
  expect(decisions[0]).not.toContain("0123456789abcdef");
});

test("what admission changes and refuses", async () => {
  const decisions = await decisionsOf(async (face) => {
    const node = { kind: "Node", apiVersion: "v1", metadata: { name: "n1" } };
    await face.ask("/api/v1/nodes", { method: "POST", headers, body: node });
    const configMap = { kind: "ConfigMap", apiVersion: "v1", metadata: { name: "x" } };
    await face.ask("/api/v1/namespaces/missing/configmaps", { method: "POST", headers, body: configMap });
  });
  expect(decisions.filter((line) => /^(change|refuse)/.test(line))).toEqual([
    "change create of nodes n1 | TaintNodesByCondition: spec.taints",
    'refuse create of configmaps missing/x | NamespaceLifecycle: namespaces "missing" not found',
  ]);
});
