import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { SchedulablePod } from "../../../src/cluster/scheduler/objects.js";
import { NODE_AFFINITY } from "../../../src/cluster/scheduler/plugins/node-affinity.js";
import { NODE_NAME } from "../../../src/cluster/scheduler/plugins/node-name.js";
import { NODE_PORTS } from "../../../src/cluster/scheduler/plugins/node-ports.js";
import { nodeResourcesFit } from "../../../src/cluster/scheduler/plugins/node-resources-fit.js";
import { NODE_UNSCHEDULABLE } from "../../../src/cluster/scheduler/plugins/node-unschedulable.js";
import { TAINT_TOLERATION } from "../../../src/cluster/scheduler/plugins/taint-toleration.js";
import type { NodeSelectorRequirement } from "../../../src/staging/apimachinery/corev1/node-affinity.js";
import { infoOf, makeNode, makePod, nodeInfo, requesting } from "./fixtures.js";

const FIT = nodeResourcesFit({ tooBigIsUnresolvable: false });

type Tolerations = NonNullable<NonNullable<SchedulablePod["spec"]>["tolerations"]>;

describe("NodeUnschedulable", () => {
  const key = "node.kubernetes.io/unschedulable";
  const table: readonly (readonly [boolean | undefined, Tolerations, string])[] = [
    [undefined, [], ""],
    [false, [], ""],
    [true, [], "node(s) were unschedulable"],
    [true, [{ key, operator: "Exists" }], ""],
    [true, [{ key, operator: "Exists", effect: "NoSchedule" }], ""],
    [true, [{ key, operator: "Exists", effect: "NoExecute" }], "node(s) were unschedulable"],
    [true, [{ operator: "Exists" }], ""],
  ];
  for (const [unschedulable, tolerations, want] of table) {
    test(`unschedulable ${unschedulable}, tolerations ${JSON.stringify(tolerations)}: [${want}]`, () => {
      const node = nodeInfo(makeNode("n1", { spec: unschedulable === undefined ? {} : { unschedulable } }));
      const rejection = NODE_UNSCHEDULABLE.filter(infoOf(makePod("p", { tolerations })), node);
      assert.equal(rejection?.reasons.join() ?? "", want);
      if (rejection !== undefined) assert.equal(rejection.code, "UnschedulableAndUnresolvable");
    });
  }
});

test("NodeName: a pod that names a node runs only there", () => {
  const reasons = (nodeName: string) =>
    NODE_NAME.filter(infoOf(makePod("p", { nodeName })), nodeInfo(makeNode("n1")))?.reasons;
  assert.deepEqual(
    [reasons(""), reasons("n1"), reasons("n2")],
    [undefined, undefined, ["node(s) didn't match the requested node name"]],
  );
});

describe("TaintToleration", () => {
  const UNREACHABLE = "node.kubernetes.io/unreachable";
  const table: readonly (readonly [string, Tolerations, string])[] = [
    ["", [], ""],
    [`${UNREACHABLE}:NoSchedule`, [], `node(s) had untolerated taint {${UNREACHABLE}: }`],
    ["k=v:NoSchedule", [], "node(s) had untolerated taint {k: v}"],
    ["k=v:NoExecute", [], "node(s) had untolerated taint {k: v}"],
    ["k=v:PreferNoSchedule", [], ""],
    ["k=v:NoSchedule", [{ key: "k", operator: "Equal", value: "v" }], ""],
    ["k=v:NoSchedule", [{ key: "k", value: "v" }], ""],
    ["k=v:NoSchedule", [{ key: "k", operator: "Equal", value: "w" }], "node(s) had untolerated taint {k: v}"],
    ["k=v:NoSchedule", [{ key: "k", operator: "Exists" }], ""],
    ["k=v:NoSchedule", [{ key: "k", operator: "Exists", effect: "NoExecute" }], "node(s) had untolerated taint {k: v}"],
    ["k=v:NoSchedule", [{ operator: "Exists" }], ""],
    ["a=1:NoSchedule b=2:NoSchedule", [{ key: "a", operator: "Exists" }], "node(s) had untolerated taint {b: 2}"],
    ["a=1:NoSchedule b=2:NoSchedule", [], "node(s) had untolerated taint {a: 1}"],
  ];
  for (const [taints, tolerations, want] of table) {
    test(`[${taints}] with ${JSON.stringify(tolerations)}: [${want}]`, () => {
      const node = nodeInfo(makeNode("n1", { spec: { taints: taints.split(" ").filter(Boolean).map(taint) } }));
      const rejection = TAINT_TOLERATION.filter(infoOf(makePod("p", { tolerations })), node);
      assert.equal(rejection?.reasons.join() ?? "", want);
      if (rejection !== undefined) assert.equal(rejection.code, "UnschedulableAndUnresolvable");
    });
  }
});

function taint(text: string) {
  const [pair = "", effect = ""] = text.split(":");
  const [key = "", value] = pair.split("=");
  return { key, ...(value === undefined ? {} : { value }), effect };
}

describe("NodeAffinity", () => {
  const LABELS = { zone: "a", cores: "8", empty: "" };
  const node = nodeInfo(makeNode("n1", { labels: LABELS }));
  const NO = "node(s) didn't match Pod's node affinity/selector";

  const selectors: readonly (readonly [Readonly<Record<string, string>>, string])[] = [
    [{}, ""],
    [{ zone: "a" }, ""],
    [{ zone: "b" }, NO],
    [{ zone: "a", cores: "8" }, ""],
    [{ zone: "a", cores: "4" }, NO],
    [{ missing: "x" }, NO],
    [{ empty: "" }, ""],
    [{ constructor: "x" }, NO],
  ];
  for (const [nodeSelector, want] of selectors) {
    test(`nodeSelector ${JSON.stringify(nodeSelector)}: [${want}]`, () => {
      const rejection = NODE_AFFINITY.filter(infoOf(makePod("p", { nodeSelector })), node);
      assert.equal(rejection?.reasons.join() ?? "", want);
    });
  }

  const operators: readonly (readonly [string, string, readonly string[] | undefined, boolean])[] = [
    ["zone", "In", ["a", "b"], true],
    ["zone", "In", ["b"], false],
    ["zone", "In", [], false],
    ["missing", "In", ["a"], false],
    ["zone", "NotIn", ["b"], true],
    ["zone", "NotIn", ["a"], false],
    ["missing", "NotIn", ["a"], true],
    ["zone", "Exists", undefined, true],
    ["empty", "Exists", undefined, true],
    ["missing", "Exists", undefined, false],
    ["zone", "DoesNotExist", undefined, false],
    ["missing", "DoesNotExist", undefined, true],
    ["cores", "Gt", ["7"], true],
    ["cores", "Gt", ["8"], false],
    ["cores", "Gt", ["seven"], false],
    ["cores", "Lt", ["9"], true],
    ["cores", "Lt", ["8"], false],
    ["cores", "Lt", ["9", "10"], false],
    ["zone", "Lt", ["9"], false],
    ["missing", "Gt", ["0"], false],
    ["zone", "Like", ["a"], false],
  ];
  for (const [key, operator, values, isMatch] of operators) {
    test(`${key} ${operator} ${values?.join(",") ?? ""}: ${isMatch}`, () => {
      const requirement = { key, operator, ...(values === undefined ? {} : { values }) };
      assert.equal(rejectedBy([{ matchExpressions: [requirement] }]), isMatch ? "" : NO);
    });
  }

  const zoneA: NodeSelectorRequirement = { key: "zone", operator: "In", values: ["a"] };
  const zoneB: NodeSelectorRequirement = { key: "zone", operator: "In", values: ["b"] };
  const named = (name: string, operator = "In") => ({ key: "metadata.name", operator, values: [name] });
  const terms = [
    ["no term", [], NO],
    ["an empty term", [{}], NO],
    ["terms are alternatives", [{ matchExpressions: [zoneB] }, { matchExpressions: [zoneA] }], ""],
    ["expressions of a term must all match", [{ matchExpressions: [zoneA, zoneB] }], NO],
    ["the node's name", [{ matchFields: [named("n1")] }], ""],
    ["another node's name", [{ matchFields: [named("n2")] }], NO],
    ["not another node's name", [{ matchFields: [named("n2", "NotIn")] }], ""],
    ["an unknown field", [{ matchFields: [{ ...named("n1"), key: "metadata.uid" }] }], NO],
    ["name and label", [{ matchFields: [named("n1")], matchExpressions: [zoneB] }], NO],
  ] as const;
  for (const [name, nodeSelectorTerms, want] of terms) {
    test(`required terms: ${name}: [${want}]`, () => assert.equal(rejectedBy(nodeSelectorTerms), want));
  }

  function rejectedBy(nodeSelectorTerms: readonly object[]): string {
    const required = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } };
    const pod = makePod("p", { affinity: { nodeAffinity: required } });
    return NODE_AFFINITY.filter(infoOf(pod), node)?.reasons.join() ?? "";
  }

  test("selector and affinity must both match", () => {
    const required = { nodeSelectorTerms: [{ matchExpressions: [zoneA] }] };
    const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } };
    const pod = makePod("p", { nodeSelector: { zone: "b" }, affinity });
    assert.deepEqual(NODE_AFFINITY.filter(infoOf(pod), node)?.reasons, [NO]);
  });

  const preFilters = [
    ["no name: all nodes", [{ matchExpressions: [zoneA] }], undefined],
    ["one name in each term", [{ matchFields: [named("n1")] }, { matchFields: [named("n2")] }], "n1,n2"],
    ["a term without a name: all nodes", [{ matchFields: [named("n1")] }, { matchExpressions: [zoneA] }], undefined],
    ["names that exclude each other", [{ matchFields: [named("n1"), named("n2")] }], "pod affinity terms conflict"],
  ] as const;
  for (const [name, nodeSelectorTerms, want] of preFilters) {
    test(`PreFilter: ${name}`, () => {
      const required = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } };
      const result = NODE_AFFINITY.preFilter?.(infoOf(makePod("p", { affinity: { nodeAffinity: required } })));
      const seen =
        result === undefined
          ? undefined
          : "rejection" in result
            ? result.rejection.reasons.join()
            : [...result.nodeNames].join();
      assert.equal(seen, want);
    });
  }
});

describe("NodePorts", () => {
  const NO = "node(s) didn't have free ports for the requested pod ports";
  const table = [
    ["", "TCP 0.0.0.0 80", ""],
    ["TCP 0.0.0.0 80", "", ""],
    ["TCP 0.0.0.0 80", "TCP 0.0.0.0 80", NO],
    ["TCP 0.0.0.0 80", "UDP 0.0.0.0 80", ""],
    ["TCP 0.0.0.0 80", "TCP 0.0.0.0 81", ""],
    ["TCP 127.0.0.1 80", "TCP 127.0.0.2 80", ""],
    ["TCP 127.0.0.1 80", "TCP 127.0.0.1 80", NO],
    ["TCP 127.0.0.1 80", "TCP 0.0.0.0 80", NO],
    ["TCP  80", "TCP 127.0.0.1 80", NO],
  ] as const;
  const withPort = (text: string) => {
    const [protocol = "", hostIP = "", port = ""] = text.split(" ");
    const ports =
      text === ""
        ? []
        : [{ protocol, containerPort: 80, hostPort: Number(port), ...(hostIP === "" ? {} : { hostIP }) }];
    return makePod(`p-${text}`, { containers: [{ name: "app", ports }] });
  };
  for (const [taken, wanted, want] of table) {
    test(`[${taken}] in use, [${wanted}] requested: [${want}]`, () => {
      const node = nodeInfo(makeNode("n1"), withPort(taken));
      const rejection = NODE_PORTS.filter(infoOf(withPort(wanted)), node);
      assert.equal(rejection?.reasons.join() ?? "", want);
      if (rejection !== undefined) assert.equal(rejection.code, "Unschedulable");
    });
  }

  test("a port is free again when the last pod with it is gone", () => {
    const node = nodeInfo(makeNode("n1"));
    const [a, b] = [infoOf({ ...withPort("TCP 127.0.0.1 80") }), infoOf(makePod("other", {}))];
    node.addPod(a);
    node.addPod(b);
    node.removePod(a.key);
    assert.equal(NODE_PORTS.filter(infoOf(withPort("TCP 0.0.0.0 80")), node), undefined);
  });
});

describe("NodeResourcesFit", () => {
  // The node has 2 cpu, 4Gi, 10Gi of storage, 110 pods; 500m and 1Gi are in use.
  const taken = makePod("taken", requesting({ cpu: "500m", memory: "1Gi" }));
  const table: readonly (readonly [Readonly<Record<string, string>>, string])[] = [
    [{}, ""],
    [{ cpu: "1500m" }, ""],
    [{ cpu: "1.5" }, ""],
    [{ cpu: "1501m" }, "Insufficient cpu"],
    [{ memory: "3Gi" }, ""],
    [{ memory: "3221225473" }, "Insufficient memory"],
    [{ cpu: "2", memory: "4Gi" }, "Insufficient cpu,Insufficient memory"],
    [{ "ephemeral-storage": "11Gi" }, "Insufficient ephemeral-storage"],
    [{ "example.com/gpu": "1" }, "Insufficient example.com/gpu"],
    [{ "hugepages-2Mi": "4Mi" }, "Insufficient hugepages-2Mi"],
    [{ cpu: "0" }, ""],
  ];
  for (const [requests, want] of table) {
    test(`${JSON.stringify(requests)} on a node with 1500m and 3Gi left: [${want}]`, () => {
      const rejection = FIT.filter(infoOf(makePod("p", requesting(requests))), nodeInfo(makeNode("n1"), taken));
      assert.equal(rejection?.reasons.join() ?? "", want);
      if (rejection !== undefined) assert.equal(rejection.code, "Unschedulable");
    });
  }

  test("extended resources are counted", () => {
    const allocatable = { cpu: "2", memory: "4Gi", pods: "10", "example.com/gpu": "2" };
    const gpu = (name: string) => makePod(name, requesting({ "example.com/gpu": "1" }));
    const [one, two] = [1, 2].map((count) =>
      FIT.filter(infoOf(gpu("p")), nodeInfo(makeNode("n1", { allocatable }), ...["a", "b"].slice(0, count).map(gpu))),
    );
    assert.deepEqual([one?.reasons, two?.reasons], [undefined, ["Insufficient example.com/gpu"]]);
  });

  test("a node accepts a limited number of pods, whatever they request", () => {
    const node = nodeInfo(makeNode("n1", { allocatable: { cpu: "2", memory: "4Gi", pods: "1" } }), makePod("a"));
    assert.deepEqual(FIT.filter(infoOf(makePod("b")), node)?.reasons, ["Too many pods"]);
    node.removePod("default/a");
    assert.equal(FIT.filter(infoOf(makePod("b")), node), undefined);
  });

  test("since v1.34, a request above the node's total cannot be helped by preemption", () => {
    const since34 = nodeResourcesFit({ tooBigIsUnresolvable: true });
    const code = (cpu: string) =>
      since34.filter(infoOf(makePod("p", requesting({ cpu }))), nodeInfo(makeNode("n1"), taken))?.code;
    assert.deepEqual([code("1"), code("2"), code("3")], [undefined, "Unschedulable", "UnschedulableAndUnresolvable"]);
  });
});
