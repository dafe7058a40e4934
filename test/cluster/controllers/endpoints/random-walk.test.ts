import { beforeAll, expect, test } from "vitest";
import type { EndpointSlice } from "../../../../src/cluster/controllers/endpoints/util/slices.js";
import type { KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";
import type { PodObject } from "../../../../src/staging/apimachinery/api/objects.js";
import { isPodReady } from "../../../../src/staging/apimachinery/api/pod.js";
import { SeededRandom } from "../../../support/fake-clock.js";
import { podTemplate, WorkloadStage } from "../support/workload-stage.js";

const SLICES = "endpointslices.discovery.k8s.io";
const STEPS = 250;
const APPS = ["a", "b", "c"];

beforeAll(async () => {
  await Promise.all([
    import("../../../../src/cluster/controllers/endpoints/endpoint/endpoints-controller.js"),
    import("../../../../src/cluster/controllers/endpoints/endpointslice/endpointslice-controller.js"),
  ]);
});

test("whatever clients do, endpoints end as the pods and services say, and nothing is left of what is gone", async () => {
  await using stage = await WorkloadStage.open();
  const random = new SeededRandom();
  const pick = <T>(list: readonly T[]): T | undefined => list[Math.floor(random.float() * list.length)];
  await stage.admin.create("nodes", undefined, { apiVersion: "v1", kind: "Node", metadata: { name: "n1" } });
  let count = 0;
  const label = (object: KubeObject, app: string): KubeObject => ({
    ...object,
    metadata: { ...object.metadata, labels: { app } },
  });
  const names = async (resource: string) =>
    (await stage.admin.list(resource, "default"))
      .map(({ metadata }) => metadata.name ?? "")
      .filter((one) => one !== "kubernetes");
  const steps: readonly (() => Promise<unknown>)[] = [
    async () => {
      const name = `p${++count}`;
      const metadata = { name, labels: { app: pick(APPS) } };
      await stage.create("pods", { apiVersion: "v1", kind: "Pod", metadata, spec: podTemplate().spec });
      const pods = (await stage.pods()).filter((pod) => pod.metadata.name === name);
      await stage.start(pods);
      const ip = `10.0.${count >> 8}.${count & 255}`;
      await stage.setStatus(pods, { podIP: ip, podIPs: [{ ip }] });
    },
    async () => {
      const name = pick(["s1", "s2", "s3"]) ?? "";
      if ((await names("services")).includes(name)) return;
      const spec = { selector: { app: pick(APPS) }, ports: [{ port: 80, targetPort: 8080 }] };
      await stage.create("services", { apiVersion: "v1", kind: "Service", metadata: { name }, spec });
    },
    async () =>
      stage.setReady(
        [pick(await stage.pods())].filter((pod) => pod !== undefined),
        random.float() < 0.5,
      ),
    async () => {
      const name = pick(await names("pods"));
      if (name !== undefined) await stage.change("pods", name, (pod) => label(pod, pick(APPS) ?? ""));
    },
    async () => {
      const name = pick(await names("services"));
      if (name !== undefined) await stage.changeSpec("services", name, { selector: { app: pick(APPS) } });
    },
    async () => {
      const name = pick(await names("services"));
      if (name !== undefined && random.float() < 0.3) await stage.delete("services", name);
    },
    async () => {
      const name = pick(await names("pods"));
      if (name !== undefined) await stage.delete("pods", name);
    },
    () => stage.endTerminating(),
    async () => {
      const name = pick(await names(SLICES));
      if (name !== undefined && random.float() < 0.2) await stage.delete(SLICES, name);
    },
    async () => {
      const name = pick(await names("endpoints"));
      if (name !== undefined && random.float() < 0.2) await stage.delete("endpoints", name);
    },
    () => stage.pass(1),
  ];
  for (let i = 0; i < STEPS; i++) await pick(steps)?.();
  await stage.pass(120);

  const services = (await stage.admin.list("services", "default")).filter(
    ({ metadata }) => metadata.name !== "kubernetes",
  );
  expect(services.length).toBeGreaterThan(0);
  const pods = await stage.pods();
  expect(pods.length).toBeGreaterThan(3);
  const wanted = new Map(
    services.map(({ metadata, spec }) => [
      metadata.name,
      modelOf(pods, (spec as { selector: { app: string } }).selector.app),
    ]),
  );
  const slices = (await stage.admin.list<EndpointSlice>(SLICES, "default")).filter(
    ({ metadata }) => metadata.name !== "kubernetes",
  );
  const shown = new Map<string | undefined, string[]>();
  for (const { metadata, endpoints } of slices) {
    const list = (endpoints ?? []).map(({ addresses, conditions }) => `${addresses[0]} ${conditions?.ready}`);
    const name = metadata.labels?.["kubernetes.io/service-name"];
    shown.set(name, [...(shown.get(name) ?? []), ...list].sort());
  }
  expect(shown).toEqual(wanted);
  expect((await names("endpoints")).sort()).toEqual(services.map(({ metadata }) => metadata.name).sort());
});

/** `10.0.0.1 true`: each pod of the app with an address, and whether it serves */
function modelOf(pods: readonly PodObject[], app: string): string[] {
  return pods
    .filter(({ metadata, status }) => metadata.labels?.["app"] === app && (status?.podIPs ?? []).length > 0)
    .map((pod) => `${pod.status?.podIP} ${isPodReady(pod) && pod.metadata.deletionTimestamp === undefined}`)
    .sort();
}
