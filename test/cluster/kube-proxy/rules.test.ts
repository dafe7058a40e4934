import assert from "node:assert/strict";
import { test } from "vitest";
import { type EndpointSlice, EndpointSliceCache } from "../../../src/cluster/kube-proxy/endpoint-slice-cache.js";
import { proxyRules, serviceChain } from "../../../src/cluster/kube-proxy/iptables/proxier.js";
import { type Service, serviceToServiceMap } from "../../../src/cluster/kube-proxy/service.js";
import type { TopologyOptions } from "../../../src/cluster/kube-proxy/topology.js";
import type { ServiceRule } from "../../../src/cluster/netfilter/rules.js";
import { service, slice } from "./objects.js";

/** The rules that node `a` gets, a line each. */
function rulesOf(
  services: readonly Service[],
  slices: readonly EndpointSlice[],
  options: Partial<TopologyOptions> = {},
) {
  const cache = new EndpointSliceCache("a");
  for (const one of slices) cache.update(one, false);
  const map = new Map(services.flatMap((one) => [...serviceToServiceMap(one)]));
  const endpoints = new Map([...cache.takeChanged().values()].flatMap((ports) => [...ports]));
  return proxyRules(map, endpoints, { zone: "", usesTerminating: false, ...options }).rules.map(lineOf);
}

function lineOf({ service: name, protocol, ip = "*", port, from, verdict }: ServiceRule): string {
  const source = from === undefined ? "" : `${from}: `;
  const head = `${name} ${source}${ip}:${port}/${protocol}`;
  if (verdict.kind !== "dnat") return `${head} ${verdict.kind} (${verdict.why})`;
  const { chain, endpoints, masquerade, affinitySeconds, isControlPlane } = verdict;
  const marks = [
    chain.startsWith("KUBE-SVL-") ? "local" : "",
    masquerade === true ? "masquerade" : "",
    affinitySeconds === undefined ? "" : `sticky ${affinitySeconds}`,
    isControlPlane === true ? "control plane" : "",
  ].filter((mark) => mark !== "");
  return [`${head} ${endpoints.map((one) => one.replace(":8080", "")).join(",")}`, ...marks].join(" ");
}

const NODE_PORT = { type: "NodePort", ports: [{ name: "http", port: 80, protocol: "TCP", nodePort: 30_080 }] };
const LOCAL = { ...NODE_PORT, externalTrafficPolicy: "Local" };
const BALANCED = { ...NODE_PORT, type: "LoadBalancer" };
const STICKY = { sessionAffinity: "ClientIP" };
const HINTS = { annotations: { "service.kubernetes.io/topology-aware-hints": "Auto" } };
const TWO = ["10.0.0.2@b", "10.0.0.1@a"];
const CLUSTER_IP = "ns/web:http 10.96.0.9:80/tcp";

const TABLE: readonly (readonly [
  what: string,
  services: readonly Service[],
  slices: readonly EndpointSlice[],
  rules: readonly string[],
  options?: Partial<TopologyOptions>,
])[] = [
  ["endpoints, by address", [service()], [slice(TWO)], [`${CLUSTER_IP} 10.0.0.1,10.0.0.2`]],
  ["no slice", [service()], [], [`${CLUSTER_IP} reject (ns/web:http has no endpoints)`]],
  ["a slice without endpoints", [service()], [slice([])], [`${CLUSTER_IP} reject (ns/web:http has no endpoints)`]],
  [
    "only endpoints that are not ready",
    [service()],
    [slice(["10.0.0.1@a!"])],
    [`${CLUSTER_IP} reject (ns/web:http has no endpoints)`],
  ],
  [
    "an endpoint that is not ready, and one that is",
    [service()],
    [slice(["10.0.0.1@a!", "10.0.0.2@b"])],
    [`${CLUSTER_IP} 10.0.0.2`],
  ],
  [
    "terminating ones up to v1.25",
    [service()],
    [slice(["10.0.0.1@a~"])],
    [`${CLUSTER_IP} reject (ns/web:http has no endpoints)`],
  ],
  [
    "terminating ones when no others are left",
    [service()],
    [slice(["10.0.0.1@a~"])],
    [`${CLUSTER_IP} 10.0.0.1`],
    { usesTerminating: true },
  ],
  [
    "terminating ones beside ready ones",
    [service()],
    [slice(["10.0.0.1@a~", "10.0.0.2@b"])],
    [`${CLUSTER_IP} 10.0.0.2`],
    { usesTerminating: true },
  ],
  [
    "two slices",
    [service()],
    [slice(["10.0.0.1@a"]), slice(["10.0.0.2@b"], {}, "web-2")],
    [`${CLUSTER_IP} 10.0.0.1,10.0.0.2`],
  ],
  [
    "the same endpoint in two slices",
    [service()],
    [slice(["10.0.0.1@a"]), slice(["10.0.0.1@b"], {}, "web-2")],
    [`${CLUSTER_IP} 10.0.0.1`],
  ],
  [
    "a slice of another port",
    [service()],
    [slice(["10.0.0.1@a"], { ports: [{ name: "admin", port: 8080 }] })],
    [`${CLUSTER_IP} reject (ns/web:http has no endpoints)`],
  ],
  [
    "a slice of no Service",
    [service()],
    [slice(["10.0.0.1@a"], { metadata: { name: "x", namespace: "ns" } })],
    [`${CLUSTER_IP} reject (ns/web:http has no endpoints)`],
  ],
  [
    "IPv6 endpoints",
    [service()],
    [slice(["fd00@a"], { addressType: "IPv6" })],
    [`${CLUSTER_IP} reject (ns/web:http has no endpoints)`],
  ],
  [
    "a port without a name",
    [service({ ports: [{ port: 80 }] })],
    [slice(TWO, { ports: [{ name: "", port: 8080 }] })],
    ["ns/web 10.96.0.9:80/tcp 10.0.0.1,10.0.0.2"],
  ],
  [
    "two protocols of one number",
    [
      service({
        ports: [
          { name: "dns", port: 53, protocol: "UDP" },
          { name: "dns-tcp", port: 53, protocol: "TCP" },
        ],
      }),
    ],
    [
      slice(["10.0.0.1@a"], {
        ports: [
          { name: "dns", port: 8080, protocol: "UDP" },
          { name: "dns-tcp", port: 8080, protocol: "TCP" },
        ],
      }),
    ],
    ["ns/web:dns 10.96.0.9:53/udp 10.0.0.1", "ns/web:dns-tcp 10.96.0.9:53/tcp 10.0.0.1"],
  ],
  ["SCTP", [service({ ports: [{ name: "http", port: 80, protocol: "SCTP" }] })], [slice(TWO)], []],
  ["headless", [service({ clusterIP: "None" })], [slice(TWO)], []],
  ["ExternalName", [service({ type: "ExternalName", clusterIP: "" })], [], []],
  ["no address yet", [service({ clusterIP: "" })], [slice(TWO)], []],
  ["session affinity", [service(STICKY)], [slice(TWO)], [`${CLUSTER_IP} 10.0.0.1,10.0.0.2 sticky 10800`]],
  [
    "session affinity with a time",
    [service({ ...STICKY, sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } } })],
    [slice(TWO)],
    [`${CLUSTER_IP} 10.0.0.1,10.0.0.2 sticky 60`],
  ],
  [
    "internalTrafficPolicy Local",
    [service({ internalTrafficPolicy: "Local" })],
    [slice(TWO)],
    [`${CLUSTER_IP} 10.0.0.1 local`],
  ],
  [
    "internalTrafficPolicy Local without local endpoints",
    [service({ internalTrafficPolicy: "Local" })],
    [slice(["10.0.0.2@b"])],
    [`${CLUSTER_IP} drop (ns/web:http has no local endpoints)`],
  ],
  [
    "internalTrafficPolicy Local without endpoints",
    [service({ internalTrafficPolicy: "Local" })],
    [],
    [`${CLUSTER_IP} reject (ns/web:http has no endpoints)`],
  ],
  [
    "a node port",
    [service(NODE_PORT)],
    [slice(TWO)],
    [`${CLUSTER_IP} 10.0.0.1,10.0.0.2`, "ns/web:http *:30080/tcp 10.0.0.1,10.0.0.2 masquerade"],
  ],
  [
    "a node port without endpoints",
    [service(NODE_PORT)],
    [],
    [
      `${CLUSTER_IP} reject (ns/web:http has no endpoints)`,
      "ns/web:http *:30080/tcp reject (ns/web:http has no endpoints)",
    ],
  ],
  [
    "externalTrafficPolicy Local",
    [service(LOCAL)],
    [slice(TWO)],
    [
      `${CLUSTER_IP} 10.0.0.1,10.0.0.2`,
      "ns/web:http pods: *:30080/tcp 10.0.0.1,10.0.0.2",
      "ns/web:http node: *:30080/tcp 10.0.0.1,10.0.0.2 masquerade",
      "ns/web:http *:30080/tcp 10.0.0.1 local",
    ],
  ],
  [
    "externalTrafficPolicy Local without local endpoints",
    [service(LOCAL)],
    [slice(["10.0.0.2@b"])],
    [
      `${CLUSTER_IP} 10.0.0.2`,
      "ns/web:http pods: *:30080/tcp 10.0.0.2",
      "ns/web:http node: *:30080/tcp 10.0.0.2 masquerade",
      "ns/web:http *:30080/tcp drop (ns/web:http has no local endpoints)",
    ],
  ],
  [
    "externalTrafficPolicy Local of a ClusterIP",
    [service({ externalTrafficPolicy: "Local" })],
    [slice(TWO)],
    [`${CLUSTER_IP} 10.0.0.1,10.0.0.2`],
  ],
  [
    "an external IP",
    [service({ externalIPs: ["192.0.2.7", "fd00::1"] })],
    [slice(TWO)],
    [`${CLUSTER_IP} 10.0.0.1,10.0.0.2`, "ns/web:http 192.0.2.7:80/tcp 10.0.0.1,10.0.0.2 masquerade"],
  ],
  [
    "a load balancer",
    [
      {
        ...service(BALANCED),
        status: { loadBalancer: { ingress: [{ ip: "192.0.2.8" }, { hostname: "x" }] } },
      } as unknown as Service,
    ],
    [slice(["10.0.0.1@a"])],
    [
      `${CLUSTER_IP} 10.0.0.1`,
      "ns/web:http 192.0.2.8:80/tcp 10.0.0.1 masquerade",
      "ns/web:http *:30080/tcp 10.0.0.1 masquerade",
    ],
  ],
  [
    "hints for the node's zone",
    [service({}, HINTS)],
    [slice(["10.0.0.1@a/x", "10.0.0.2@b/y"])],
    [`${CLUSTER_IP} 10.0.0.2`],
    { zone: "y" },
  ],
  [
    "hints for other zones",
    [service({}, HINTS)],
    [slice(["10.0.0.1@a/x", "10.0.0.2@b/y"])],
    [`${CLUSTER_IP} 10.0.0.1,10.0.0.2`],
    { zone: "z" },
  ],
  [
    "an endpoint without a hint",
    [service({}, HINTS)],
    [slice(["10.0.0.1@a/x", "10.0.0.2@b"])],
    [`${CLUSTER_IP} 10.0.0.1,10.0.0.2`],
    { zone: "x" },
  ],
  [
    "hints that nobody asked for",
    [service()],
    [slice(["10.0.0.1@a/x", "10.0.0.2@b/y"])],
    [`${CLUSTER_IP} 10.0.0.1,10.0.0.2`],
    { zone: "x" },
  ],
  [
    "the API server",
    [service({}, { name: "kubernetes", namespace: "default" })],
    [
      slice(["127.0.0.1@b"], {
        metadata: { name: "kubernetes", namespace: "default", labels: { "kubernetes.io/service-name": "kubernetes" } },
      }),
    ],
    ["default/kubernetes:http 10.96.0.9:80/tcp 127.0.0.1 control plane"],
  ],
  ["loopback endpoints of anyone else", [service()], [slice(["127.0.0.1@a"])], [`${CLUSTER_IP} 127.0.0.1`]],
];
for (const [what, services, slices, rules, options] of TABLE) {
  test(`rules: ${what}`, () => assert.deepEqual(rulesOf(services, slices, options), rules));
}

test("the chain of a port has the name that it has on every cluster", () => {
  assert.equal(serviceChain("SVC", "default/kubernetes:https", "TCP"), "KUBE-SVC-NPX46M4PTMTKRN6Y");
  assert.equal(serviceChain("SVC", "kube-system/kube-dns:dns", "UDP"), "KUBE-SVC-TCOU7JCQXEZGVUNU");
  assert.match(serviceChain("SVL", "ns/web", "TCP"), /^KUBE-SVL-[A-Z2-7]{16}$/);
});

test("slices: what changes nothing is no change", () => {
  const cache = new EndpointSliceCache("a");
  assert.equal(cache.update(slice(TWO), true), false, "an unknown slice is removed");
  assert.equal(cache.update(slice(TWO), false), true);
  const touched = {
    metadata: {
      ...slice(TWO).metadata,
      resourceVersion: "2",
      annotations: { "endpoints.kubernetes.io/last-change-trigger-time": "now" },
    },
  };
  assert.equal(cache.update(slice(TWO, touched), false), false);
  assert.equal(cache.update(slice(["10.0.0.1@a"]), false), true);
  assert.equal(cache.update(slice([]), true), true);
  assert.deepEqual([...cache.takeChanged()], [["ns/web", new Map()]]);
});
