import assert from "node:assert/strict";
import { test } from "vitest";
import { IpAllocator } from "../../../../../../src/cluster/apiserver/registry/core/services/ip-allocator.js";
import { PortAllocator } from "../../../../../../src/cluster/apiserver/registry/core/services/port-allocator.js";
import type { KubeObject } from "../../../../../../src/staging/apimachinery/api/meta.js";
import { FakeRandom } from "../../../../../support/fake-clock.js";
import { fields, items } from "../../../../../support/fields.js";
import { contextOf, openTableLab, refusal, type TableLab } from "../../table-lab.js";

type Spec = Record<string, unknown>;

/** The first address and ports that the fake random source leads to. */
const FIRST_IP = "10.104.0.128";
const FIRST_PORT = 31384;

function service(name: string, spec: Spec = {}): unknown {
  return { apiVersion: "v1", kind: "Service", metadata: { name }, spec: { ports: [{ port: 80 }], ...spec } };
}

const specOf = ({ spec }: KubeObject) => fields(spec);
const nodePorts = (object: KubeObject) => items(specOf(object).ports).map((port) => fields(port).nodePort);

/** `ip families policy ports health`: what a table row expects. */
function shown(object: KubeObject): string {
  const spec = specOf(object);
  const list = (value: unknown) => (Array.isArray(value) ? value.join("+") : String(value ?? "-"));
  assert.equal(spec.clusterIP, items(spec.clusterIPs)[0], "clusterIP is the first of clusterIPs");
  const ports = nodePorts(object).map((port) => port ?? "-");
  const health = spec.healthCheckNodePort ?? "-";
  return [list(spec.clusterIPs), list(spec.ipFamilies), spec.ipFamilyPolicy ?? "-", ports.join("+"), health].join(" ");
}

const UDP_AND_TCP = [
  { name: "u", port: 53, protocol: "UDP" },
  { name: "t", port: 53 },
];
const LOCAL = { type: "LoadBalancer", externalTrafficPolicy: "Local" };
const EXTERNAL = { type: "ExternalName", externalName: "db.example.org" };

const CREATED: readonly [string, Spec, string][] = [
  ["a plain service", {}, `${FIRST_IP} IPv4 SingleStack - -`],
  ["a chosen address", { clusterIP: "10.96.0.10" }, "10.96.0.10 IPv4 SingleStack - -"],
  ["both fields", { clusterIP: "10.96.0.10", clusterIPs: ["10.96.0.10"] }, "10.96.0.10 IPv4 SingleStack - -"],
  ["headless with a selector", { clusterIP: "None", selector: { a: "b" } }, "None IPv4 SingleStack - -"],
  ["headless without a selector", { clusterIP: "None" }, "None IPv4+IPv6 RequireDualStack - -"],
  ["headless without ports", { clusterIP: "None", selector: { a: "b" }, ports: [] }, "None IPv4 SingleStack  -"],
  ["an external name", EXTERNAL, "- - - - -"],
  ["a preference for two families", { ipFamilyPolicy: "PreferDualStack" }, `${FIRST_IP} IPv4 PreferDualStack - -`],
  ["a node port", { type: "NodePort" }, `${FIRST_IP} IPv4 SingleStack ${FIRST_PORT} -`],
  [
    "a chosen node port",
    { type: "NodePort", ports: [{ port: 80, nodePort: 30080 }] },
    `${FIRST_IP} IPv4 SingleStack 30080 -`,
  ],
  [
    "two ports",
    {
      type: "NodePort",
      ports: [
        { name: "a", port: 80 },
        { name: "b", port: 81 },
      ],
    },
    `${FIRST_IP} IPv4 SingleStack ${FIRST_PORT}+${FIRST_PORT + 1} -`,
  ],
  [
    "one port with two protocols",
    { type: "NodePort", ports: UDP_AND_TCP },
    `${FIRST_IP} IPv4 SingleStack ${FIRST_PORT}+${FIRST_PORT} -`,
  ],
  [
    "a chosen node port that both protocols share",
    { type: "NodePort", ports: [UDP_AND_TCP[0], { ...UDP_AND_TCP[1], nodePort: 30053 }] },
    `${FIRST_IP} IPv4 SingleStack 30053+30053 -`,
  ],
  ["a load balancer", { type: "LoadBalancer" }, `${FIRST_IP} IPv4 SingleStack ${FIRST_PORT} -`],
  [
    "a load balancer without node ports",
    { type: "LoadBalancer", allocateLoadBalancerNodePorts: false },
    `${FIRST_IP} IPv4 SingleStack - -`,
  ],
  [
    "a load balancer with one chosen node port only",
    { type: "LoadBalancer", allocateLoadBalancerNodePorts: false, ports: [{ port: 80, nodePort: 30081 }] },
    `${FIRST_IP} IPv4 SingleStack 30081 -`,
  ],
  ["a local load balancer", LOCAL, `${FIRST_IP} IPv4 SingleStack ${FIRST_PORT} ${FIRST_PORT + 1}`],
  [
    "a chosen health check port",
    { ...LOCAL, healthCheckNodePort: 32000 },
    `${FIRST_IP} IPv4 SingleStack ${FIRST_PORT} 32000`,
  ],
];

for (const [name, spec, expected] of CREATED) {
  test(`create: ${name}`, async () => {
    const lab = await openTableLab();
    assert.equal(shown(await lab.create("services", service("a", spec))), expected);
  });
}

const TAKEN = { type: "NodePort", clusterIP: "10.96.0.10", ports: [{ port: 80, nodePort: 30080 }] };
const REFUSED: readonly [string, Spec, string][] = [
  [
    "a used address",
    { clusterIP: "10.96.0.10" },
    'spec.clusterIPs: Invalid value: []string{"10.96.0.10"}: failed to allocate IP 10.96.0.10: provided IP is already allocated',
  ],
  [
    "the address of the API server",
    { clusterIP: "10.96.0.1" },
    'spec.clusterIPs: Invalid value: []string{"10.96.0.1"}: failed to allocate IP 10.96.0.1: provided IP is already allocated',
  ],
  [
    "an address outside the range",
    { clusterIP: "10.0.0.1" },
    'spec.clusterIPs: Invalid value: []string{"10.0.0.1"}: failed to allocate IP 10.0.0.1: provided IP is not in the valid range. The range of valid IPs is 10.96.0.0/12',
  ],
  [
    "the first address of the range",
    { clusterIP: "10.96.0.0" },
    'spec.clusterIPs: Invalid value: []string{"10.96.0.0"}: failed to allocate IP 10.96.0.0: provided IP is not in the valid range. The range of valid IPs is 10.96.0.0/12',
  ],
  [
    "no address at all",
    { clusterIP: "10.96.0.300" },
    'spec.clusterIPs[0]: Invalid value: "10.96.0.300": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
  ],
  [
    "only the list",
    { clusterIPs: ["10.96.0.11"] },
    'spec.clusterIPs: Invalid value: []string{"10.96.0.11"}: must be empty when `clusterIP` is not specified',
  ],
  [
    "two different addresses",
    { clusterIP: "10.96.0.11", clusterIPs: ["10.96.0.12"] },
    'spec.clusterIPs: Invalid value: []string{"10.96.0.12"}: first value must match `clusterIP`',
  ],
  [
    "IPv6",
    { clusterIP: "fd00::1" },
    'spec.clusterIPs[0]: Invalid value: []string{"fd00::1"}: IPv6 is not configured on this cluster',
  ],
  [
    "the family IPv6",
    { ipFamilies: ["IPv6"] },
    'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster',
  ],
  [
    "two families",
    { ipFamilyPolicy: "RequireDualStack" },
    'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services',
  ],
  [
    "two families of a single stack",
    { ipFamilies: ["IPv4", "IPv6"] },
    "spec.ipFamilyPolicy: Invalid value: \"SingleStack\": must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified",
  ],
  [
    "a used node port",
    { type: "NodePort", ports: [{ port: 80, nodePort: 30080 }] },
    "spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated",
  ],
  [
    "a node port outside the range",
    { type: "NodePort", ports: [{ port: 80, nodePort: 80 }] },
    "spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767",
  ],
];

for (const [name, spec, expected] of REFUSED) {
  test(`create refuses ${name}, and keeps nothing`, async () => {
    const lab = await openTableLab();
    await lab.create("services", service("taken", TAKEN));
    const status = await refusal(lab.create("services", service("a", spec)));
    assert.equal(status.message, `Service "a" is invalid: ${expected}`);
    assert.equal(shown(await lab.create("services", service("b"))), `${FIRST_IP} IPv4 SingleStack - -`);
  });
}

test("a used health check port is an internal error, as upstream's", async () => {
  const lab = await openTableLab();
  await lab.create("services", service("taken", TAKEN));
  const status = await refusal(lab.create("services", service("a", { ...LOCAL, healthCheckNodePort: 30080 })));
  const why = "failed to allocate requested HealthCheck NodePort 30080: provided port is already allocated";
  assert.deepEqual([status.code, status.message], [500, `Internal error occurred: ${why}`]);
  assert.equal(
    shown(await lab.create("services", service("b", { type: "NodePort" }))).split(" ")[3],
    String(FIRST_PORT),
  );
});

/** before, what is sent, and what is stored then */
const UPDATED: readonly [string, Spec, Spec, string][] = [
  ["a manifest without an address", {}, { sessionAffinity: "ClientIP" }, `${FIRST_IP} IPv4 SingleStack - -`],
  ["to a node port", {}, { type: "NodePort" }, `${FIRST_IP} IPv4 SingleStack ${FIRST_PORT} -`],
  ["a node port stays", { type: "NodePort" }, { type: "NodePort" }, `${FIRST_IP} IPv4 SingleStack ${FIRST_PORT} -`],
  [
    "a node port is chosen",
    { type: "NodePort" },
    { type: "NodePort", ports: [{ port: 80, nodePort: 30005 }] },
    `${FIRST_IP} IPv4 SingleStack 30005 -`,
  ],
  ["from a node port", { type: "NodePort" }, { type: "ClusterIP" }, `${FIRST_IP} IPv4 SingleStack - -`],
  ["to an external name", {}, EXTERNAL, "- - - - -"],
  ["from an external name", EXTERNAL, {}, `${FIRST_IP} IPv4 SingleStack - -`],
  [
    "from an external name to headless",
    EXTERNAL,
    { clusterIP: "None", selector: { a: "b" } },
    "None IPv4 SingleStack - -",
  ],
  ["to a local load balancer", {}, LOCAL, `${FIRST_IP} IPv4 SingleStack ${FIRST_PORT} ${FIRST_PORT + 1}`],
  ["a health check port stays", LOCAL, LOCAL, `${FIRST_IP} IPv4 SingleStack ${FIRST_PORT} ${FIRST_PORT + 1}`],
  ["from a local load balancer", LOCAL, {}, `${FIRST_IP} IPv4 SingleStack - -`],
];

for (const [name, before, after, expected] of UPDATED) {
  test(`update: ${name}`, async () => {
    const lab = await openTableLab();
    await lab.create("services", service("a", before));
    assert.equal(shown(await lab.put("services", "a", service("a", after))), expected);
  });
}

test("a whole object that is sent back with another type loses what the type does not use", async () => {
  const lab = await openTableLab();
  const old = await lab.create("services", service("a", LOCAL));
  const external = await lab.put("services", "a", { ...old, spec: { ...specOf(old), ...EXTERNAL } });
  const { type, externalName, sessionAffinity, internalTrafficPolicy, ports } = specOf(external);
  assert.deepEqual(specOf(external), { type, externalName, sessionAffinity, internalTrafficPolicy, ports });
  assert.deepEqual(nodePorts(external), [undefined]);
});

const FIXED: readonly [string, Spec, Spec, string][] = [
  [
    "the address",
    {},
    { clusterIP: "10.96.0.99" },
    'spec.clusterIPs[0]: Invalid value: []string{"10.96.0.99"}: may not change once set',
  ],
  [
    "to headless",
    {},
    { clusterIP: "None" },
    'spec.clusterIPs[0]: Invalid value: []string{"None"}: may not change once set',
  ],
  [
    "the family",
    {},
    { ipFamilies: ["IPv6"] },
    'spec.clusterIPs[0]: Invalid value: "10.104.0.128": expected an IPv6 value as indicated by `ipFamilies[0]`',
  ],
  [
    "the health check port",
    LOCAL,
    { ...LOCAL, healthCheckNodePort: 32001 },
    "spec.healthCheckNodePort: Forbidden: field is immutable",
  ],
  [
    "the load balancer's class",
    { type: "LoadBalancer" },
    { type: "LoadBalancer", loadBalancerClass: "example.org/lb" },
    'spec.loadBalancerClass: Invalid value: "example.org/lb": may not change once set',
  ],
];

for (const [name, before, after, expected] of FIXED) {
  test(`update refuses to change ${name}`, async () => {
    const lab = await openTableLab();
    const old = await lab.create("services", service("a", before));
    // As a patch would leave it.
    const status = await refusal(lab.put("services", "a", { ...old, spec: { ...specOf(old), ...after } }));
    assert.equal(status.message, `Service "a" is invalid: ${expected}`);
  });
}

async function remove(lab: TableLab, name: string): Promise<void> {
  await lab.registry.store("services").delete(contextOf(), "default", name);
}

test("what a deleted service, and a service with another type, had is free again", async () => {
  const lab = await openTableLab();
  await lab.create("services", service("a", TAKEN));
  await remove(lab, "a");
  await lab.create("services", service("b", TAKEN));
  await lab.put("services", "b", service("b", EXTERNAL));
  const last = await lab.create("services", service("c", TAKEN));
  assert.equal(shown(last), "10.96.0.10 IPv4 SingleStack 30080 -");
});

test("a dry run allocates nothing, and shows upstream's placeholders", async () => {
  const lab = await openTableLab();
  const dry = await lab.create("services", service("a", { type: "NodePort" }), { dryRun: true });
  assert.equal(specOf(dry).clusterIP, "10.96.0.0");
  assert.deepEqual(nodePorts(dry), [32768]);
  assert.equal(
    shown(await lab.create("services", service("b", { type: "NodePort" }))),
    `${FIRST_IP} IPv4 SingleStack ${FIRST_PORT} -`,
  );
});

test("services that are created at the same time get different addresses", async () => {
  const lab = await openTableLab();
  const names = Array.from({ length: 20 }, (_, i) => `s${i}`);
  const made = await Promise.all(names.map((name) => lab.create("services", service(name, { type: "NodePort" }))));
  assert.equal(new Set(made.map((one) => specOf(one).clusterIP)).size, 20);
  assert.equal(new Set(made.map((one) => nodePorts(one)[0])).size, 20);
});

test("the Endpoints of a deleted service are deleted with it", async () => {
  const lab = await openTableLab();
  await lab.create("services", service("a"));
  await lab.create("endpoints", { apiVersion: "v1", kind: "Endpoints", metadata: { name: "a" } });
  await remove(lab, "a");
  assert.equal((await refusal(lab.registry.store("endpoints").get("default", "a"))).code, 404);
});

test("a PUT of a missing service creates it", async () => {
  const lab = await openTableLab();
  assert.equal(shown(await lab.put("services", "a", service("a"))), `${FIRST_IP} IPv4 SingleStack - -`);
});

test("addresses: random ones leave the first 256 free until all others are used", () => {
  const small = new IpAllocator("10.0.0.0/23", new FakeRandom(0));
  const all = Array.from({ length: 510 }, () => small.allocateNext());
  // 510 / 16 is 31.
  assert.deepEqual([all[0], all[478], all[479], all[509]], ["10.0.0.32", "10.0.1.254", "10.0.0.1", "10.0.0.31"]);
  assert.equal(small.allocateNext(), undefined);
  assert.equal(small.allocate("10.0.0.5", false), "provided IP is already allocated");
  small.release("10.0.0.5");
  small.release("10.9.9.9");
  assert.equal(small.allocate("10.0.0.5", false), undefined);
  assert.equal(new IpAllocator("10.96.0.0/12", new FakeRandom(0)).allocateNext(), "10.96.1.1");
});

for (const [release, first] of [
  ["1.25", 30000],
  ["1.28", 30086],
] as const) {
  test(`node ports in v${release}: the first random one is at least ${first}`, () => {
    const ports = new PortAllocator(new FakeRandom(0), release);
    assert.equal(ports.allocateNext(), first);
    for (let i = 1; i < 2768; i++) ports.allocateNext();
    assert.equal(ports.allocateNext(), undefined);
    assert.equal(ports.used, 2768);
  });
}
