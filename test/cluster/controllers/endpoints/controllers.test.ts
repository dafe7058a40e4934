import { beforeAll, expect, test } from "vitest";
import type { EndpointSlice } from "../../../../src/cluster/controllers/endpoints/util/slices.js";
import type { KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";
import { statusError } from "../../../../src/staging/apimachinery/errors.js";
import { TraceGraph } from "../../../../src/trace/graph/graph.js";
import { podTemplate, WorkloadStage } from "../support/workload-stage.js";

const SLICES = "endpointslices.discovery.k8s.io";

// A module that is loaded already needs no real time when its controller starts.
beforeAll(async () => {
  await Promise.all([
    import("../../../../src/cluster/controllers/endpoints/endpoint/endpoints-controller.js"),
    import("../../../../src/cluster/controllers/endpoints/endpointslice/endpointslice-controller.js"),
    import("../../../../src/cluster/controllers/endpoints/endpointslicemirroring/controller.js"),
  ]);
});

function service(spec: object = {}, name = "web"): object {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, labels: { tier: "front" } },
    spec: { selector: { app: "web" }, ports: [{ port: 80, targetPort: 8080 }], ...spec },
  };
}

async function open(): Promise<WorkloadStage> {
  const stage = await WorkloadStage.open();
  await stage.admin.create("nodes", undefined, { apiVersion: "v1", kind: "Node", metadata: { name: "n1" } });
  return stage;
}

async function addPod(stage: WorkloadStage, name: string, ip: string): Promise<void> {
  const metadata = { name, labels: { app: "web" } };
  await stage.create("pods", { apiVersion: "v1", kind: "Pod", metadata, spec: podTemplate().spec });
  await run(stage, name, ip);
}

/** Plays scheduler and kubelet: first the pod has a node, then an address, then it is ready. */
async function run(stage: WorkloadStage, name: string, ip: string, nodeName = "n1"): Promise<void> {
  const pods = await pod(stage, name);
  await stage.start(pods, nodeName);
  await stage.setReady(pods, false);
  await stage.setStatus(pods, { podIP: ip, podIPs: [{ ip }] });
  await stage.setReady(pods, true);
}

async function pod(stage: WorkloadStage, name: string) {
  return (await stage.pods()).filter(({ metadata }) => metadata.name === name);
}

/** `10.0.0.1+ 10.0.0.2- :8080`: each endpoint of the slices of a service, and whether it is ready */
async function sliceText(stage: WorkloadStage, name = "web"): Promise<string> {
  const slices = (await stage.admin.list<EndpointSlice>(SLICES, "default")).filter(
    ({ metadata }) => metadata.labels?.["kubernetes.io/service-name"] === name,
  );
  return slices
    .map(({ endpoints, ports }) => {
      const list = (endpoints ?? []).map(
        ({ addresses, conditions }) => `${addresses[0]}${conditions?.ready ? "+" : "-"}`,
      );
      return [...list.sort(), `:${(ports ?? []).map(({ port }) => port).join()}`].join(" ");
    })
    .join(" | ");
}

async function endpointsText(stage: WorkloadStage, name = "web"): Promise<string> {
  const object = await stage.admin.get("endpoints", "default", name);
  if (object === undefined) return "missing";
  const subsets = (object["subsets"] ?? []) as { addresses?: { ip: string }[]; notReadyAddresses?: { ip: string }[] }[];
  const ips = subsets.flatMap(({ addresses = [], notReadyAddresses = [] }) => [
    ...addresses.map(({ ip }) => `${ip}+`),
    ...notReadyAddresses.map(({ ip }) => `${ip}-`),
  ]);
  return ips.join(" ");
}

test("endpoints follow the pods of a service: new ones, readiness, deletion", async () => {
  await using stage = await open();
  await stage.create("services", service());
  expect([await endpointsText(stage), await sliceText(stage)]).toEqual(["", ":"]);
  await addPod(stage, "a", "10.0.0.1");
  await addPod(stage, "b", "10.0.0.2");
  expect([await endpointsText(stage), await sliceText(stage)]).toEqual([
    "10.0.0.1+ 10.0.0.2+",
    "10.0.0.1+ 10.0.0.2+ :8080",
  ]);
  await stage.setReady(await pod(stage, "b"), false);
  expect([await endpointsText(stage), await sliceText(stage)]).toEqual([
    "10.0.0.1+ 10.0.0.2-",
    "10.0.0.1+ 10.0.0.2- :8080",
  ]);
  await stage.delete("pods", "a");
  // A pod that is being deleted is no endpoint; its slice still shows that it terminates.
  expect([await endpointsText(stage), await sliceText(stage)]).toEqual(["10.0.0.2-", "10.0.0.1- 10.0.0.2- :8080"]);
  await stage.endTerminating();
  expect([await endpointsText(stage), await sliceText(stage)]).toEqual(["10.0.0.2-", "10.0.0.2- :8080"]);
  expect(stage.errors()).toEqual([]);
});

test("the selector and the ports of a service change, and it loses its selector", async () => {
  await using stage = await open();
  await stage.create("services", service());
  await addPod(stage, "a", "10.0.0.1");
  await stage.changeSpec("services", "web", { ports: [{ port: 80, protocol: "TCP", targetPort: 9090 }] });
  expect(await sliceText(stage)).toBe("10.0.0.1+ :9090");
  await stage.changeSpec("services", "web", { selector: { app: "other" } });
  expect([await endpointsText(stage), await sliceText(stage)]).toEqual(["", ":"]);
  await stage.changeSpec("services", "web", { selector: { app: "web" } });
  await stage.changeSpec("services", "web", { selector: undefined });
  await stage.delete("pods", "a");
  // Nobody's business any more: the endpoints stay as they are.
  expect(await endpointsText(stage)).toBe("10.0.0.1+");
});

test("metadata: labels of the service, owner, the time of the change, headless", async () => {
  await using stage = await open();
  await stage.create("services", service({ clusterIP: "None" }));
  const endpoints = await stage.get("endpoints", "web");
  expect(endpoints.metadata.labels).toEqual({ tier: "front", "service.kubernetes.io/headless": "" });
  const created = endpoints.metadata.creationTimestamp;
  expect(endpoints.metadata.annotations).toEqual({ "endpoints.kubernetes.io/last-change-trigger-time": created });
  const [slice] = (await stage.admin.list<EndpointSlice>(SLICES, "default")).filter(
    ({ metadata }) => metadata.generateName === "web-",
  );
  expect(slice?.metadata.name).toMatch(/^web-[a-z0-9]{5}$/);
  expect(slice?.metadata.annotations).toEqual(endpoints.metadata.annotations);
  expect(slice?.metadata.ownerReferences?.[0]?.uid).toBe((await stage.get("services", "web")).metadata.uid);
  await stage.change("services", "web", (one) => ({ ...one, metadata: { ...one.metadata, labels: { tier: "back" } } }));
  expect((await stage.get("endpoints", "web")).metadata.labels?.["tier"]).toBe("back");
});

test("a deleted service takes its endpoints with it", async () => {
  await using stage = await open();
  await stage.create("services", service());
  await addPod(stage, "a", "10.0.0.1");
  await stage.delete("services", "web");
  await stage.pass(5);
  expect([await endpointsText(stage), await sliceText(stage)]).toEqual(["missing", ""]);
  expect(stage.errors()).toEqual([]);
});

test("what others change or delete is restored: slices after a second", async () => {
  await using stage = await open();
  await stage.create("services", service());
  await addPod(stage, "a", "10.0.0.1");
  await stage.admin.delete("endpoints", "default", "web");
  await stage.settle();
  expect(await endpointsText(stage)).toBe("10.0.0.1+");
  const [slice] = (await stage.admin.list<EndpointSlice>(SLICES, "default")).filter(
    ({ metadata }) => metadata.name !== "kubernetes",
  );
  const name = slice?.metadata.name ?? "";
  await stage.change(SLICES, name, (one) => ({ ...one, endpoints: [{ addresses: ["10.9.9.9"] }] }));
  expect(await sliceText(stage)).toBe("10.9.9.9- :8080");
  await stage.pass(1);
  expect(await sliceText(stage)).toBe("10.0.0.1+ :8080");
  await stage.delete(SLICES, name);
  await stage.pass(1);
  expect(await sliceText(stage)).toBe("10.0.0.1+ :8080");
  // A slice of another manager is left alone.
  await stage.create(SLICES, {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name: "mine", labels: { "kubernetes.io/service-name": "web" } },
    addressType: "IPv4",
    endpoints: [{ addresses: ["10.8.8.8"] }],
  });
  await stage.pass(2);
  expect(await stage.admin.get(SLICES, "default", "mine")).toBeDefined();
});

test("120 pods are in two slices, and one more readiness change writes one of them", async () => {
  await using stage = await open();
  await stage.create("services", service());
  for (let i = 0; i < 120; i++) {
    const ip = `10.0.1.${i}`;
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: `p${i}`, namespace: "default", labels: { app: "web" } },
    };
    const spec = { ...podTemplate().spec, nodeName: "n1", restartPolicy: "Always", dnsPolicy: "ClusterFirst" };
    const status = { podIP: ip, podIPs: [{ ip }], conditions: [{ type: "Ready", status: "True" }] };
    await stage.admin.create("pods", "default", { ...pod, spec });
    await stage.admin.modify("pods", "default", `p${i}`, (one) => ({ ...one, status }) as KubeObject, "status");
  }
  await stage.settle();
  const sizes = async () =>
    (await stage.admin.list<EndpointSlice>(SLICES, "default"))
      .map(({ endpoints }) => endpoints?.length ?? 0)
      .filter((n) => n > 1);
  // A slice is filled only if all new endpoints fit, so the sizes depend on when the controller looked.
  const [first = 0, second = 0, ...others] = await sizes();
  expect([first + second, others]).toEqual([120, []]);
  const before = await stage.revision();
  await stage.setReady(await pod(stage, "p7"), false);
  // The pod's status, the Endpoints, one slice.
  expect((await stage.revision()) - before).toBe(3);
});

test("Endpoints that somebody wrote for a service without a selector are mirrored", async () => {
  await using stage = await open();
  await stage.create("services", service({ selector: undefined }, "db"));
  const endpoints = {
    apiVersion: "v1",
    kind: "Endpoints",
    metadata: { name: "db" },
    subsets: [{ addresses: [{ ip: "192.0.2.1" }], ports: [{ port: 5432 }] }],
  };
  await stage.create("endpoints", endpoints);
  expect(await sliceText(stage, "db")).toBe("192.0.2.1+ :5432");
  await stage.change("endpoints", "db", (one) => ({
    ...one,
    subsets: [{ addresses: [{ ip: "192.0.2.2" }], ports: [{ port: 5432, protocol: "TCP" }] }],
  }));
  expect(await sliceText(stage, "db")).toBe("192.0.2.2+ :5432");
  const skip = { "endpointslice.kubernetes.io/skip-mirror": "true" };
  await stage.change("endpoints", "db", (one) => ({ ...one, metadata: { ...one.metadata, labels: skip } }));
  expect(await sliceText(stage, "db")).toBe("");
  await stage.change("endpoints", "db", (one) => ({ ...one, metadata: { ...one.metadata, labels: {} } }));
  expect(await sliceText(stage, "db")).toBe("192.0.2.2+ :5432");
  await stage.delete("endpoints", "db");
  await stage.pass(1);
  expect(await sliceText(stage, "db")).toBe("");
  // Without a service there is nothing to mirror for.
  await stage.create("endpoints", { ...endpoints, metadata: { name: "alone" } });
  expect(await sliceText(stage, "alone")).toBe("");
  expect(stage.errors()).toEqual([]);
});

test("the controllers start with the first service that has a selector, and an idle cluster writes nothing", async () => {
  await using stage = await open();
  await stage.create("services", service({ selector: undefined }, "db"));
  expect(stage.decisions()).toEqual([]);
  expect(await endpointsText(stage, "db")).toBe("missing");
  await stage.create("services", service());
  await addPod(stage, "a", "10.0.0.1");
  expect(await sliceText(stage)).toBe("10.0.0.1+ :8080");
  const before = await stage.revision();
  await stage.pass(3600);
  expect(await stage.revision()).toBe(before);
});

test("a decision says what the numbers are, and follows from the watch event", async () => {
  await using stage = await open();
  await stage.create("services", service());
  await addPod(stage, "a", "10.0.0.1");
  const said = stage.decisions().filter((one) => /^(create|update) Endpoint/.test(one));
  expect(said.map((one) => one.replace(/web-\w{5}/, "web-x"))).toEqual([
    "create Endpoints default/web: the service selects 0 pods: 0 ready, 0 not ready",
    "create EndpointSlice for Service default/web with 0 endpoints: the service selects 0 pods and has 0 slices: 0 endpoints added, 0 removed",
    "update Endpoints default/web: the service selects 1 pod: 0 ready, 1 not ready; before: 0 ready, 0 not ready",
    "update EndpointSlice default/web-x with 1 endpoint: the service selects 1 pod and has 1 slice: 1 endpoint added, 0 removed",
    "update Endpoints default/web: the service selects 1 pod: 1 ready, 0 not ready; before: 0 ready, 1 not ready",
    "update EndpointSlice default/web-x with 1 endpoint: the service selects 1 pod and has 1 slice: 0 endpoints added, 0 removed",
  ]);
  const written = stage.on.facts.findLast((fact) => fact.kind === "state" && fact.subject === "endpoints default/web");
  const chain = written === undefined ? [] : TraceGraph.of(stage.on.facts).chainOf(written);
  // The kubelet's write of the pod, the watch event, the decision, the request, the write of the Endpoints.
  expect(chain.slice(-5).map(({ kind, actor, instance }) => [kind, actor, instance])).toEqual([
    ["state", "apiserver", undefined],
    ["watch", "controller", undefined],
    ["decision", "controller", "endpoint"],
    ["request", "controller", "endpoint"],
    ["state", "apiserver", undefined],
  ]);
});

test("a refused write is an event about the service, and is tried again", async () => {
  await using stage = await open();
  stage.refuse.why = ({ resource }) =>
    resource === "endpointslices" || resource === "endpoints"
      ? statusError(500, "InternalError", "no room", {})
      : undefined;
  await stage.create("services", service());
  expect(stage.events()).toEqual(
    expect.arrayContaining([
      "Warning FailedToCreateEndpoint Failed to create endpoint for service default/web: no room",
      "Warning FailedToUpdateEndpointSlices Error updating Endpoint Slices for Service default/web: failed to create EndpointSlice for Service default/web: no room",
    ]),
  );
  stage.refuse.why = undefined;
  await stage.pass(2);
  expect([await endpointsText(stage), await sliceText(stage)]).toEqual(["", ":"]);
});

test("a pod on a node that is missing is left out, until the node is there", async () => {
  await using stage = await open();
  await stage.create("services", service());
  await addPod(stage, "a", "10.0.0.1");
  await stage.create("pods", {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "b", labels: { app: "web" } },
    spec: podTemplate().spec,
  });
  await run(stage, "b", "10.0.0.2", "n2");
  expect(await sliceText(stage)).toBe("10.0.0.1+ :8080");
  await stage.admin.create("nodes", undefined, { apiVersion: "v1", kind: "Node", metadata: { name: "n2" } });
  await stage.pass(5);
  expect(await sliceText(stage)).toBe("10.0.0.1+ 10.0.0.2+ :8080");
});
