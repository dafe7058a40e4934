import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { BALANCED_ALLOCATION } from "../../../src/cluster/scheduler/plugins/balanced-allocation.js";
import { NODE_AFFINITY } from "../../../src/cluster/scheduler/plugins/node-affinity.js";
import { nodeResourcesFit } from "../../../src/cluster/scheduler/plugins/node-resources-fit.js";
import { TAINT_TOLERATION } from "../../../src/cluster/scheduler/plugins/taint-toleration.js";
import { numFeasibleNodesToFind } from "../../../src/cluster/scheduler/schedule-pod.js";
import type { V1Container } from "../../../src/staging/apimachinery/api/pod.js";
import { podRequests } from "../../../src/staging/apimachinery/corev1/pod-requests.js";
import { infoOf, makeNode, makePod, nodeInfo, requesting } from "./fixtures.js";

const FIT = nodeResourcesFit({ tooBigIsUnresolvable: false });
const HALF = { cpu: "1", memory: "2Gi" };

describe("LeastAllocated", () => {
  // An empty node of 2 cpu and 4Gi (4096Mi); a container without requests counts as 100m and 200Mi.
  const table: readonly (readonly [string, Readonly<Record<string, string>>, number])[] = [
    ["half of each", HALF, 50],
    ["all of it", { cpu: "2", memory: "4Gi" }, 0],
    ["half of cpu, nothing else: (50 + 95) / 2", { cpu: "1" }, 72],
    ["nothing: (95 + 95) / 2", {}, 95],
    ["more than there is: (0 + 50) / 2", { cpu: "3", memory: "2Gi" }, 25],
  ];
  for (const [name, requests, want] of table) {
    test(`${name} gives ${want}`, () =>
      assert.equal(FIT.score(infoOf(makePod("p", requesting(requests))), nodeInfo(makeNode("n1"))), want));
  }

  test("existing pods count", () => {
    const node = nodeInfo(makeNode("n1"), makePod("a", requesting(HALF)));
    assert.equal(FIT.score(infoOf(makePod("p", requesting({ cpu: "500m", memory: "1Gi" }))), node), 25);
  });
});

test("BalancedAllocation: the closer the used shares of cpu and memory, the better", () => {
  const score = (requests: Readonly<Record<string, string>>) =>
    BALANCED_ALLOCATION.score(infoOf(makePod("p", requesting(requests))), nodeInfo(makeNode("n1")));
  assert.deepEqual([score(HALF), score({ cpu: "2" }), score({ cpu: "1" }), score({})], [100, 50, 75, 100]);
});

test("TaintToleration: fewer PreferNoSchedule taints that are not tolerated are better", () => {
  const nodes = [0, 1, 2].map((count) => {
    const taints = [..."ab"].slice(0, count).map((key) => ({ key, effect: "PreferNoSchedule" as const }));
    return nodeInfo(makeNode("n1", { spec: { taints } }));
  });
  const scores = (spec: Parameters<typeof makePod>[1]) => {
    const pod = infoOf(makePod("p", spec));
    return TAINT_TOLERATION.normalize?.(nodes.map((node) => TAINT_TOLERATION.score(pod, node)));
  };
  assert.deepEqual(scores({}), [100, 50, 0]);
  assert.deepEqual(scores({ tolerations: [{ key: "a", operator: "Exists" }] }), [100, 100, 0]);
  assert.deepEqual(scores({ tolerations: [{ operator: "Exists" }] }), [100, 100, 100]);
  const other = { key: "a", operator: "Exists", effect: "NoSchedule" } as const;
  assert.deepEqual(scores({ tolerations: [other] }), [100, 50, 0]);
});

test("NodeAffinity: weights of the preferred terms that match, scaled to 100", () => {
  const preferred = (weight: number, value: string) => ({
    weight,
    preference: { matchExpressions: [{ key: "zone", operator: "In", values: value.split("|") }] },
  });
  const nodeAffinity = {
    preferredDuringSchedulingIgnoredDuringExecution: [
      preferred(20, "a"),
      preferred(20, "a|b"),
      { weight: 90, preference: {} },
    ],
  };
  const pod = infoOf(makePod("p", { affinity: { nodeAffinity } }));
  const nodes = ["a", "b", "c"].map((zone) => nodeInfo(makeNode(zone, { labels: { zone } })));
  const scores = nodes.map((node) => NODE_AFFINITY.score(pod, node));
  assert.deepEqual(scores, [40, 20, 0]);
  assert.deepEqual(NODE_AFFINITY.normalize?.(scores), [100, 50, 0]);
  assert.deepEqual(NODE_AFFINITY.normalize?.([0, 0]), [0, 0]);
});

describe("the resources that a pod requests", () => {
  const c = (cpu: string, more: Partial<V1Container> = {}): V1Container => ({
    name: "c",
    resources: { requests: { cpu } },
    ...more,
  });
  const sidecar = { restartPolicy: "Always" };
  const table: readonly (readonly [string, Parameters<typeof makePod>[1], number])[] = [
    ["containers add up", { containers: [c("100m"), c("200m")] }, 300],
    ["the greatest init container", { containers: [c("100m")], initContainers: [c("250m"), c("400m")] }, 400],
    ["a smaller init container", { containers: [c("500m")], initContainers: [c("400m")] }, 500],
    ["overhead on top", { containers: [c("100m")], initContainers: [c("300m")], overhead: { cpu: "50m" } }, 350],
    ["a sidecar stays", { containers: [c("100m")], initContainers: [c("200m", sidecar)] }, 300],
    ["init container with a sidecar", { containers: [c("1m")], initContainers: [c("200m", sidecar), c("300m")] }, 500],
    [
      "init container before a sidecar",
      { containers: [c("100m")], initContainers: [c("300m"), c("200m", sidecar)] },
      300,
    ],
    ["fractions of a thousandth are rounded up", { containers: [c("0.0001")] }, 1],
  ];
  for (const [name, spec, want] of table) {
    test(`${name}: ${want}m`, () =>
      assert.equal(podRequests(makePod("p", spec).spec, { sidecars: true }).get("cpu"), want));
  }

  test("before v1.29 a sidecar counts as an ordinary init container", () => {
    const pod = makePod("p", { containers: [c("100m")], initContainers: [c("200m", sidecar)] });
    assert.equal(podRequests(pod.spec, { sidecars: false }).get("cpu"), 200);
  });
});

test("in a large cluster only some nodes are checked", () => {
  assert.deepEqual([1, 99, 100, 500, 5000, 10_000].map(numFeasibleNodesToFind), [1, 99, 100, 230, 500, 500]);
});
