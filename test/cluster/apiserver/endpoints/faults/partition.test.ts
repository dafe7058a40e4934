import { afterAll, beforeAll, expect, test } from "vitest";
import { ServerFaults } from "../../../../../src/cluster/apiserver/endpoints/faults/server-faults.js";
import { Face } from "../../server/support.js";

let faults: ServerFaults;
let face: Face;
beforeAll(async () => {
  faults = new ServerFaults();
  face = await Face.open({ faults });
  const node = {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "n" },
    status: {
      addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
      daemonEndpoints: { kubeletEndpoint: { Port: 1 } },
    },
  };
  await face.ask("/api/v1/nodes", { method: "POST", body: node });
  await face.ask("/api/v1/nodes/n/status", { method: "PUT", body: node });
});
afterAll(() => face.close());

test.each([
  ["refuse", "dial tcp 127.0.0.1:1: connect: connection refused", 0],
  ["drop", "dial tcp 127.0.0.1:1: i/o timeout", 30_000],
] as const)("%s: the API server cannot reach the kubelet of the node", async (how, message, waitMs) => {
  faults.partitions.set("n", how);
  const startMs = face.clock.now();
  const asked = face.ask("/api/v1/nodes/n/proxy/healthz");
  if (waitMs > 0) await expect.poll(() => face.clock.sleeping).toBeGreaterThan(0);
  await face.clock.advance(waitMs);
  const answer = await asked;
  faults.partitions.clear();
  expect(answer.status).toBe(503);
  expect(answer.body.message).toContain(message);
  expect(face.clock.now() - startMs).toBe(waitMs);
});
