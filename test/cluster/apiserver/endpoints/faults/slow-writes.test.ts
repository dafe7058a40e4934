import { afterAll, beforeAll, expect, test } from "vitest";
import { ServerFaults } from "../../../../../src/cluster/apiserver/endpoints/faults/server-faults.js";
import { Face } from "../../server/support.js";

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const OBJECT = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } };

let faults: ServerFaults;
let face: Face;
beforeAll(async () => {
  faults = new ServerFaults();
  face = await Face.open({ faults });
});
afterAll(() => face.close());

test.for([
  ["POST", CONFIG_MAPS, 201],
  ["PUT", `${CONFIG_MAPS}/a`, 200],
  ["DELETE", `${CONFIG_MAPS}/a`, 200],
] as const)("%s waits as long as the storage's writes take", async ([method, path, status]) => {
  faults.writes.set(3_000);
  const body = method === "DELETE" ? undefined : { ...OBJECT, data: { method } };
  let answer: number | undefined;
  const asked = face.ask(path, { method, ...(body === undefined ? {} : { body }) }).then((got) => {
    answer = got.status;
  });
  await expect.poll(() => face.clock.sleeping).toBe(1);
  // Reads do not wait.
  expect((await face.ask(CONFIG_MAPS, { as: { ...face.admin } })).status).toBe(200);
  await face.clock.advance(2_999);
  expect(answer).toBe(undefined);
  await face.clock.advance(1);
  await asked;
  faults.writes.set(0);
  expect(answer).toBe(status);
});

test("a write that waits goes on when the fault is taken back", async () => {
  faults.writes.set(3_600_000);
  const asked = face.ask(CONFIG_MAPS, { method: "POST", body: OBJECT });
  await expect.poll(() => face.clock.sleeping).toBe(1);
  faults.writes.set(0);
  expect((await asked).status).toBe(201);
});
