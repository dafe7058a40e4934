import assert from "node:assert/strict";
import { test } from "vitest";
import {
  type Endpoints,
  mirror,
} from "../../../../src/cluster/controllers/endpoints/endpointslicemirroring/reconciler.js";
import type { EndpointSlice } from "../../../../src/cluster/controllers/endpoints/util/slices.js";

type Subsets = Endpoints["subsets"];
const MAX = 3;

function endpoints(subsets: unknown, metadata: object = {}): Endpoints {
  return {
    apiVersion: "v1",
    kind: "Endpoints",
    metadata: { name: "db", namespace: "default", uid: "uid-db", ...metadata },
    subsets: subsets as NonNullable<Subsets>,
  };
}

const subset = (ips: readonly string[], port = 80, more: object = {}) => ({
  addresses: ips.map((ip) => ({ ip })),
  ports: [{ port, protocol: "TCP" }],
  ...more,
});
const notReady = (ips: readonly string[]) => ({ notReadyAddresses: ips.map((ip) => ({ ip })) });

function stored(of: Endpoints): EndpointSlice[] {
  return mirror(of, [], MAX).create.map((slice, i) => ({
    ...slice,
    metadata: { ...slice.metadata, name: `s${i}`, uid: `uid-s${i}` },
  }));
}

function shown({ metadata, endpoints: list, ports, addressType }: EndpointSlice): string {
  const ips = (list ?? []).map(({ addresses, conditions }) => `${addresses[0]}${conditions?.ready ? "" : "!"}`);
  return `${metadata.name ?? ""}[${ips.join()}]:${(ports ?? []).map(({ port }) => port).join()} ${addressType}`;
}

function text({ create, update, delete: gone, invalidCount, skippedCount }: ReturnType<typeof mirror>): string {
  const parts = [
    ...create.map((slice) => `create ${shown(slice)}`),
    ...update.map((slice) => `update ${shown(slice)}`),
    ...gone.map(({ metadata }) => `delete ${metadata.name}`),
    ...(skippedCount === 0 ? [] : [`${skippedCount} skipped, ${invalidCount} invalid`]),
  ];
  return parts.join(", ");
}

const plain = endpoints([subset(["1.1.1.1"])]);
const TABLE: readonly [string, Endpoints, readonly EndpointSlice[], string][] = [
  ["nothing", endpoints(undefined), [], ""],
  ["an empty subset", endpoints([subset([])]), [], ""],
  ["one address", plain, [], "create [1.1.1.1]:80 IPv4"],
  ["nothing changed", plain, stored(plain), ""],
  [
    "a second address",
    endpoints([subset(["1.1.1.1", "1.1.1.2"])]),
    stored(plain),
    "update s0[1.1.1.1,1.1.1.2]:80 IPv4",
  ],
  ["another address", endpoints([subset(["1.1.1.2"])]), stored(plain), "update s0[1.1.1.2]:80 IPv4"],
  [
    "one is not ready",
    endpoints([subset(["1.1.1.1"], 80, notReady(["1.1.1.2"]))]),
    [],
    "create [1.1.1.1,1.1.1.2!]:80 IPv4",
  ],
  [
    "it becomes not ready",
    endpoints([subset([], 80, notReady(["1.1.1.1"]))]),
    stored(plain),
    "update s0[1.1.1.1!]:80 IPv4",
  ],
  ["another port", endpoints([subset(["1.1.1.1"], 81)]), stored(plain), "update s0[1.1.1.1]:81 IPv4"],
  [
    "two subsets",
    endpoints([subset(["1.1.1.1"]), subset(["1.1.1.2"], 81)]),
    [],
    "create [1.1.1.1]:80 IPv4, create [1.1.1.2]:81 IPv4",
  ],
  [
    "two subsets with the same ports",
    endpoints([subset(["1.1.1.1"]), subset(["1.1.1.2"])]),
    [],
    "create [1.1.1.1,1.1.1.2]:80 IPv4",
  ],
  [
    "both families",
    endpoints([subset(["1.1.1.1", "fd00::1"])]),
    [],
    "create [1.1.1.1]:80 IPv4, create [fd00::1]:80 IPv6",
  ],
  ["the family changed", endpoints([subset(["fd00::1"])]), stored(plain), "create [fd00::1]:80 IPv6, delete s0"],
  ["the subset is gone", endpoints([]), stored(plain), "delete s0"],
  ["all addresses are gone", endpoints([subset([])]), stored(plain), "delete s0"],
  ["one of two subsets is gone", plain, stored(endpoints([subset(["1.1.1.1"]), subset(["1.1.1.2"], 81)])), "delete s1"],
  [
    "one subset in place of another",
    endpoints([subset(["1.1.1.1"]), subset(["1.1.1.9"], 90)]),
    stored(endpoints([subset(["1.1.1.1"]), subset(["1.1.1.2"], 81)])),
    "update s1[1.1.1.9]:90 IPv4",
  ],
  [
    "an address that is none",
    endpoints([subset(["x", "1.1.1.1"])]),
    [],
    "create [1.1.1.1]:80 IPv4, 1 skipped, 1 invalid",
  ],
  [
    "more than the maximum",
    endpoints([subset(["1.1.1.1", "1.1.1.2", "1.1.1.3", "1.1.1.4"])]),
    [],
    "create [1.1.1.1,1.1.1.2,1.1.1.3]:80 IPv4, 1 skipped, 0 invalid",
  ],
  [
    "the maximum, not ready ones last",
    endpoints([subset(["1.1.1.1", "1.1.1.2"], 80, notReady(["1.1.1.3", "1.1.1.4"]))]),
    [],
    "create [1.1.1.1,1.1.1.2,1.1.1.3!]:80 IPv4, 1 skipped, 0 invalid",
  ],
  [
    "two slices with the same ports",
    plain,
    [...stored(plain), ...stored(plain).map((slice) => ({ ...slice, metadata: { ...slice.metadata, name: "s9" } }))],
    "delete s9",
  ],
  [
    "a new label",
    endpoints([subset(["1.1.1.1"])], { labels: { a: "b" } }),
    stored(plain),
    "update s0[1.1.1.1]:80 IPv4",
  ],
  [
    "a new annotation",
    endpoints([subset(["1.1.1.1"])], { annotations: { a: "b" } }),
    stored(plain),
    "update s0[1.1.1.1]:80 IPv4",
  ],
  [
    "an annotation of kubectl",
    endpoints([subset(["1.1.1.1"])], { annotations: { "kubectl.kubernetes.io/last-applied-configuration": "{}" } }),
    stored(plain),
    "",
  ],
  ["no ports", endpoints([{ addresses: [{ ip: "1.1.1.1" }] }]), [], "create [1.1.1.1]: IPv4"],
];

for (const [name, of, slices, expected] of TABLE) {
  test(`mirror: ${name}`, () => {
    assert.equal(text(mirror(of, slices, MAX)), expected);
  });
}

test("a mirrored slice has the labels of the Endpoints, an owner, and all of an address", () => {
  const targetRef = { kind: "Pod", name: "p", namespace: "default" };
  const address = { ip: "1.1.1.1", hostname: "h", nodeName: "n1", targetRef };
  const ports = [{ name: "http", port: 80, protocol: "TCP", appProtocol: "http" }];
  const [slice] = mirror(endpoints([{ addresses: [address], ports }], { labels: { a: "b" } }), []).create;
  assert.deepEqual(slice, {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      generateName: "db-",
      namespace: "default",
      labels: {
        a: "b",
        "kubernetes.io/service-name": "db",
        "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io",
      },
      ownerReferences: [
        { apiVersion: "v1", kind: "Endpoints", name: "db", uid: "uid-db", controller: true, blockOwnerDeletion: true },
      ],
    },
    addressType: "IPv4",
    endpoints: [{ addresses: ["1.1.1.1"], conditions: { ready: true }, hostname: "h", nodeName: "n1", targetRef }],
    ports,
  });
});
