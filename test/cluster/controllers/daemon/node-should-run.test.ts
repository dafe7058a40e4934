import { describe, expect, test } from "vitest";
import { nodeShouldRunDaemonPod } from "../../../../src/cluster/controllers/daemon/node-should-run.js";
import {
  createPodTemplate,
  type DaemonSet,
  daemonPodTolerations,
  surgeCount,
  targetNodeName,
  unavailableCount,
} from "../../../../src/cluster/controllers/daemon/util/daemonset-util.js";
import type { NodeObject } from "../../../../src/staging/apimachinery/api/node.js";
import type { PodObject } from "../../../../src/staging/apimachinery/api/objects.js";

const NODE = "node.kubernetes.io";

function daemonSet(podSpec: object = {}, spec: object = {}, annotations: object = {}): DaemonSet {
  const template = { metadata: { labels: { app: "agent" } }, spec: { containers: [{ name: "app" }], ...podSpec } };
  return {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name: "agent", annotations },
    spec: { selector: {}, template, ...spec },
  } as DaemonSet;
}

function node(labels: object = {}, taints: readonly string[] = [], spec: object = {}): NodeObject {
  const parsed = taints.map((text) => {
    const [key, effect] = text.split(":");
    return { key, effect };
  });
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "n1", labels },
    spec: { taints: parsed, ...spec },
  } as NodeObject;
}

const required = (...nodeSelectorTerms: readonly object[]) => ({
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
});
const inZone = (...values: readonly string[]) =>
  required({ matchExpressions: [{ key: "zone", operator: "In", values }] });
const tolerates = (key: string, effect = "") => ({ tolerations: [{ key, operator: "Exists", effect }] });

describe("nodeShouldRunDaemonPod", () => {
  const table: readonly (readonly [title: string, podSpec: object, node: NodeObject, want: string])[] = [
    ["a plain template runs everywhere", {}, node(), "run"],
    ["the template names this node", { nodeName: "n1" }, node(), "run"],
    ["the template names another node", { nodeName: "n2" }, node(), "no: the template names node n2"],
    ["the node selector matches", { nodeSelector: { disk: "ssd" } }, node({ disk: "ssd" }), "run"],
    [
      "the node selector does not match",
      { nodeSelector: { disk: "ssd" } },
      node({ disk: "hdd" }),
      "no: it does not match",
    ],
    [
      "name and selector: both count",
      { nodeName: "n1", nodeSelector: { disk: "ssd" } },
      node(),
      "no: it does not match",
    ],
    ["the affinity matches", inZone("a", "b"), node({ zone: "b" }), "run"],
    ["the affinity does not match", inZone("a"), node({ zone: "b" }), "no: it does not match"],
    ["an affinity without terms matches nothing", required(), node(), "no: it does not match"],
    [
      "an affinity to the node's name",
      required({ matchFields: [{ key: "metadata.name", operator: "In", values: ["n1"] }] }),
      node(),
      "run",
    ],
    [
      "a preference does not count",
      {
        affinity: {
          nodeAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [
              { weight: 1, preference: { matchExpressions: [{ key: "zone", operator: "Exists" }] } },
            ],
          },
        },
      },
      node(),
      "run",
    ],
    ["NoSchedule keeps new pods away", {}, node({}, ["db:NoSchedule"]), "stay: it has the taint db:NoSchedule"],
    ["NoExecute ends pods", {}, node({}, ["db:NoExecute"]), "no: it has the taint db:NoExecute"],
    ["of both, NoExecute counts", {}, node({}, ["a:NoSchedule", "b:NoExecute"]), "no: it has the taint b:NoExecute"],
    ["PreferNoSchedule does not count", {}, node({}, ["db:PreferNoSchedule"]), "run"],
    ["a toleration of the template counts", tolerates("db"), node({}, ["db:NoExecute"]), "run"],
    [
      "a toleration of another effect does not",
      tolerates("db", "NoSchedule"),
      node({}, ["db:NoExecute"]),
      "no: it has the taint",
    ],
    ["a node that is not ready", {}, node({}, [`${NODE}/not-ready:NoExecute`]), "run"],
    [
      "a node that is not ready, before its first report",
      {},
      node({}, [`${NODE}/not-ready:NoSchedule`]),
      "stay: it has the taint",
    ],
    ["an unreachable node", {}, node({}, [`${NODE}/unreachable:NoExecute`]), "run"],
    ["a cordoned node", {}, node({}, [`${NODE}/unschedulable:NoSchedule`], { unschedulable: true }), "run"],
    ["a node under memory pressure", {}, node({}, [`${NODE}/memory-pressure:NoSchedule`]), "run"],
    ["a node under disk pressure", {}, node({}, [`${NODE}/disk-pressure:NoSchedule`]), "run"],
    ["a node under PID pressure", {}, node({}, [`${NODE}/pid-pressure:NoSchedule`]), "run"],
    ["a node without a network", {}, node({}, [`${NODE}/network-unavailable:NoSchedule`]), "stay: it has the taint"],
    [
      "a node without a network, for host network",
      { hostNetwork: true },
      node({}, [`${NODE}/network-unavailable:NoSchedule`]),
      "run",
    ],
    [
      "resources are the scheduler's",
      { containers: [{ name: "app", resources: { requests: { cpu: "900" } } }] },
      node(),
      "run",
    ],
  ];

  test.each(table)("%s", (_title, podSpec, one, want) => {
    const { shouldRun, shouldContinueRunning, why } = nodeShouldRunDaemonPod(daemonSet(podSpec), one);
    const verdict = shouldRun ? "run" : `${shouldContinueRunning ? "stay" : "no"}: ${why}`;
    expect(verdict.slice(0, want.length)).toBe(want);
  });
});

describe("the template of a node's pod", () => {
  const affinityOf = (podSpec: object) => createPodTemplate(daemonSet(podSpec), "abc", "n1").spec?.affinity;
  const named = { nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: ["n1"] }] }] };

  test("requires the node by its name in place of what the template requires, and keeps the rest", () => {
    const only = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: named } };
    expect(affinityOf({})).toEqual(only);
    expect(affinityOf(inZone("a"))).toEqual(only);
    const preferredDuringSchedulingIgnoredDuringExecution = [{ weight: 1, preference: {} }];
    const nodeAffinity = { preferredDuringSchedulingIgnoredDuringExecution };
    expect(affinityOf({ affinity: { nodeAffinity, podAntiAffinity: {} } })).toEqual({
      nodeAffinity: { ...nodeAffinity, requiredDuringSchedulingIgnoredDuringExecution: named },
      podAntiAffinity: {},
    });
  });

  test("has the hash of its revision, and the generation of the template if that is a number", () => {
    const labelsOf = (generation: string) => {
      const set = daemonSet({}, {}, { "deprecated.daemonset.template.generation": generation });
      return createPodTemplate(set, "abc", "n1").metadata?.labels;
    };
    const labels = { app: "agent", "controller-revision-hash": "abc" };
    expect(labelsOf("3")).toEqual({ ...labels, "pod-template-generation": "3" });
    expect(labelsOf("x")).toEqual(labels);
  });

  test("tolerates for ever what the template tolerates for a time, and each taint once", () => {
    const brief = { key: `${NODE}/unreachable`, operator: "Exists", effect: "NoExecute", tolerationSeconds: 9 };
    const { tolerationSeconds: _, ...always } = brief;
    const tolerations = daemonPodTolerations({
      containers: [],
      tolerations: [brief, { key: "db", operator: "Exists" }],
    });
    expect(tolerations.slice(0, 2)).toEqual([always, { key: "db", operator: "Exists" }]);
    expect(tolerations).toHaveLength(7);
  });
});

describe("targetNodeName", () => {
  const field = (...values: readonly string[]) =>
    required({ matchFields: [{ key: "metadata.name", operator: "In", values }] });
  test.each([
    ["the node that it is bound to", { nodeName: "n1", ...field("n2") }, "n1"],
    ["the node of its affinity", field("n2"), "n2"],
    ["none of several", field("n1", "n2"), undefined],
    ["none without an affinity", {}, undefined],
    [
      "none for other fields",
      required({ matchFields: [{ key: "metadata.name", operator: "NotIn", values: ["n1"] }] }),
      undefined,
    ],
  ])("%s", (_title, spec, want) => {
    expect(targetNodeName({ spec } as PodObject)).toBe(want);
  });
});

describe("limits of an update", () => {
  const rolling = (rollingUpdate: object) => ({ updateStrategy: { type: "RollingUpdate", rollingUpdate } });
  test.each([
    ["numbers", rolling({ maxUnavailable: 2, maxSurge: 3 }), [2, 3]],
    ["percentages are rounded up", rolling({ maxUnavailable: "21%", maxSurge: "1%" }), [3, 1]],
    ["absent ones are 0", rolling({}), [0, 0]],
    ["OnDelete has none", { updateStrategy: { type: "OnDelete" } }, [0, 0]],
  ])("%s", (_title, spec, want) => {
    const set = daemonSet({}, spec);
    expect([unavailableCount(set, 10), surgeCount(set, 10)]).toEqual(want);
  });
});
