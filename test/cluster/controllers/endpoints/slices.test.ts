import assert from "node:assert/strict";
import { test } from "vitest";
import { reconcile } from "../../../../src/cluster/controllers/endpoints/endpointslice/reconciler.js";
import { podToEndpoint } from "../../../../src/cluster/controllers/endpoints/endpointslice/utils.js";
import { EndpointSliceTracker } from "../../../../src/cluster/controllers/endpoints/util/slice-tracker.js";
import type { EndpointSlice } from "../../../../src/cluster/controllers/endpoints/util/slices.js";
import type { PodObject, Service } from "../../../../src/staging/apimachinery/api/objects.js";
import { node, pod, service } from "./objects.js";

const NODES = new Map([["n1", node("n1", { "topology.kubernetes.io/zone": "z1" })]]);
const MAX = 3;

function pods(from: number, to: number): PodObject[] {
  return Array.from({ length: to - from + 1 }, (_, i) => pod(`p${from + i}`, { ip: `10.0.0.${from + i}` }));
}

function plan(of: Service, selected: readonly PodObject[], slices: readonly EndpointSlice[] = []) {
  return reconcile({ service: of, pods: selected, slices, nodeOf: (name) => NODES.get(name), maxEndpoints: MAX });
}

/** The slices that pods get at first, with names. */
function stored(of: Service, ...groups: readonly (readonly PodObject[])[]): EndpointSlice[] {
  return groups.flatMap((group, index) =>
    plan(of, group).create.map((slice, i) => ({
      ...slice,
      metadata: { ...slice.metadata, name: `s${index + i}`, uid: `uid-s${index + i}`, generation: 1 },
    })),
  );
}

/** `1,2 :8080`: the last bytes of the addresses, and the ports. */
function shown({ metadata, endpoints, ports, addressType }: EndpointSlice): string {
  const ips = (endpoints ?? []).map(({ addresses }) => addresses[0]?.split(/[.:]/).at(-1)).join();
  const numbers = (ports ?? []).map(({ port }) => port).join();
  return `${metadata.name ?? ""}[${ips}]:${numbers}${addressType === "IPv4" ? "" : addressType}`;
}

function text({ create, update, delete: gone, skipped }: ReturnType<typeof reconcile>): string {
  const parts = [
    ...create.map((slice) => `create ${shown(slice)}`),
    ...update.map((slice) => `update ${shown(slice)}`),
    ...gone.map((slice) => `delete ${slice.metadata.name}`),
    ...skipped.map(() => "again"),
  ];
  return parts.join(", ");
}

const web = service();
const named = service({ ports: [{ name: "http", port: 80, targetPort: "web", protocol: "TCP" }] });
const at = (name: string, ip: string, containerPort: number) =>
  pod(name, { ip, ports: [{ name: "web", containerPort, protocol: "TCP" }] });
const [p1, p2] = pods(1, 2) as [PodObject, PodObject];
const labelled = service({}, { labels: { a: "b" } });
const replaced = service({}, { uid: "uid-new" });

const PLANS: readonly [string, Service, readonly PodObject[], readonly EndpointSlice[], string][] = [
  ["no pods: an empty slice", web, [], [], "create []:"],
  ["no pods, and the empty slice is there", web, [], stored(web, []), ""],
  ["one pod", web, [p1], [], "create [1]:8080"],
  ["one pod in place of the empty slice", web, [p1], stored(web, []), "update s0[1]:8080"],
  ["nothing changed", web, pods(1, 3), stored(web, pods(1, 3)), ""],
  ["more than one slice holds", web, pods(1, 7), [], "create [1,2,3]:8080, create [4,5,6]:8080, create [7]:8080"],
  ["one more, and there is room", web, pods(1, 3), stored(web, pods(1, 2)), "update s0[1,2,3]:8080"],
  ["one more, and there is no room", web, pods(1, 4), stored(web, pods(1, 3)), "create [4]:8080"],
  [
    "the fullest slice with room is filled",
    web,
    [...pods(1, 3), pod("x", { ip: "10.0.0.9" })],
    stored(web, [p1], pods(2, 3)),
    "update s1[2,3,9]:8080",
  ],
  [
    "two more, which fit into one slice only together",
    web,
    pods(1, 5),
    stored(web, [p1], pods(2, 3)),
    "update s0[1,4,5]:8080",
  ],
  ["one less", web, [p2], stored(web, pods(1, 2)), "update s0[2]:8080"],
  ["one replaced: the changed slice is filled", web, pods(2, 4), stored(web, pods(1, 3)), "update s0[2,3,4]:8080"],
  ["the last one goes", web, [], stored(web, [p1]), "update s0[]:"],
  ["a whole slice goes", web, pods(1, 3), stored(web, pods(1, 3), [pod("x", { ip: "10.0.0.9" })]), "delete s1"],
  ["readiness changes", web, [pod("p1", { ready: false })], stored(web, [p1]), "update s0[1]:8080"],
  ["a deletion begins", web, [pod("p1", { terminating: true })], stored(web, [p1]), "update s0[1]:8080"],
  ["a pod has finished", web, [pod("p1", { phase: "Succeeded" })], stored(web, [p1]), "update s0[]:"],
  ["a pod has no address yet", web, [pod("p1", { ip: "" })], [], "create []:"],
  [
    "a named port with two numbers",
    named,
    [at("a", "10.0.0.1", 80), at("b", "10.0.0.2", 81)],
    [],
    "create [1]:80, create [2]:81",
  ],
  [
    "a named port changes",
    named,
    [at("b", "10.0.0.2", 81)],
    stored(named, [at("a", "10.0.0.1", 80)]),
    "update s0[2]:81",
  ],
  [
    "the target port changes",
    service({ ports: [{ port: 80, targetPort: 90, protocol: "TCP" }] }),
    [p1],
    stored(web, [p1]),
    "update s0[1]:90",
  ],
  ["a port that no pod has", named, [p1], [], "create [1]:"],
  ["labels of the service change", labelled, [p1], stored(web, [p1]), "update s0[1]:8080"],
  ["labels change while there are no pods", labelled, [], stored(web, []), "update s0[]:"],
  ["the service was replaced", replaced, [p1], stored(web, [p1]), "create [1]:8080, delete s0"],
  ["the family changed", service({ ipFamilies: ["IPv6"] }), [], stored(web, [p1]), "create []:IPv6, delete s0"],
  ["two families", service({ ipFamilies: ["IPv4", "IPv6"] }), [p1], [], "create [1]:8080, create []:IPv6"],
  ["the node is missing", web, [p1, pod("x", { ip: "10.0.0.9", node: "gone" })], [], "create [1]:8080, again"],
  [
    "the node is missing, but unready addresses are published",
    service({ publishNotReadyAddresses: true }),
    [pod("x", { ip: "10.0.0.9", node: "gone" })],
    [],
    "create [9]:8080",
  ],
  ["headless without ports", service({ clusterIP: "None", ports: [] }), [p1], [], "create [1]:"],
];

for (const [name, of, selected, slices, expected] of PLANS) {
  test(`slices: ${name}`, () => {
    assert.equal(text(plan(of, selected, slices)), expected);
  });
}

const ready = { ready: true, serving: true, terminating: false };
const CONDITIONS: readonly [string, object, PodObject, object][] = [
  ["ready", {}, p1, ready],
  ["not ready", {}, pod("a", { ready: false }), { ready: false, serving: false, terminating: false }],
  [
    "terminating and still serving",
    {},
    pod("a", { terminating: true }),
    { ready: false, serving: true, terminating: true },
  ],
  [
    "terminating, published",
    { publishNotReadyAddresses: true },
    pod("a", { terminating: true }),
    { ready: true, serving: true, terminating: true },
  ],
  [
    "not ready, published",
    { publishNotReadyAddresses: true },
    pod("a", { ready: false }),
    { ready: true, serving: false, terminating: false },
  ],
];

for (const [name, spec, of, expected] of CONDITIONS) {
  test(`conditions of an endpoint: ${name}`, () => {
    assert.deepEqual(podToEndpoint(of, undefined, service(spec), "IPv4").conditions, expected);
  });
}

test("an endpoint names its pod, node, zone and host name", () => {
  const db = pod("p", { hostname: "db-0", subdomain: "web" });
  assert.deepEqual(podToEndpoint(db, NODES.get("n1"), web, "IPv4"), {
    addresses: ["10.0.0.1"],
    conditions: ready,
    hostname: "db-0",
    targetRef: { kind: "Pod", name: "p", namespace: "default", uid: "uid-p" },
    nodeName: "n1",
    zone: "z1",
  });
});

test("a new slice has the service's labels, upstream's own, and an owner", () => {
  const labels = { a: "b", "service.kubernetes.io/headless": "mine", "kubernetes.io/service-name": "x" };
  const [slice] = plan(service({ clusterIP: "None" }, { labels }), [p1]).create;
  assert.deepEqual(slice?.metadata, {
    generateName: "web-",
    namespace: "default",
    labels: {
      a: "b",
      "kubernetes.io/service-name": "web",
      "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
      "service.kubernetes.io/headless": "",
    },
    ownerReferences: [
      { apiVersion: "v1", kind: "Service", name: "web", uid: "uid-web", controller: true, blockOwnerDeletion: true },
    ],
  });
});

test("the tracker knows which slices the controller wrote", () => {
  const [slice] = stored(web, [p1]) as [EndpointSlice];
  const newer = { ...slice, metadata: { ...slice.metadata, generation: 2 } };
  const tracker = new EndpointSliceTracker();
  const stale = (...slices: EndpointSlice[]) => tracker.isStale("default/web", slices);
  assert.deepEqual([tracker.has(slice), tracker.shouldSync(slice), stale()], [false, true, false]);
  tracker.update(newer);
  assert.deepEqual([tracker.has(slice), tracker.shouldSync(newer)], [true, false]);
  // The cache does not have the write, has an older one, has it.
  assert.deepEqual([stale(), stale(slice), stale(newer)], [true, true, false]);
  tracker.expectDeletion(newer);
  assert.deepEqual([stale(newer), stale()], [true, false]);
  assert.equal(tracker.handleDeletion(newer), true);
  tracker.update(newer);
  assert.equal(tracker.handleDeletion(newer), false);
  tracker.update(newer);
  tracker.deleteService("default/web");
  assert.equal(tracker.has(newer), false);
});
