import assert from "node:assert/strict";
import { afterEach, test } from "vitest";
import { EndpointSliceCache } from "../../../src/cluster/kube-proxy/endpoint-slice-cache.js";
import { serviceToServiceMap } from "../../../src/cluster/kube-proxy/service.js";
import { healthChecks, ServiceHealthServer } from "../../../src/cluster/kube-proxy/service-health.js";
import { service, slice } from "./objects.js";

const LOCAL = { type: "LoadBalancer", externalTrafficPolicy: "Local", healthCheckNodePort: 32_000 };

function checksOf(spec: Record<string, unknown>, endpoints: readonly string[]) {
  const cache = new EndpointSliceCache("a");
  cache.update(slice(endpoints), false);
  const ports = new Map([...cache.takeChanged().values()].flatMap((one) => [...one]));
  return healthChecks(serviceToServiceMap(service(spec)), ports);
}

const TABLE: readonly (readonly [string, Record<string, unknown>, readonly string[], number | undefined])[] = [
  ["endpoints of this node", LOCAL, ["10.0.0.1@a", "10.0.0.2@a", "10.0.0.3@b"], 2],
  ["endpoints of other nodes", LOCAL, ["10.0.0.3@b"], 0],
  ["an endpoint that is not ready", LOCAL, ["10.0.0.1@a!"], 0],
  ["no endpoints", LOCAL, [], 0],
  ["traffic policy Cluster", { ...LOCAL, externalTrafficPolicy: "Cluster" }, ["10.0.0.1@a"], undefined],
  ["no port for the check", { ...LOCAL, healthCheckNodePort: undefined }, ["10.0.0.1@a"], undefined],
];
for (const [what, spec, endpoints, want] of TABLE) {
  test(`health check: ${what} count as ${want}`, () => {
    assert.equal(checksOf(spec, endpoints).get("ns/web")?.localEndpoints, want);
  });
}

const server = new ServiceHealthServer();
afterEach(() => server.close());

async function ask(endpoints: readonly string[]) {
  const [rule] = await server.sync(checksOf(LOCAL, endpoints));
  assert.ok(rule?.verdict.kind === "listener");
  const { address, port } = rule;
  assert.deepEqual({ address, port }, { address: "health check", port: 32_000 });
  const url = `http://${rule.verdict.endpoint}/healthz`;
  const answer = await fetch(url, { headers: { connection: "close" } });
  const type = answer.headers.get("content-type");
  return { url, status: answer.status, type, body: await answer.json() };
}

test("a node with endpoints answers 200, one without 503, at the same place", async () => {
  const name = { namespace: "ns", name: "web" };
  const healthy = await ask(["10.0.0.1@a"]);
  const type = "application/json";
  assert.deepEqual(healthy, { url: healthy.url, status: 200, type, body: { service: name, localEndpoints: 1 } });
  const unhealthy = await ask(["10.0.0.1@b"]);
  assert.deepEqual(unhealthy, { url: healthy.url, status: 503, type, body: { service: name, localEndpoints: 0 } });
});

test("the server of a Service ends with its check", async () => {
  const { url } = await ask(["10.0.0.1@a"]);
  assert.deepEqual(await server.sync(new Map()), []);
  await assert.rejects(fetch(url));
});
