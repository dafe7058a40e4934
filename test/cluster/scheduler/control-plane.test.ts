import assert from "node:assert/strict";
import { afterAll, beforeAll, describe, test } from "vitest";
import { type Answer, Face } from "../apiserver/server/support.js";

/** The whole control plane over HTTPS, with all its controllers. */
describe("the scheduler in a control plane", () => {
  let face: Face;
  beforeAll(async () => {
    face = await Face.open({ withoutControllers: [] });
  });
  afterAll(() => face.close());

  const container = { name: "c", image: "busybox:1.35", resources: { requests: { cpu: "500m" } } };

  /** Repeats a request until the result is as expected; each request lets the control plane run. */
  async function until(path: string, isSo: (body: Answer["body"]) => boolean) {
    for (let i = 0; i < 200; i++) {
      const { status, body } = await face.ask(path);
      if (status === 200 && isSo(body)) return body;
      await face.clock.advance(0);
    }
    throw new Error(`${path} never became as expected`);
  }

  test("a pod without a node waits, and is bound when a node is ready", async () => {
    await until("/api/v1/namespaces/default/serviceaccounts/default", () => true);
    const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "web" }, spec: { containers: [container] } };
    assert.equal((await face.ask("/api/v1/namespaces/default/pods", { method: "POST", body: pod })).status, 201);
    const waiting = await until("/api/v1/namespaces/default/pods/web", ({ status }) => status.conditions !== undefined);
    assert.equal(waiting.status.conditions[0].message, "no nodes available to schedule pods");

    const allocatable = { cpu: "2", memory: "4Gi", pods: "110" };
    const conditions = [{ type: "Ready", status: "True", reason: "KubeletReady", message: "" }];
    const node = {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: "n1" },
      status: { allocatable, capacity: allocatable, conditions },
    };
    assert.equal((await face.ask("/api/v1/nodes", { method: "POST", body: node })).status, 201);
    await until("/api/v1/nodes/n1", ({ spec }) => spec.taints === undefined);
    await face.clock.advance(1_000);
    const bound = await until("/api/v1/namespaces/default/pods/web", ({ spec }) => spec.nodeName === "n1");
    assert.deepEqual([bound.status.phase, bound.status.conditions[0].status], ["Pending", "True"]);

    const path = "/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dweb";
    const { items } = await until(path, (list) => list.items.length === 2);
    const told = (items as { reason: string; reportingComponent: string; message: string }[]).map(
      ({ reason, reportingComponent, message }) => `${reportingComponent} ${reason}: ${message}`,
    );
    assert.deepEqual(told.sort(), [
      "default-scheduler FailedScheduling: no nodes available to schedule pods",
      "default-scheduler Scheduled: Successfully assigned default/web to n1",
    ]);
    const view = "/apis/events.k8s.io/v1/namespaces/default/events?fieldSelector=regarding.name%3Dweb";
    assert.equal((await face.ask(view)).body.items.length, 2);
  });

  test("another binding is refused after the scheduler's", async () => {
    const target = { apiVersion: "v1", kind: "Node", name: "n2" };
    const body = { apiVersion: "v1", kind: "Binding", metadata: { name: "web" }, target };
    const answer = await face.ask("/api/v1/namespaces/default/pods/web/binding", { method: "POST", body });
    assert.equal(answer.status, 409);
  });
});
