import assert from "node:assert/strict";
import { test } from "vitest";
import type { SchedulablePod } from "../../../src/cluster/scheduler/objects.js";
import type { KubeObject } from "../../../src/staging/apimachinery/api/meta.js";
import { only } from "../../support/trace.js";
import { makeNode, makePod, requesting } from "./fixtures.js";
import { Lab } from "./lab.js";

const FULL = requesting({ cpu: "2" });

function important(name: string, priority: number, cpu = "2", more: object = {}): SchedulablePod {
  return makePod(name, { ...requesting({ cpu }), priority, ...more });
}

async function nominationOf(lab: Lab, name: string): Promise<unknown> {
  return (await lab.pod(name)).status?.["nominatedNodeName"];
}

/** The requests of the scheduler that change a pod's status. */
function statusWrites(lab: Lab): readonly string[] {
  const requests = only(lab.facts, "request").filter(({ path }) => path.endsWith("/status"));
  return requests.map(({ method, path, status }) => `${method} ${path} ${status}`);
}

/** The pods that are being deleted. */
async function leaving(lab: Lab, ...names: string[]): Promise<string> {
  const pods = await Promise.all(names.map((name) => lab.pod(name)));
  return pods
    .filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
    .map(({ metadata }) => metadata.name)
    .join(" ");
}

test("pods of lower priority are deleted with an event each, and the node is reserved for the preemptor", async () => {
  await using lab = await Lab.open();
  await lab.addNode(makeNode("n1"));
  await lab.addPod(makePod("low", FULL));
  await lab.addPod(important("high", 1_000));
  assert.equal(await leaving(lab, "low"), "low");
  assert.equal(await nominationOf(lab, "high"), "n1");
  assert.equal(await lab.whyNot("high"), "0/1 nodes are available: 1 Insufficient cpu.");
  assert.deepEqual(statusWrites(lab), ["PATCH /api/v1/namespaces/default/pods/high/status 200"]);
  const [preempted] = (await lab.events("low")).filter(({ reason }) => reason === "Preempted");
  assert.deepEqual(
    [preempted?.["message"], preempted?.["action"], preempted?.["type"]],
    ["Preempted by default/high on node n1", "Preempting", "Normal"],
  );
  assert.equal((preempted?.["related"] as { name?: string } | undefined)?.name, "high");

  await lab.addPod(makePod("late", requesting({ cpu: "1" })));
  await lab.pass(30_000);
  await lab.admin.delete("pods", "default", "low", { gracePeriodSeconds: 0 });
  await lab.pass();
  assert.equal(await lab.nodeOf("high"), "n1");
  assert.equal(await lab.nodeOf("late"), undefined, "the room is reserved");
});

test("no more victims are chosen while the first ones terminate", async () => {
  await using lab = await Lab.open();
  await lab.addNode(makeNode("n1"));
  await lab.addPod(makePod("low", FULL));
  await lab.addPod(important("high", 1_000));
  await lab.pass(300_000);
  assert.equal(
    await lab.whyNot("high"),
    "0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to a terminating pod on the nominated node.",
  );
  assert.equal(await nominationOf(lab, "high"), "n1");
});

const refusals = [
  ["of the same priority", 0, {}, "0/1 nodes are available: 1 No preemption victims found for incoming pod."],
  ["with preemptionPolicy Never", 5, { preemptionPolicy: "Never" }, "not eligible due to preemptionPolicy=Never."],
] as const;
for (const [name, priority, more, want] of refusals) {
  test(`a pod ${name} does not preempt`, async () => {
    await using lab = await Lab.open();
    await lab.addNode(makeNode("n1"));
    await lab.addPod(makePod("low", FULL));
    await lab.addPod(important("p", priority, "1", more));
    assert.equal(await lab.whyNot("p"), `0/1 nodes are available: 1 Insufficient cpu. preemption: ${want}`);
    assert.equal(await leaving(lab, "low"), "");
  });
}

test("a pod that would not fit on an empty node does not preempt", async () => {
  await using lab = await Lab.open();
  await lab.addNode(makeNode("n1"));
  await lab.addPod(makePod("low", FULL));
  await lab.addPod(important("p", 5, "3"));
  const insufficient = "0/1 nodes are available: 1 Insufficient cpu.";
  assert.equal(await lab.whyNot("p"), `${insufficient} preemption: ${insufficient}`);
  assert.equal(await leaving(lab, "low"), "");
});

test("only the necessary victims are chosen, the least important first", async () => {
  await using lab = await Lab.open();
  await lab.addNode(makeNode("n1"));
  for (const [name, priority] of [
    ["a", 1],
    ["b", 3],
    ["c", 2],
    ["d", 9],
  ] as const) {
    await lab.addPod(important(name, priority, "500m"));
  }
  await lab.addPod(important("p", 5, "1"));
  assert.equal(await leaving(lab, "a", "b", "c", "d"), "a c");
});

test("the node whose victims matter least is chosen", async () => {
  await using lab = await Lab.open();
  const put = async (node: string, pods: readonly (readonly [string, number, string])[]) => {
    await lab.addNode(makeNode(node, { labels: { name: node } }));
    for (const [name, priority, cpu] of pods) {
      await lab.addPod(important(name, priority, cpu, { nodeSelector: { name: node } }));
    }
  };
  await put("n1", [["a", 4, "2"]]);
  await put("n2", [
    ["b", 3, "1"],
    ["c", 3, "1"],
  ]);
  await put("n3", [["d", 3, "2"]]);
  await put("n4", [
    ["e", 3, "1"],
    ["f", 2, "1"],
  ]);
  await lab.addPod(important("p", 5, "2"));
  assert.equal(await leaving(lab, "a", "b", "c", "d", "e", "f"), "d");
  assert.equal(await nominationOf(lab, "p"), "n3");
});

const notes = [
  ["1.25", false, /^Preempted by default\/high on node n1$/],
  ["1.27", true, /^Preempted by a pod on node n1$/],
  ["1.29", true, /^Preempted by pod [0-9a-f-]{36} on node n1$/],
] as const;
for (const [kubeVersion, isMarked, want] of notes) {
  test(`v${kubeVersion}: the victim's event and condition`, async () => {
    await using lab = await Lab.open({ kubeVersion });
    await lab.addNode(makeNode("n1"));
    await lab.addPod(makePod("low", FULL));
    await lab.addPod(important("high", 1_000));
    const [preempted] = (await lab.events("low")).filter(({ reason }) => reason === "Preempted");
    assert.match(String(preempted?.["message"]), want);
    const target = (await lab.pod("low")).status?.conditions?.find(({ type }) => type === "DisruptionTarget");
    const marks = isMarked ? ["PATCH /api/v1/namespaces/default/pods/low/status 200"] : [];
    assert.deepEqual(statusWrites(lab), ["PATCH /api/v1/namespaces/default/pods/high/status 200", ...marks]);
    assert.deepEqual(
      [target?.reason, target?.message],
      isMarked
        ? ["PreemptionByScheduler", "default-scheduler: preempting to accommodate a higher priority pod"]
        : [undefined, undefined],
    );
  });
}

function budget(name: string, spec: object, disruptionsAllowed: number, disruptedPods: object = {}): KubeObject {
  const status = { disruptionsAllowed, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1, disruptedPods };
  const metadata = { name, namespace: "default" };
  return { apiVersion: "policy/v1", kind: "PodDisruptionBudget", metadata, spec, status };
}

const WEB = { selector: { matchLabels: { app: "web" } } };
const EVICTED = { a: "2026-01-01T00:00:00Z" };

/** One pod for each node, and a budget for the pods of app=web. */
const protections: readonly (readonly [
  title: string,
  pods: readonly (readonly [name: string, priority: number, labels?: Readonly<Record<string, string>>])[],
  budgets: readonly KubeObject[],
  victim: string,
])[] = [
  [
    "a budget protects a pod of lower priority",
    [
      ["a", 1, { app: "web" }],
      ["b", 3],
    ],
    [budget("b", WEB, 0)],
    "b",
  ],
  [
    "a budget that allows a disruption does not",
    [
      ["a", 1, { app: "web" }],
      ["b", 3],
    ],
    [budget("b", WEB, 1)],
    "a",
  ],
  [
    "if budgets protect all, the priority decides",
    [
      ["a", 2, { app: "web" }],
      ["b", 1, { app: "web" }],
    ],
    [budget("b", WEB, 0)],
    "b",
  ],
  [
    "a pod that is evicted already counts no more",
    [
      ["a", 1, { app: "web" }],
      ["b", 3],
    ],
    [budget("b", WEB, 0, EVICTED)],
    "a",
  ],
  [
    "an empty selector covers nothing here",
    [
      ["a", 1, { app: "web" }],
      ["b", 3],
    ],
    [budget("b", { selector: {} }, 0)],
    "a",
  ],
  [
    "one of two budgets is enough",
    [
      ["a", 1, { app: "web" }],
      ["b", 3],
    ],
    [budget("b", WEB, 5), budget("c", WEB, 0)],
    "b",
  ],
  [
    "a budget of another namespace covers nothing",
    [
      ["a", 1, { app: "web" }],
      ["b", 3],
    ],
    [{ ...budget("b", WEB, 0), metadata: { name: "b", namespace: "other" } }],
    "a",
  ],
];
for (const [title, pods, budgets, victim] of protections) {
  test(`preemption: ${title}`, async () => {
    await using lab = await Lab.open();
    for (const one of budgets) {
      const { namespace, name = "" } = one.metadata;
      const { status, ...unused } = one;
      await lab.admin.create("poddisruptionbudgets.policy", namespace, unused as KubeObject);
      const withStatus = (now: KubeObject) => ({ ...now, status });
      await lab.admin.modify("poddisruptionbudgets.policy", namespace, name, withStatus, "status");
    }
    for (const [name, priority, labels = {}] of pods) {
      await lab.addNode(makeNode(`on-${name}`, { labels: { name } }));
      const pod = important(name, priority, "2", { nodeSelector: { name } });
      await lab.addPod({ ...pod, metadata: { ...pod.metadata, labels } });
    }
    await lab.addPod(important("p", 5, "2"));
    assert.equal(await leaving(lab, ...pods.map(([name]) => name)), victim);
  });
}

test("preemption: on one node, pods that a budget protects stay before more important ones", async () => {
  await using lab = await Lab.open();
  await lab.admin.create("poddisruptionbudgets.policy", "default", budget("b", WEB, 0));
  await lab.addNode(makeNode("n1"));
  for (const [name, priority, labels] of [
    ["a", 1, { app: "web" }],
    ["b", 3, {}],
    ["c", 2, { app: "web" }],
    ["d", 2, {}],
  ] as const) {
    const pod = important(name, priority, "500m");
    await lab.addPod({ ...pod, metadata: { ...pod.metadata, labels } });
  }
  await lab.addPod(important("p", 5, "1500m"));
  assert.equal(await leaving(lab, "a", "b", "c", "d"), "a b d");
  assert.match(
    lab.decisions().find((one) => one.startsWith("preempt")) ?? "",
    /though disruption budgets do not allow 1 of them/,
  );
});
