import assert from "node:assert/strict";
import { test } from "vitest";
import {
  type EndpointSubset,
  repackSubsets,
} from "../../../../src/cluster/controllers/endpoints/endpoint/repack-subsets.js";
import { subsetsFor, truncateSubsets } from "../../../../src/cluster/controllers/endpoints/endpoint/subsets.js";
import { ServiceSelectorCache } from "../../../../src/cluster/controllers/endpoints/util/service-selector-cache.js";
import { TriggerTimeTracker } from "../../../../src/cluster/controllers/endpoints/util/trigger-time-tracker.js";
import type { PodObject } from "../../../../src/staging/apimachinery/api/objects.js";
import { pod, service } from "./objects.js";

/** `10.0.0.1 10.0.0.2 - 10.0.0.3 : http/TCP=8080`: ready addresses, not ready ones, ports; one subset per part. */
function text(subsets: readonly EndpointSubset[]): string {
  const ips = (list: EndpointSubset["addresses"]) =>
    (list ?? []).map(({ ip, hostname }) => (hostname === undefined ? ip : `${ip}(${hostname})`)).join(" ");
  return subsets
    .map(({ addresses, notReadyAddresses, ports }) => {
      const named = (ports ?? []).map(({ name = "", protocol, port }) => `${name}/${protocol}=${port}`).join(" ");
      return `${ips(addresses)} - ${ips(notReadyAddresses)} : ${named}`.trim();
    })
    .join(" | ");
}

const one = pod("a", { ip: "10.0.0.1" });
const two = pod("b", { ip: "10.0.0.2" });
const NAMED = { ports: [{ name: "http", port: 80, targetPort: "web", protocol: "TCP" }] };
const at = (containerPort: number, protocol = "TCP") => ({ ports: [{ name: "web", containerPort, protocol }] });

const SUBSETS: readonly [string, object, readonly PodObject[], string][] = [
  ["no pods", {}, [], ""],
  ["a ready pod", {}, [one], "10.0.0.1 -  : /TCP=8080"],
  ["a pod that is not ready", {}, [pod("a", { ready: false })], "- 10.0.0.1 : /TCP=8080"],
  [
    "both, sorted by address",
    {},
    [two, one, pod("c", { ip: "10.0.0.3", ready: false })],
    "10.0.0.1 10.0.0.2 - 10.0.0.3 : /TCP=8080",
  ],
  ["a pod without an address", {}, [pod("a", { ip: "" })], ""],
  ["a pod that is being deleted", {}, [pod("a", { terminating: true })], ""],
  ["a failed pod", {}, [pod("a", { phase: "Failed" })], ""],
  ["a finished pod", {}, [pod("a", { phase: "Succeeded", ready: false })], ""],
  ["a pending pod with an address", {}, [pod("a", { phase: "Pending", ready: false })], "- 10.0.0.1 : /TCP=8080"],
  ["not ready, published", { publishNotReadyAddresses: true }, [pod("a", { ready: false })], "10.0.0.1 -  : /TCP=8080"],
  [
    "being deleted, published",
    { publishNotReadyAddresses: true },
    [pod("a", { terminating: true })],
    "10.0.0.1 -  : /TCP=8080",
  ],
  ["failed, published", { publishNotReadyAddresses: true }, [pod("a", { phase: "Failed" })], ""],
  ["a named port", NAMED, [pod("a", at(8080))], "10.0.0.1 -  : http/TCP=8080"],
  [
    "a named port that changes",
    NAMED,
    [pod("a", at(8080)), pod("b", { ip: "10.0.0.2", ...at(9090) })],
    "10.0.0.1 -  : http/TCP=8080 | 10.0.0.2 -  : http/TCP=9090",
  ],
  ["a named port that only one pod has", NAMED, [pod("a", at(8080)), two], "10.0.0.1 -  : http/TCP=8080"],
  ["a named port with another protocol", NAMED, [pod("a", at(8080, "UDP"))], ""],
  [
    "two ports",
    {
      ports: [
        { name: "a", port: 1, targetPort: 11, protocol: "TCP" },
        { name: "b", port: 2, targetPort: 22, protocol: "UDP" },
      ],
    },
    [one, two],
    "10.0.0.1 10.0.0.2 -  : a/TCP=11 b/UDP=22",
  ],
  ["headless", { clusterIP: "None" }, [one], "10.0.0.1 -  : /TCP=8080"],
  [
    "headless without ports",
    { clusterIP: "None", ports: [] },
    [one, pod("b", { ip: "10.0.0.2", ready: false })],
    "10.0.0.1 - 10.0.0.2 :",
  ],
  ["without ports", { ports: [] }, [one], ""],
  [
    "a pod with a name in the service's domain",
    {},
    [pod("a", { hostname: "db", subdomain: "web" })],
    "10.0.0.1(db) -  : /TCP=8080",
  ],
  ["a name in another domain", {}, [pod("a", { hostname: "db", subdomain: "other" })], "10.0.0.1 -  : /TCP=8080"],
  ["an IPv6 address of an IPv4 service", {}, [pod("a", { ip: "fd00::1" })], ""],
  ["an IPv6 service", { ipFamilies: ["IPv6"] }, [pod("a", { ip: "fd00::1" })], "fd00::1 -  : /TCP=8080"],
  [
    "two pods with the address of their node",
    {},
    [one, pod("b", { ip: "10.0.0.1" })],
    "10.0.0.1 10.0.0.1 -  : /TCP=8080",
  ],
];

for (const [name, spec, pods, expected] of SUBSETS) {
  test(`endpoints of ${name}`, () => {
    assert.equal(text(subsetsFor(service(spec), pods)), expected);
  });
}

for (const [value, expected] of [
  ["true", "10.0.0.1 -  : /TCP=8080"],
  ["false", "- 10.0.0.1 : /TCP=8080"],
  ["maybe", "10.0.0.1 -  : /TCP=8080"],
] as const) {
  test(`the old annotation for unready endpoints is ${value}`, () => {
    const annotations = { "service.alpha.kubernetes.io/tolerate-unready-endpoints": value };
    const publishing = service({ publishNotReadyAddresses: value !== "true" }, { annotations });
    assert.equal(text(subsetsFor(publishing, [pod("a", { ready: false })])), expected);
  });
}

test("an address refers to its pod and its node", () => {
  assert.deepEqual(subsetsFor(service(), [one])[0]?.addresses, [
    { ip: "10.0.0.1", nodeName: "n1", targetRef: { kind: "Pod", name: "a", namespace: "default", uid: "uid-a" } },
  ]);
});

const tcp = (port: number) => ({ port, protocol: "TCP" });
const PACKED: readonly [string, EndpointSubset[], string][] = [
  ["nothing", [], ""],
  [
    "one address twice",
    [{ addresses: [{ ip: "1.1.1.1" }, { ip: "1.1.1.1" }], ports: [tcp(1)] }],
    "1.1.1.1 -  : /TCP=1",
  ],
  [
    "two subsets with the same ports",
    [
      { addresses: [{ ip: "1.1.1.2" }], ports: [tcp(1)] },
      { addresses: [{ ip: "1.1.1.1" }], ports: [tcp(1)] },
    ],
    "1.1.1.1 1.1.1.2 -  : /TCP=1",
  ],
  [
    "two subsets with the same addresses",
    [
      { addresses: [{ ip: "1.1.1.1" }], ports: [tcp(2)] },
      { addresses: [{ ip: "1.1.1.1" }], ports: [tcp(1)] },
    ],
    "1.1.1.1 -  : /TCP=1 /TCP=2",
  ],
  [
    "an address that is ready and not ready",
    [{ addresses: [{ ip: "1.1.1.1" }], notReadyAddresses: [{ ip: "1.1.1.1" }], ports: [tcp(1)] }],
    "- 1.1.1.1 : /TCP=1",
  ],
  [
    "ready on one port only",
    [
      { addresses: [{ ip: "1.1.1.1" }], ports: [tcp(1)] },
      { notReadyAddresses: [{ ip: "1.1.1.1" }], ports: [tcp(2)] },
    ],
    "1.1.1.1 -  : /TCP=1 | - 1.1.1.1 : /TCP=2",
  ],
];

for (const [name, subsets, expected] of PACKED) {
  test(`canonical form of ${name}`, () => {
    assert.equal(text(repackSubsets(subsets)), expected);
  });
}

const many = (count: number, ready: boolean, subnet: number) =>
  Array.from({ length: count }, (_, i) => pod(`p${subnet}-${i}`, { ip: `10.${subnet}.${i >> 8}.${i & 255}`, ready }));

for (const [ready, notReady, expected] of [
  [600, 400, undefined],
  [600, 500, [600, 400]],
  [1200, 10, [1000, 0]],
] as const) {
  test(`${ready} ready and ${notReady} other addresses are cut to ${expected ?? "nothing less"}`, () => {
    const subsets = subsetsFor(service(), [...many(ready, true, 1), ...many(notReady, false, 2)]);
    const cut = truncateSubsets(subsets);
    assert.deepEqual(cut && [cut[0]?.addresses?.length ?? 0, cut[0]?.notReadyAddresses?.length ?? 0], expected);
  });
}

const other = service({ selector: { app: "other" } }, { name: "other" });
const elsewhere = service({}, { namespace: "elsewhere" });
const all = service({ selector: {} }, { name: "all" });

const CHANGED: readonly [string, PodObject, PodObject, string][] = [
  ["nothing", one, one, ""],
  ["readiness", one, pod("a", { ready: false }), "web all"],
  ["the address", pod("a", { ip: "" }), one, "web all"],
  ["the deletion", one, pod("a", { terminating: true }), "web all"],
  ["the phase", one, pod("a", { phase: "Failed" }), "web all"],
  ["labels", one, pod("a", { labels: { app: "other" } }), "other web"],
  ["labels and readiness", one, pod("a", { labels: { app: "other" }, ready: false }), "other all web"],
  ["a label that nobody selects", one, pod("a", { labels: { app: "web", x: "y" } }), ""],
];

for (const [what, before, after, expected] of CHANGED) {
  test(`a change of ${what} concerns [${expected}]`, () => {
    const cache = new ServiceSelectorCache();
    for (const one of [service(), other, elsewhere, all]) cache.update(one);
    cache.update(service({ selector: undefined }, { name: "none" }));
    const keys = cache.servicesToUpdate(before, after).map((key) => key.replace("default/", ""));
    assert.equal(keys.join(" "), expected);
  });
}

test("a deleted service, and one that loses its selector, select no pods", () => {
  const cache = new ServiceSelectorCache();
  cache.update(service());
  cache.update(other);
  assert.deepEqual(cache.servicesOf(one), ["default/web"]);
  cache.update(service({ selector: undefined }));
  assert.deepEqual(cache.servicesOf(one), []);
  cache.delete(other);
  assert.deepEqual(cache.servicesOf(pod("x", { labels: { app: "other" } })), []);
});

test("the trigger time is the earliest change since the last pass", () => {
  const tracker = new TriggerTimeTracker();
  const since = (name: string, time: string) => pod(name, { since: `2026-01-01T00:${time}Z` });
  const early = since("a", "01:00");
  // A new service: its creation.
  assert.equal(tracker.compute(service(), [early]), "2026-01-01T00:00:00Z");
  assert.equal(tracker.compute(service(), [early]), undefined);
  assert.equal(tracker.compute(service(), [early, since("b", "03:00"), since("c", "02:00")]), "2026-01-01T00:02:00Z");
  assert.equal(tracker.compute(service(), [since("a", "04:00")]), "2026-01-01T00:04:00Z");
  assert.equal(tracker.compute(service(), [pod("b")]), undefined);
  tracker.deleteService("default/web");
  assert.equal(tracker.compute(service(), []), "2026-01-01T00:00:00Z");
});
