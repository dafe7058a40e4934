import { expect, test } from "vitest";
import type { Deployment } from "../../../src/cluster/controllers/deployment/util/deployment-util.js";
import { computeHash } from "../../../src/cluster/controllers/support/compute-hash.js";
import { controllerOf } from "../../../src/cluster/controllers/support/controller-ref.js";
import { statusError } from "../../../src/staging/apimachinery/errors.js";
import { settle } from "../../support/fake-clock.js";
import { podTemplate, WorkloadStage } from "./support/workload-stage.js";

const DEPLOYMENTS = "deployments.apps";
const REPLICA_SETS = "replicasets.apps";
const labels = { app: "web" };

function workload(kind: string, spec: object = {}): object {
  const selector = { matchLabels: labels };
  return {
    apiVersion: "apps/v1",
    kind,
    metadata: { name: "web" },
    spec: { replicas: 2, selector, template: podTemplate(), ...spec },
  };
}

test("10,000 pods with another owner's uid are not adopted, and go with a bounded number of requests", async () => {
  const count = 10_000;
  await using stage = await WorkloadStage.open();
  await stage.create(REPLICA_SETS, workload("ReplicaSet"));
  const reference = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: "not-the-uid", controller: true };
  const requests = stage.on.requests();
  for (let i = 0; i < count; i++) {
    const metadata = { name: `stray-${i}`, labels, ownerReferences: [reference] };
    await stage.send("pods", { apiVersion: "v1", kind: "Pod", metadata, spec: podTemplate().spec });
  }
  // The time limit of the test ends it if they do not go.
  while ((await stage.pods()).length > 2) await settle(500);
  const pods = await stage.pods();
  const { uid } = (await stage.get(REPLICA_SETS, "web")).metadata;
  expect(pods.map((pod) => controllerOf(pod)?.uid)).toEqual([uid, uid]);
  // The garbage collector looks at the owner and deletes the pod.
  expect(stage.on.requests() - requests).toBeLessThanOrEqual(count * 2 + 10);
  expect(stage.errors()).toEqual([]);
  await stage.pass(3_600);
  expect(stage.on.requests() - requests).toBeLessThanOrEqual(count * 2 + 10);
}, 120_000);

test("a Deployment whose names are taken finds a free one, with one creation for each", async () => {
  const taken = 30;
  await using stage = await WorkloadStage.open();
  await stage.create(DEPLOYMENTS, workload("Deployment", { paused: true }));
  const { spec } = await stage.get<Deployment>(DEPLOYMENTS, "web");
  for (let i = 0; i < taken; i++) {
    const name = `web-${computeHash(spec?.template ?? {}, i === 0 ? undefined : i)}`;
    const other = { matchLabels: { app: "other" } };
    const template = podTemplate({ labels: other.matchLabels });
    const set = {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: { name },
      spec: { replicas: 0, selector: other, template },
    };
    await stage.send(REPLICA_SETS, set);
  }
  await stage.settle();
  let creations = 0;
  stage.refuse.why = ({ resource, operation }) => {
    if (resource === "replicasets" && operation === "CREATE") creations++;
    return undefined;
  };
  await stage.changeSpec(DEPLOYMENTS, "web", { paused: false });
  await stage.pass(600);
  const { status } = await stage.get<Deployment>(DEPLOYMENTS, "web");
  expect([status?.collisionCount, status?.replicas, creations]).toEqual([taken, 2, taken + 1]);
}, 60_000);

test("a Deployment whose set exists, as the API server says, and cannot be seen is left after 15 retries", async () => {
  await using stage = await WorkloadStage.open();
  let creations = 0;
  stage.refuse.why = ({ resource, operation, name }) => {
    if (resource !== "replicasets" || operation !== "CREATE") return undefined;
    creations++;
    return statusError(409, "AlreadyExists", `replicasets.apps "${name}" already exists`, {});
  };
  await stage.create(DEPLOYMENTS, workload("Deployment"));
  await stage.pass(24 * 3_600);
  expect(creations).toBe(16);
  // The next change is tried again.
  stage.refuse.why = undefined;
  await stage.changeSpec(DEPLOYMENTS, "web", { replicas: 3 });
  expect(await stage.pods()).toHaveLength(3);
});
