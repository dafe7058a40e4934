import assert from "node:assert/strict";
import { test } from "vitest";
import { Face } from "../apiserver/server/support.js";

const PODS = "/api/v1/namespaces/default/pods";

function gatedPod(name: string, gates: readonly string[], more: object = {}) {
  const schedulingGates = gates.map((gate) => ({ name: gate }));
  const spec = { schedulingGates, containers: [{ name: "c", image: "busybox:1.35" }], ...more };
  return { apiVersion: "v1", kind: "Pod", metadata: { name }, spec };
}

async function open(kubeVersion: string): Promise<Face> {
  const face = await Face.open({ kubeVersion });
  const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } };
  await face.ask("/api/v1/namespaces/default/serviceaccounts", { method: "POST", body: account });
  return face;
}

test("v1.27: a pod with gates has a condition, cannot be bound, and can only lose gates", async () => {
  await using face = await open("1.27");
  const { status, body } = await face.ask(PODS, { method: "POST", body: gatedPod("p", ["a.b/one", "a.b/two"]) });
  assert.equal(status, 201);
  const [condition] = body.status.conditions;
  assert.deepEqual(
    [condition.type, condition.status, condition.reason, condition.message],
    ["PodScheduled", "False", "SchedulingGated", "Scheduling is blocked due to non-empty scheduling gates"],
  );
  const headers = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
  assert.equal((await face.ask(`${PODS}/p`, { headers })).body.rows[0].cells[2], "SchedulingGated");

  const target = { apiVersion: "v1", kind: "Node", name: "n1" };
  const binding = { apiVersion: "v1", kind: "Binding", metadata: { name: "p" }, target };
  const bound = await face.ask(`${PODS}/p/binding`, { method: "POST", body: binding });
  assert.deepEqual([bound.status, /non-empty \.spec\.schedulingGates/.test(bound.text)], [409, true]);

  const patch = (gates: readonly string[]) => {
    const schedulingGates = gates.map((name) => ({ name }));
    const contentType = { "content-type": "application/merge-patch+json" };
    return face.ask(`${PODS}/p`, { method: "PATCH", headers: contentType, body: { spec: { schedulingGates } } });
  };
  const more = await patch(["a.b/one", "a.b/three"]);
  assert.equal(more.status, 422);
  assert.match(more.text, /only deletion is allowed, but found new scheduling gate 'a\.b\/three'/);
  assert.equal((await patch(["a.b/two"])).status, 200);
  assert.equal((await patch([])).status, 200);
  assert.equal((await face.ask(`${PODS}/p/binding`, { method: "POST", body: binding })).status, 201);
});

const refused = [
  ["an invalid name", gatedPod("p", ["not a name"]), /spec\.schedulingGates\[0\]: Invalid value/],
  ["a duplicate", gatedPod("p", ["a.b/c", "a.b/c"]), /spec\.schedulingGates\[1\]: Duplicate value/],
  ["a node already", gatedPod("p", ["a.b/c"], { nodeName: "n1" }), /spec\.nodeName: Forbidden: cannot be set until/],
] as const;
for (const [name, body, want] of refused) {
  test(`v1.27 refuses ${name}`, async () => {
    await using face = await open("1.27");
    const answer = await face.ask(PODS, { method: "POST", body });
    assert.equal(answer.status, 422);
    assert.match(answer.body.message, want);
  });
}

test("v1.25 drops gates", async () => {
  await using face = await open("1.25");
  const { status, body } = await face.ask(PODS, { method: "POST", body: gatedPod("p", ["a.b/c"]) });
  assert.deepEqual([status, body.spec.schedulingGates, body.status.conditions], [201, undefined, undefined]);
});
