import assert from "node:assert/strict";
import { test } from "vitest";
import { ProxyServer } from "../../../src/cluster/kube-proxy/proxy-server.js";
import type { RuleTable } from "../../../src/cluster/netfilter/rules.js";
import type { KubeObject } from "../../../src/staging/apimachinery/api/meta.js";
import { FakeClock, FakeRandom, settle, untilTrue } from "../../support/fake-clock.js";
import { MemoryClient } from "../../support/memory-client.js";
import { only, recordingTrace } from "../../support/trace.js";
import { service, slice } from "./objects.js";

const KINDS = { services: "ServiceList", endpointslices: "EndpointSliceList", nodes: "NodeList" } as const;
type Resource = keyof typeof KINDS;

const node = (zone?: string): KubeObject => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: { name: "a", resourceVersion: "1", ...(zone && { labels: { "topology.kubernetes.io/zone": zone } }) },
});

function start(objects: Partial<Record<Resource, readonly unknown[]>> = {}, refusedAtFirst: readonly Resource[] = []) {
  const clock = new FakeClock();
  const { trace, events } = recordingTrace(clock);
  const refused = new Set<Resource>(refusedAtFirst);
  const client = new MemoryClient(({ path }) => {
    const resource = path.split("/").at(-1) as Resource;
    const forbidden = {
      kind: "Status",
      apiVersion: "v1",
      status: "Failure",
      code: 403,
      reason: "Forbidden",
      message: "no",
    };
    if (refused.has(resource)) return { status: 403, body: forbidden };
    const metadata = { resourceVersion: "1" };
    return { status: 200, body: { kind: KINDS[resource], apiVersion: "v1", metadata, items: objects[resource] ?? [] } };
  });
  const written: RuleTable[] = [];
  const broken = { isBroken: false };
  const restore = async (table: RuleTable) => {
    if (broken.isBroken) throw new Error("the container runtime is not running");
    written.push(table);
  };
  const server = new ProxyServer(
    { clock, random: new FakeRandom(), trace, client, restore },
    { nodeName: "a", kubeVersion: "1.25" },
  );
  const stop = new AbortController();
  const done = server.run(stop.signal).catch((error: unknown) => error);
  const push = async (resource: Resource, type: "ADDED" | "MODIFIED" | "DELETED", object: unknown) => {
    const watch = client.watches.findLast(({ path }) => path.endsWith(`/${resource}`));
    watch?.queue.push({ type, object: object as KubeObject, causedBy: `watch-${resource}` });
    await settle();
  };
  const end = async () => {
    stop.abort();
    await done;
    assert.equal(clock.sleeping, 0);
  };
  return { clock, client, written, broken, refused, events, push, end };
}

const endpointsOf = (table: RuleTable | undefined) =>
  table?.rules.map(({ verdict }) => (verdict.kind === "dnat" ? verdict.endpoints.join() : verdict.kind));

test("kube-proxy writes the rules once it has all Services and endpoints, and asks for neither headless ones", async () => {
  const lab = start({ services: [service()], endpointslices: [slice(["10.0.0.1@a"])] });
  await settle();
  assert.deepEqual(lab.written.map(endpointsOf), [["10.0.0.1:8080"]]);
  const selectors = lab.client.requests.map(({ query }) => query?.["labelSelector"] ?? query?.["fieldSelector"]);
  const notMine = "!service.kubernetes.io/service-proxy-name,!service.kubernetes.io/headless";
  assert.deepEqual(selectors.sort(), [notMine, notMine, "metadata.name=a"]);
  await lab.end();
});

test("the health check of a load balancer's Service is a rule, which changes with its port only", async () => {
  const spec = { type: "LoadBalancer", externalTrafficPolicy: "Local", healthCheckNodePort: 32_000 };
  const lab = start({ services: [service(spec)], endpointslices: [slice(["10.0.0.1@a"])] });
  await untilTrue(() => lab.written.length === 1);
  const [rule] = lab.written[0]?.rules.filter(({ address }) => address === "health check") ?? [];
  assert.deepEqual([rule?.service, rule?.port, rule?.verdict.kind], ["ns/web", 32_000, "listener"]);
  await lab.end();
});

test("kube-proxy writes nothing without one of the lists", async () => {
  const lab = start({ services: [service()] }, ["endpointslices"]);
  await settle();
  assert.deepEqual(lab.written, []);
  const [error] = only(lab.events, "error");
  assert.match(error?.message ?? "", /endpointslices/);
  assert.match(error?.hint ?? "", /retries in 30 s/);
  lab.refused.clear();
  await lab.clock.advance(30_000);
  await settle();
  assert.deepEqual(lab.written.map(endpointsOf), [["reject"]]);
  await lab.end();
});

test("only what changes a rule is written, and the watch event is its cause", async () => {
  const lab = start({ services: [service()], endpointslices: [slice(["10.0.0.1@a"])] });
  await settle();
  await lab.push("services", "MODIFIED", service({}, { annotations: { a: "b" }, resourceVersion: "2" }));
  await lab.push("endpointslices", "MODIFIED", slice(["10.0.0.1@a"]));
  await lab.push("endpointslices", "ADDED", slice(["10.0.0.7@a"], { addressType: "IPv6" }, "web-6"));
  assert.equal(lab.written.length, 1);
  await lab.push("endpointslices", "MODIFIED", slice(["10.0.0.1@a", "10.0.0.2@b"]));
  assert.deepEqual(endpointsOf(lab.written[1]), ["10.0.0.1:8080,10.0.0.2:8080"]);
  const write = only(lab.events, "decision").at(-1);
  assert.equal(write?.what, "a: write 1 rule of 1 service port");
  assert.equal(write?.why, "changed: ns/web");
  assert.equal(write?.causedBy, "watch-endpointslices");
  await lab.push("services", "DELETED", service());
  await lab.clock.advance(1_000);
  assert.deepEqual(lab.written.at(-1), { rules: [] });
  await lab.end();
});

test("kube-proxy writes twice at once, then once a second", async () => {
  const lab = start({ services: [service()] });
  await settle();
  for (const count of [1, 2, 3, 4, 5]) {
    const endpoints = Array.from({ length: count }, (_, i) => `10.0.0.${i + 1}@a`);
    await lab.push("endpointslices", count === 1 ? "ADDED" : "MODIFIED", slice(endpoints));
  }
  assert.equal(lab.written.length, 2);
  await lab.clock.advance(999);
  assert.equal(lab.written.length, 2);
  await lab.clock.advance(1);
  assert.equal(lab.written.length, 3);
  assert.equal(endpointsOf(lab.written[2])?.[0]?.split(",").length, 5);
  await lab.clock.advance(60_000);
  assert.equal(lab.written.length, 3, "an idle proxy writes nothing");
  await lab.end();
});

test("rules that a node did not take are written again", async () => {
  const lab = start({ services: [service()], endpointslices: [slice(["10.0.0.1@a"])] });
  lab.broken.isBroken = true;
  await settle();
  assert.match(only(lab.events, "error")[0]?.message ?? "", /were not written: the container runtime is not running/);
  lab.broken.isBroken = false;
  await lab.clock.advance(30_000);
  assert.deepEqual(lab.written.map(endpointsOf), [["10.0.0.1:8080"]]);
  await lab.end();
});

test("the node's zone decides where hints lead", async () => {
  const annotations = { "service.kubernetes.io/topology-aware-hints": "auto" };
  const lab = start({
    services: [service({}, { annotations })],
    endpointslices: [slice(["10.0.0.1@a/x", "10.0.0.2@b/y"])],
    nodes: [node("x")],
  });
  await settle();
  assert.deepEqual(endpointsOf(lab.written.at(-1)), ["10.0.0.1:8080"]);
  await lab.push("nodes", "MODIFIED", node("y"));
  await lab.clock.advance(1_000);
  assert.deepEqual(endpointsOf(lab.written.at(-1)), ["10.0.0.2:8080"]);
  await lab.end();
});
