import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Face } from "./support.js";

const APPS = "/apis/apps/v1/namespaces/default";
const MERGE = { "content-type": "application/merge-patch+json" };

let face: Face;
beforeAll(async () => {
  face = await Face.open();
  const labels = { app: "web" };
  const template = { metadata: { labels }, spec: { containers: [{ name: "c", image: "i" }] } };
  const spec = { replicas: 2, selector: { matchLabels: labels }, template };
  for (const resource of ["deployments", "replicasets", "statefulsets"]) {
    await face.ask(`${APPS}/${resource}`, { method: "POST", body: { metadata: { name: "web" }, spec } });
  }
  const controllers = "/api/v1/namespaces/default/replicationcontrollers";
  await face.ask(controllers, {
    method: "POST",
    body: { metadata: { name: "web" }, spec: { ...spec, selector: labels } },
  });
});
afterAll(() => face.close());

describe("the scale of a workload", () => {
  for (const path of [
    `${APPS}/deployments/web`,
    `${APPS}/replicasets/web`,
    `${APPS}/statefulsets/web`,
    "/api/v1/namespaces/default/replicationcontrollers/web",
  ]) {
    test(`${path}: get, put and patch change the workload`, async () => {
      const { status, body: scale } = await face.ask(`${path}/scale`);
      expect(status).toBe(200);
      expect(scale).toMatchObject({
        kind: "Scale",
        apiVersion: "autoscaling/v1",
        metadata: { name: "web", namespace: "default" },
        spec: { replicas: 2 },
        status: { replicas: 0, selector: "app=web" },
      });
      const put = await face.ask(`${path}/scale`, { method: "PUT", body: { ...scale, spec: { replicas: 5 } } });
      expect([put.status, put.body.spec]).toEqual([200, { replicas: 5 }]);
      const stale = await face.ask(`${path}/scale`, { method: "PUT", body: { ...scale, spec: { replicas: 6 } } });
      expect([stale.status, stale.body.reason]).toEqual([409, "Conflict"]);
      const patch = { method: "PATCH", headers: MERGE };
      const patched = await face.ask(`${path}/scale`, { ...patch, body: { spec: { replicas: 1 } } });
      expect([patched.status, patched.body.spec]).toEqual([200, { replicas: 1 }]);
      const { body: workload } = await face.ask(path);
      expect([workload.spec.replicas, workload.spec.template.spec.containers.length]).toEqual([1, 1]);
    });
  }

  const refused: readonly [what: string, method: string, name: string, body: object, status: number, reason: string][] =
    [
      ["fewer than none", "PATCH", "web", { spec: { replicas: -1 } }, 422, "Invalid"],
      ["a text for a number", "PATCH", "web", { spec: { replicas: "many" } }, 422, "Invalid"],
      ["of nothing", "PATCH", "none", { spec: { replicas: 1 } }, 404, "NotFound"],
      ["read of nothing", "GET", "none", {}, 404, "NotFound"],
      ["another kind", "PUT", "web", { kind: "Pod", apiVersion: "v1", metadata: { name: "web" } }, 400, "BadRequest"],
      ["deleted", "DELETE", "web", {}, 405, "MethodNotAllowed"],
    ];
  test.each(refused)("%s is refused", async (_what, method, name, body, status, reason) => {
    const headers = method === "PATCH" ? MERGE : {};
    const answer = await face.ask(`${APPS}/deployments/${name}/scale`, {
      method,
      headers,
      ...(method === "GET" ? {} : { body }),
    });
    expect([answer.status, answer.body.reason]).toEqual([status, reason]);
  });
});
