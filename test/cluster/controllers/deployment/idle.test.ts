import { expect, test } from "vitest";
import { podTemplate, WorkloadStage } from "../support/workload-stage.js";

test("50 Deployments in peace cause no request in an hour", async () => {
  await using stage = await WorkloadStage.open();
  for (let i = 0; i < 50; i++) {
    const labels = { app: `web-${i}` };
    await stage.send("deployments.apps", {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: `web-${i}` },
      spec: { replicas: 1, selector: { matchLabels: labels }, template: podTemplate({ labels }) },
    });
  }
  await stage.settle();
  await stage.start();
  await stage.pass(10);
  const available = (await stage.admin.list("deployments.apps")).filter(
    ({ status }) => (status as { availableReplicas?: number }).availableReplicas === 1,
  );
  expect(available).toHaveLength(50);
  const [requests, revision] = [stage.on.requests(), await stage.revision()];
  await stage.pass(3600);
  // The namespace controller, the garbage collector and all others are quiet, too.
  expect([stage.on.requests() - requests, (await stage.revision()) - revision]).toEqual([0, 0]);
});
