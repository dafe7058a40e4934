import { expect, test } from "vitest";
import { statusError } from "../../../src/apimachinery/errors.js";
import type { Deployment } from "../../../src/controlplane/controllers/deployment/util/deployment-util.js";
import { computeHash } from "../../../src/controlplane/controllers/support/compute-hash.js";
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
