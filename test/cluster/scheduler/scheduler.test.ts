import assert from "node:assert/strict";
import { hostname } from "node:os";
import { describe, test } from "vitest";
import type { KubeObject } from "../../../src/staging/apimachinery/api/meta.js";
import { notFound } from "../../../src/staging/apimachinery/errors.js";
import type { TraceEvent } from "../../../src/trace/events.js";
import { TraceGraph } from "../../../src/trace/graph/graph.js";
import { FakeRandom } from "../../support/fake-clock.js";
import { MISSING_RECORDINGS, recorded } from "../../support/recordings.js";
import { only } from "../../support/trace.js";
import { makeNode, makePod, requesting } from "./fixtures.js";
import { complete, Lab } from "./lab.js";

const NOT_READY = { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" } as const;

describe("against the recording of a real scheduler", () => {
  const items = recorded("pods");
  const bodyOf = (name: string) =>
    items.find((item) => item.name === `scheduling: ${name}`)?.response.body as KubeObject;

  test.skipIf(MISSING_RECORDINGS)(
    "no node, then one that is not ready, then ready: one failure, then bound",
    async () => {
      await using lab = await Lab.open();
      await lab.addPod(makePod("sched-1"));
      assert.deepEqual(shape(await lab.pod("sched-1")), shape(bodyOf("the condition the scheduler writes")));
      await lab.addNode(makeNode("pd-1", { spec: { taints: [NOT_READY] } }));
      await lab.pass(2_000);
      assert.deepEqual(shape(await lab.pod("sched-1")), shape(bodyOf("one node, not ready")));
      const failed = await lab.pod("sched-1");
      await lab.changeNode("pd-1", (node) => ({ ...node, spec: {} }));
      assert.deepEqual(shape(await lab.pod("sched-1")), shape(bodyOf("node ready, pod bound")));

      const [first, second, ...more] = await lab.events("sched-1");
      assert.deepEqual(more, []);
      const { uid } = failed.metadata;
      const events = (bodyOf("all events now") as unknown as { items: KubeObject[] }).items.slice(-2);
      for (const [i, event] of [first, second].entries()) {
        const want = { ...events[i] } as Record<string, unknown>;
        assert.deepEqual(eventShape(event), eventShape({ kind: "Event", apiVersion: "v1", ...want } as KubeObject));
        assert.equal((event?.["involvedObject"] as { uid?: string } | undefined)?.uid, uid);
        assert.match(String(event?.["eventTime"]), /\.\d{6}Z$/);
      }
      assert.equal(second?.["reportingInstance"], `default-scheduler-${hostname()}`);
      const about = second?.["involvedObject"] as { resourceVersion?: string };
      assert.equal(about.resourceVersion, failed.metadata.resourceVersion, "the pod as it was before it was bound");
    },
  );

  const refused = [
    ["too much cpu", "sched-big", requesting({ cpu: "99" })],
    ["selector", "sched-sel", { nodeSelector: { x: "y" } }],
    ["unknown schedulerName: nobody touches it", "sched-none", { schedulerName: "nobody" }],
  ] as const;
  for (const [item, name, spec] of refused) {
    test.skipIf(MISSING_RECORDINGS)(`one good node, ${item}`, async () => {
      await using lab = await Lab.open();
      await lab.addNode(makeNode("pd-1"));
      await lab.addPod(makePod(name, spec));
      const seen = await lab.pod(name);
      const want = (bodyOf(item) ?? bodyOf(`scheduling: ${item}`)) as KubeObject;
      assert.deepEqual(conditionsOf(seen), conditionsOf(want));
      assert.equal(seen.spec?.nodeName, undefined);
    });
  }

  function conditionsOf(pod: KubeObject) {
    const { conditions = [] } = pod["status"] as { conditions?: readonly object[] };
    return conditions.map((one) => ({ ...one, lastTransitionTime: "" }));
  }
  function shape(pod: KubeObject) {
    const { nodeName } = pod["spec"] as { nodeName?: string | null };
    const { phase } = pod["status"] as { phase: string };
    return { nodeName: nodeName ?? undefined, phase, conditions: conditionsOf(pod) };
  }
  function eventShape(event: KubeObject | undefined) {
    const { metadata: _metadata, eventTime: _time, reportingInstance: _host, ...rest } = { ...event } as KubeObject;
    const { uid: _uid, resourceVersion: _version, ...about } = rest["involvedObject"] as Record<string, unknown>;
    return { ...rest, involvedObject: about };
  }
});

describe("upstream's words", () => {
  test("nodes are grouped by reason, sorted as text", async () => {
    await using lab = await Lab.open();
    await lab.addNode(makeNode("n1", { spec: { unschedulable: true } }));
    await lab.addNode(
      makeNode("n2", { spec: { taints: [{ key: "node.kubernetes.io/unreachable", effect: "NoSchedule" }] } }),
    );
    await lab.addNode(makeNode("n3"));
    await lab.addNode(makeNode("n4"));
    await lab.addPod(makePod("p", requesting({ cpu: "3", memory: "5Gi" })));
    assert.equal(
      await lab.whyNot("p"),
      "0/4 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/unreachable: }, 1 node(s) were unschedulable, 2 Insufficient cpu, 2 Insufficient memory. preemption: 0/4 nodes are available: 2 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling.",
    );
  });

  test("since v1.34 the message of DynamicResources comes first, and preemption cannot help a pod that is too big", async () => {
    await using lab = await Lab.open({ kubeVersion: "1.34" });
    await lab.addNode(makeNode("n1"));
    await lab.addPod(makePod("p", requesting({ cpu: "3" })));
    assert.equal(
      await lab.whyNot("p"),
      "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
    );
  });

  test("contradicting required terms", async () => {
    await using lab = await Lab.open();
    for (const name of ["n1", "n2"]) await lab.addNode(makeNode(name));
    const named = (name: string) => ({ key: "metadata.name", operator: "In", values: [name] });
    const nodeSelectorTerms = [{ matchFields: [named("n1"), named("n2")] }];
    const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } };
    await lab.addPod(makePod("p", { affinity }));
    assert.match((await lab.whyNot("p")) ?? "", /^0\/2 nodes are available: 2 pod affinity terms conflict\. /);
  });

  test("a pod that is being deleted is skipped", async () => {
    await using lab = await Lab.open({
      prepare: async (client) => {
        const metadata = { name: "p", namespace: "default", finalizers: ["example.com/hold"] };
        await client.create("pods", "default", complete(makePod("p", {}, { metadata })));
        await client.delete("pods", "default", "p");
      },
    });
    const [event] = await lab.events("p");
    assert.equal(event?.["message"], "skip schedule deleting pod: default/p");
    await lab.addNode(makeNode("n1"));
    assert.equal(await lab.nodeOf("p"), undefined);
  });
});

const WAITS =
  "0/1 nodes are available: 1 node(s) didn't match pod affinity rules. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.";

describe("the choice of a node", () => {
  test("the emptiest node wins; the trace explains it", async () => {
    await using lab = await Lab.open();
    await lab.addNode(makeNode("n1"));
    await lab.addPod(makePod("first", requesting({ cpu: "1", memory: "2Gi" })));
    await lab.addNode(makeNode("n2"));
    await lab.addNode(makeNode("n3", { spec: { unschedulable: true } }));
    await lab.addPod(makePod("second", requesting({ cpu: "500m", memory: "1Gi" })));
    assert.deepEqual([await lab.nodeOf("first"), await lab.nodeOf("second")], ["n1", "n2"]);
    assert.deepEqual(lab.decisions(), [
      "default/first goes to n1: it is the only node that fits",
      "default/second goes to n2: scores of TaintToleration + NodeAffinity + NodeResourcesFit + PodTopologySpread + InterPodAffinity + NodeResourcesBalancedAllocation + ImageLocality: n2 300+0+75+0+0+100+0 = 475, n1 300+0+25+0+0+100+0 = 425; NodeUnschedulable filtered out n3: node(s) were unschedulable",
    ]);
    assert.ok(only(lab.facts, "decision").every(({ actor }) => actor === "scheduler"));
    const [first, second] = only(lab.facts, "decision").map(({ compared }) => compared);
    assert.deepEqual(first?.rows, [["n1", ""]]);
    assert.deepEqual(second?.rows, [
      ["n2", "", "300", "0", "75", "0", "0", "100", "0", "475"],
      ["n1", "", "300", "0", "25", "0", "0", "100", "0", "425"],
      ["n3", "NodeUnschedulable: node(s) were unschedulable"],
    ]);
    assert.match(second?.columns[1] ?? "", /^NodeUnschedulable NodeName TaintToleration /);
    assert.deepEqual(second?.columns.slice(2, 4), ["TaintToleration", "NodeAffinity"]);
  });

  test.each([
    { cpus: ["4", "4"], says: /; chance chose among the 2 best$/ },
    { cpus: ["4", "4", "1"], says: /; chance chose among the 2 best$/ },
    { cpus: ["4", "1"], says: /^(?!.*chance)/ },
  ])("the trace says when chance chose: nodes with $cpus CPUs", async ({ cpus, says }) => {
    await using lab = await Lab.open();
    for (const [i, cpu] of cpus.entries()) {
      await lab.addNode(makeNode(`n${i}`, { allocatable: { cpu, memory: "4Gi", pods: "10" } }));
    }
    await lab.addPod(makePod("p", requesting({ cpu: "500m" })));
    await lab.nodeOf("p");
    assert.match(lab.decisions().join("\n"), says);
  });

  test("the trace counts the nodes that were not checked, because the pod names its node", async () => {
    await using lab = await Lab.open();
    for (const name of ["n1", "n2", "n3"]) await lab.addNode(makeNode(name));
    const nodeSelectorTerms = [{ matchFields: [{ key: "metadata.name", operator: "In" as const, values: ["n2"] }] }];
    const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } };
    await lab.addPod(makePod("p", { affinity: { nodeAffinity } }));
    assert.equal(await lab.nodeOf("p"), "n2");
    assert.deepEqual(lab.decisions(), ["default/p goes to n2: it fits; nodes not checked: 2 of 3"]);
  });

  test("a preferred label outweighs free resources, and a PreferNoSchedule taint outweighs both", async () => {
    await using lab = await Lab.open();
    await lab.addNode(makeNode("ssd", { labels: { disk: "ssd" } }));
    await lab.addNode(makeNode("hdd"));
    await lab.addPod(
      makePod("filler", { ...requesting({ cpu: "1500m", memory: "3Gi" }), nodeSelector: { disk: "ssd" } }),
    );
    const preference = { matchExpressions: [{ key: "disk", operator: "In", values: ["ssd"] }] };
    const preferredDuringSchedulingIgnoredDuringExecution = [{ weight: 1, preference }];
    const affinity = { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution } };
    await lab.addPod(makePod("p", { affinity }));
    assert.equal(await lab.nodeOf("p"), "ssd");
    const taints = [{ key: "old", effect: "PreferNoSchedule" as const }];
    await lab.changeNode("ssd", (node) => ({ ...node, spec: { taints } }));
    await lab.addPod(makePod("q", { affinity }));
    assert.equal(await lab.nodeOf("q"), "hdd");
  });

  test("among equal nodes a random one is chosen, the same one with the same seed", async () => {
    const chosen = async (float: number) => {
      await using lab = await Lab.open({ random: new FakeRandom(float) });
      for (const name of ["n1", "n2", "n3"]) await lab.addNode(makeNode(name));
      await lab.addPod(makePod("p"));
      return lab.nodeOf("p");
    };
    assert.deepEqual([await chosen(0.5), await chosen(0.5), await chosen(0)], ["n1", "n1", "n3"]);
  });
});

describe("back into the queue", () => {
  test("a pod that must run beside another waits for it, in whatever namespace", async () => {
    await using lab = await Lab.open();
    await lab.addNode(makeNode("n1"));
    const term = { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { app: "db" } } };
    const podAffinity = { requiredDuringSchedulingIgnoredDuringExecution: [{ ...term, namespaceSelector: {} }] };
    await lab.addPod(makePod("web", { affinity: { podAffinity } }));
    assert.equal(await lab.whyNot("web"), WAITS);
    await lab.addPod(makePod("other", {}, { metadata: { name: "other", namespace: "default", labels: { app: "x" } } }));
    await lab.clock.advance(60_000);
    assert.equal(await lab.nodeOf("web"), undefined);
    await lab.addPod(makePod("db", {}, { metadata: { name: "db", namespace: "default", labels: { app: "db" } } }));
    assert.equal(await lab.nodeOf("web"), "n1");
  });

  test("a pod that did not fit is bound when another pod is deleted or has finished", async () => {
    for (const leave of ["delete", "end"] as const) {
      await using lab = await Lab.open();
      await lab.addNode(makeNode("n1"));
      await lab.addPod(makePod("a", requesting({ cpu: "2" })));
      await lab.addPod(makePod("b", requesting({ cpu: "1" })));
      await lab.pass(60_000);
      assert.match((await lab.whyNot("b")) ?? "", /Insufficient cpu/);
      if (leave === "delete") await lab.admin.delete("pods", "default", "a", { gracePeriodSeconds: 0 });
      else {
        const ended = (pod: KubeObject) => ({ ...pod, status: { phase: "Succeeded" } });
        await lab.admin.modify("pods", "default", "a", ended, "status");
      }
      await lab.pass();
      assert.equal(await lab.nodeOf("b"), "n1", leave);
    }
  });

  const changes = [
    ["uncordoned", { spec: { unschedulable: true } }, { spec: {} }, {}],
    ["untainted", { spec: { taints: [NOT_READY] } }, { spec: {} }, {}],
    ["labelled", {}, { labels: { disk: "ssd" } }, { nodeSelector: { disk: "ssd" } }],
    ["enlarged", {}, { allocatable: { cpu: "8", memory: "4Gi", pods: "110" } }, requesting({ cpu: "4" })],
  ] as const;
  for (const [name, before, after, spec] of changes) {
    test(`when the node is ${name}`, async () => {
      await using lab = await Lab.open();
      await lab.addNode(makeNode("n1", before));
      await lab.addPod(makePod("p", spec));
      await lab.pass(20_000);
      assert.equal(await lab.nodeOf("p"), undefined);
      const changed = makeNode("n1", after);
      await lab.changeNode("n1", (node) => ({
        ...node,
        metadata: { ...node.metadata, labels: changed.metadata.labels ?? {} },
        spec: changed.spec ?? {},
      }));
      if (name === "enlarged")
        await lab.changeNode("n1", (node) => ({ ...node, status: { ...node.status, ...changed.status } }), "status");
      assert.equal(await lab.nodeOf("p"), "n1");
    });
  }

  test("a retry waits for the back-off, and ignores heartbeats", async () => {
    await using lab = await Lab.open();
    await lab.addPod(makePod("p"));
    await lab.addNode(makeNode("n1"));
    assert.equal(await lab.nodeOf("p"), undefined);
    await lab.pass(1_000);
    assert.equal(await lab.nodeOf("p"), "n1");
    await lab.addPod(makePod("big", requesting({ cpu: "3" })));
    const attempts = lab.decisions().length;
    await lab.pass(20_000);
    const conditions = [{ type: "Ready", status: "True" as const, lastHeartbeatTime: "2026-01-01T00:00:40Z" }];
    await lab.changeNode("n1", (node) => ({ ...node, status: { ...node.status, conditions } }), "status");
    assert.equal(lab.decisions().length, attempts);
  });

  test("repeated failures are one event with a count, and one condition", async () => {
    await using lab = await Lab.open();
    await lab.addNode(makeNode("n1"));
    await lab.addPod(makePod("p", { nodeSelector: { x: "y" } }));
    const { resourceVersion } = (await lab.pod("p")).metadata;
    for (let i = 0; i < 3; i++) await lab.pass(300_000);
    assert.equal((await lab.pod("p")).metadata.resourceVersion, resourceVersion);
    const events = await lab.events("p");
    assert.deepEqual(
      events.map((event) => (event["series"] as { count?: number } | undefined)?.count),
      [undefined, 2],
    );
    await lab.pass(300_000);
    await lab.admin.delete("pods", "default", "p");
    await lab.pass(13 * 60_000);
    const [, last] = await lab.events("p");
    assert.deepEqual(
      (last?.["series"] as { count?: number } | undefined)?.count,
      4,
      "the last count is written when the series ends",
    );
  });

  test("gates hold a pod back without an event, until they are gone", async () => {
    await using lab = await Lab.open({ kubeVersion: "1.27" });
    await lab.addNode(makeNode("n1"));
    await lab.addPod(makePod("p", { schedulingGates: [{ name: "example.com/wait" }] }));
    assert.deepEqual([await lab.nodeOf("p"), await lab.events("p")], [undefined, []]);
    const ungated = (pod: KubeObject) => {
      const { schedulingGates: _gates, ...spec } = pod["spec"] as Record<string, unknown>;
      return { ...pod, spec };
    };
    await lab.admin.modify("pods", "default", "p", ungated);
    await lab.pass();
    assert.equal(await lab.nodeOf("p"), "n1");
  });
});

describe("when binding fails", () => {
  test("the pod is tried again after its back-off, and occupies no resources until then", async () => {
    let failures = 1;
    await using lab = await Lab.open({
      beforeBind() {
        if (failures-- > 0) throw notFound({ group: "", resource: "pods" }, "p");
      },
    });
    await lab.addNode(makeNode("n1"));
    await lab.addPod(makePod("p", requesting({ cpu: "2" })));
    const message = 'binding rejected: running Bind plugin "DefaultBinder": pods "p" not found';
    const condition = (await lab.pod("p")).status?.conditions?.[0];
    assert.deepEqual([condition?.reason, condition?.message], ["SchedulerError", message]);
    await lab.pass(1_000);
    assert.equal(await lab.nodeOf("p"), "n1");
    assert.deepEqual(
      (await lab.events("p")).map(({ reason }) => reason),
      ["FailedScheduling", "Scheduled"],
    );
  });

  test("a pod that is gone or bound by another client is not tried again", async () => {
    for (const meanwhile of ["gone", "bound"] as const) {
      const doIt: { now?: () => Promise<void> } = {};
      await using lab = await Lab.open({ beforeBind: () => doIt.now?.() });
      await lab.addNode(makeNode("n1"));
      await lab.addNode(makeNode("n2"));
      doIt.now = async () => {
        delete doIt.now;
        if (meanwhile === "gone") await lab.admin.delete("pods", "default", "p");
        else {
          const onOther = (pod: KubeObject) => ({ ...pod, spec: { ...(pod["spec"] as object), nodeName: "n2" } });
          await lab.admin.modify("pods", "default", "p", onOther, "binding");
        }
      };
      await lab.addPod(makePod("p", requesting({ cpu: "2" })));
      await lab.pass(60_000);
      assert.equal(lab.decisions().filter((one) => one.includes("default/p goes to")).length, 1, meanwhile);
      await lab.addPod(makePod("q", requesting({ cpu: "2" })));
      assert.equal(await lab.nodeOf("q"), "n1", "the assumed pod occupies no resources");
      assert.deepEqual(lab.errors(), []);
    }
  });
});

test("objects from before the start are taken into account", async () => {
  await using lab = await Lab.open({
    prepare: async (client) => {
      await client.create("nodes", undefined, makeNode("n1"));
      const pod = makePod("old", { nodeName: "n1", ...requesting({ cpu: "2" }) });
      await client.create("pods", "default", complete(pod));
    },
  });
  await lab.addPod(makePod("p", requesting({ cpu: "1" })));
  assert.match((await lab.whyNot("p")) ?? "", /Insufficient cpu/);
});

test("1,000 pods on 10 nodes: spread evenly, one attempt each", async () => {
  await using lab = await Lab.open();
  for (let i = 0; i < 10; i++) {
    const allocatable = { cpu: "32", memory: "64Gi", pods: "110" };
    await lab.admin.create("nodes", undefined, makeNode(`n${i}`, { allocatable }));
  }
  for (let i = 0; i < 1_000; i++) {
    await lab.admin.create("pods", "default", complete(makePod(`p${i}`, requesting({ cpu: "100m" }))));
  }
  const isBound = ({ spec }: KubeObject) => (spec as { nodeName?: string }).nodeName !== undefined;
  for (let i = 0; i < 1_000 && !(await lab.admin.list("pods")).every(isBound); i++) await lab.pass();
  const counts = new Map<string, number>();
  for (const { spec } of await lab.admin.list("pods")) {
    const { nodeName = "" } = spec as { nodeName?: string };
    counts.set(nodeName, (counts.get(nodeName) ?? 0) + 1);
  }
  assert.equal(counts.size, 10);
  // Scores are whole percentages: nodes that differ by a pod or two count as equal, as upstream.
  assert.ok(
    [...counts.values()].every((count) => Math.abs(count - 100) <= 5),
    JSON.stringify([...counts]),
  );
  assert.equal(only(lab.facts, "decision").length, 1_000);
});

test("the request that binds a pod carries the node: a picture knows it as soon as the Binding is sent", async () => {
  await using lab = await Lab.open();
  await lab.addNode(makeNode("n1"));
  await lab.addPod(makePod("p"));
  const [binding] = only(lab.facts, "request").filter(({ path }) => path.endsWith("/pods/p/binding"));
  assert.deepEqual(binding?.requestBody, {
    apiVersion: "v1",
    kind: "Binding",
    metadata: { namespace: "default", name: "p", uid: (await lab.pod("p")).metadata.uid },
    target: { kind: "Node", name: "n1" },
  });
});

describe("causes", () => {
  const chainTo = (lab: Lab, isEnd: (event: TraceEvent) => boolean) => {
    const graph = TraceGraph.of(lab.facts);
    const end = lab.facts.findLast(isEnd);
    assert(end !== undefined);
    return graph.chainOf(end).map((event) => `${event.actor} ${titleOf(event)}`);
  };
  const isStored = (event: TraceEvent) => event.kind === "state" && event.subject === "pods default/p";

  test("a pod is bound because it was created, and an event says so", async () => {
    await using lab = await Lab.open();
    await lab.addNode(makeNode("n1"));
    await lab.addPod(makePod("p"));
    const bound = [
      "apiserver pods default/p stored",
      "scheduler ADDED default/p",
      "scheduler default/p goes to n1",
      "scheduler request",
      "apiserver pods default/p stored",
    ];
    assert.deepEqual(chainTo(lab, isStored), bound);
    const isEvent = (event: TraceEvent) => event.kind === "state" && event.subject.startsWith("events default/p.");
    assert.deepEqual(chainTo(lab, isEvent).slice(0, 3), bound.slice(0, 3));
  });

  test("a pod that found no node is tried again because of the node", async () => {
    await using lab = await Lab.open();
    await lab.addPod(makePod("p"));
    await lab.pass(2_000);
    await lab.addNode(makeNode("n1"));
    await lab.pass();
    const chain = chainTo(lab, isStored);
    assert.deepEqual(chain, [
      "apiserver nodes n1 stored",
      "scheduler ADDED n1",
      "scheduler default/p goes to n1",
      "scheduler request",
      "apiserver pods default/p stored",
    ]);
    const pods = only(lab.facts, "decision").map(({ pod }) => pod);
    assert.deepEqual(new Set(pods), new Set(["default/p"]));
  });
});

function titleOf(event: TraceEvent): string {
  if (event.kind === "state") return `${event.subject} ${event.what}`;
  if (event.kind === "watch") return `${event.type} ${event.object}`;
  return event.kind === "decision" ? event.what : event.kind;
}
