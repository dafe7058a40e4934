import assert from "node:assert/strict";
import { test } from "vitest";
import { canAdmitPod } from "../../../src/kubelet/lifecycle/admit.js";
import { PredicateAdmitHandler } from "../../../src/kubelet/lifecycle/predicate.js";
import type { NodeObject } from "../../../src/staging/apimachinery/api/node.js";
import type { V1Pod } from "../../../src/staging/apimachinery/api/pod.js";

const NODE: NodeObject = {
  apiVersion: "v1",
  kind: "Node",
  metadata: { name: "n1", labels: { "kubernetes.io/os": "linux", disk: "ssd", size: "5" } },
  status: { allocatable: { cpu: "1", memory: "1Gi", pods: "3" } },
};

function podOf(spec: object, metadata: object = {}): V1Pod {
  const base = { name: "p", namespace: "default", uid: "u", ...metadata };
  return { apiVersion: "v1", kind: "Pod", metadata: base, spec: { containers: [], ...spec }, status: {} };
}

const asks = (requests: object, more: object = {}) => ({
  containers: [{ name: "c", resources: { requests }, ...more }],
});
const other = (spec: object, i = 0) => podOf(spec, { name: `o${i}`, uid: `o${i}` });
const terms = (...matchExpressions: object[]) => ({
  affinity: {
    nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions }] } },
  },
});
const port = (hostPort: number, more: object = {}) => ({ containers: [{ name: "c", ports: [{ hostPort, ...more }] }] });
const TAINTED = { ...NODE, spec: { taints: [{ key: "k", value: "v", effect: "NoExecute" }] } };
const STATIC = { annotations: { "kubernetes.io/config.source": "file" } };

const admitted: readonly (readonly [string, V1Pod, readonly V1Pod[], NodeObject?])[] = [
  ["a pod that asks for nothing", podOf({}), []],
  ["what is just left", podOf(asks({ cpu: "500m" })), [other(asks({ cpu: "500m" }))]],
  ["itself does not count twice", podOf(asks({ cpu: "1" })), [podOf(asks({ cpu: "1" }))]],
  ["an extended resource that the node does not know", podOf(asks({ "example.com/gpu": "1" })), []],
  ["ephemeral storage of a node that does not limit it", podOf(asks({ "ephemeral-storage": "1Gi" })), []],
  ["a node selector", podOf({ nodeSelector: { disk: "ssd" } }), []],
  ["an affinity", podOf(terms({ key: "size", operator: "Gt", values: ["4"] })), []],
  ["another port", podOf(port(80)), [other(port(81))]],
  [
    "the same port of another address",
    podOf(port(80, { hostIP: "10.0.0.1" })),
    [other(port(80, { hostIP: "10.0.0.2" }))],
  ],
  ["a taint that is tolerated", podOf({ tolerations: [{ key: "k", operator: "Exists" }] }), [], TAINTED],
  ["a taint and a static pod", podOf({}, STATIC), [], TAINTED],
  ["a NoSchedule taint", podOf({}), [], { ...NODE, spec: { taints: [{ key: "k", effect: "NoSchedule" }] } }],
];
for (const [name, pod, others, node = NODE] of admitted) {
  test(`admission: ${name} is let in`, async () => assert.deepEqual(await decide(pod, others, node), { admit: true }));
}

const refused: readonly (readonly [string, V1Pod, readonly V1Pod[], string, string, NodeObject?])[] = [
  [
    "too much cpu",
    podOf(asks({ cpu: "2" })),
    [],
    "OutOfcpu",
    "Node didn't have enough resource: cpu, requested: 2000, used: 0, capacity: 1000",
  ],
  [
    "more memory than is left",
    podOf(asks({ memory: "1Gi" })),
    [other(asks({ memory: "1Mi" }))],
    "OutOfmemory",
    "Node didn't have enough resource: memory, requested: 1073741824, used: 1048576, capacity: 1073741824",
  ],
  [
    "too many pods",
    podOf({}),
    [1, 2, 3].map((i) => other({}, i)),
    "OutOfpods",
    "Node didn't have enough resource: pods, requested: 1, used: 3, capacity: 3",
  ],
  [
    "a greedy init container",
    podOf({ initContainers: [{ name: "i", resources: { requests: { cpu: "1500m" } } }] }),
    [],
    "OutOfcpu",
    "Node didn't have enough resource: cpu, requested: 1500, used: 0, capacity: 1000",
  ],
  [
    "an extended resource that is taken",
    podOf(asks({ "example.com/gpu": "1" })),
    [other(asks({ "example.com/gpu": "1" }))],
    "OutOfexample.com/gpu",
    "Node didn't have enough resource: example.com/gpu, requested: 1, used: 1, capacity: 1",
    { ...NODE, status: { allocatable: { ...NODE.status?.allocatable, "example.com/gpu": "1" } } },
  ],
  ["another label", podOf({ nodeSelector: { disk: "hdd" } }), [], "NodeAffinity", "Predicate NodeAffinity failed"],
  ["a term of nothing", podOf(terms()), [], "NodeAffinity", "Predicate NodeAffinity failed"],
  ["another node", podOf({ nodeName: "n2" }), [], "NodeName", "Predicate NodeName failed"],
  [
    "a taken port",
    podOf(port(80)),
    [other(port(80, { hostIP: "10.0.0.1" }))],
    "NodePorts",
    "Predicate NodePorts failed",
  ],
  ["a NoExecute taint", podOf({}), [], "TaintToleration", "Predicate TaintToleration failed", TAINTED],
  [
    "another operating system",
    podOf({ os: { name: "windows" } }),
    [],
    "PodOSNotSupported",
    "Failed to admit pod as the OS field doesn't match node OS",
  ],
  [
    "a label of another operating system",
    podOf({}, { labels: { "kubernetes.io/os": "windows" } }),
    [],
    "PodOSSelectorNodeLabelDoesNotMatch",
    "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
  ],
];
for (const [name, pod, others, reason, message, node = NODE] of refused) {
  test(`admission: ${name} is refused with ${reason}`, async () =>
    assert.deepEqual(await decide(pod, others, node), { admit: false, reason, message }));
}

test("admission: a device that the pod has counts, although its plugin has gone", async () => {
  const requests = { "example.com/gpu": "1" };
  const pod = podOf({ containers: [{ name: "c", resources: { requests, limits: requests } }] });
  const node = { ...NODE, status: { allocatable: { ...NODE.status?.allocatable, "example.com/gpu": "0" } } };
  const message = "Node didn't have enough resource: example.com/gpu, requested: 1, used: 0, capacity: 0";
  assert.deepEqual(await decide(pod, [], node), { admit: false, reason: "OutOfexample.com/gpu", message });
  const updatePluginResources = (_pod: V1Pod, allocatable: Map<string, number>) =>
    void allocatable.set("example.com/gpu", 1);
  const deps = { getNode: () => node, updatePluginResources };
  const handler = new PredicateAdmitHandler(deps, { os: "linux", kubeVersion: "1.25" });
  assert.deepEqual(await canAdmitPod([handler], [], pod), { admit: true });
});

test("admission: without a node every pod is refused", async () => {
  const getNode = () => Promise.reject(new Error("no node"));
  const handler = new PredicateAdmitHandler({ getNode }, { os: "linux", kubeVersion: "1.25" });
  const want = { admit: false, reason: "InvalidNodeInfo", message: "Kubelet cannot get node info." };
  assert.deepEqual(await handler.admit({ pod: podOf({}), otherPods: [] }), want);
});

function decide(pod: V1Pod, others: readonly V1Pod[], node: NodeObject) {
  const handler = new PredicateAdmitHandler({ getNode: () => node }, { os: "linux", kubeVersion: "1.25" });
  return canAdmitPod([handler], others, pod);
}
