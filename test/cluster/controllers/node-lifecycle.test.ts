import { expect, test } from "vitest";
import type { Harness } from "./support/harness.js";
import {
  beat,
  conditions,
  createNode,
  createPod,
  patchStatus,
  renewLease,
  startNodeControllers,
} from "./support/nodes.js";

test("the trace explains a NoSchedule taint with what it follows: spec.unschedulable or a condition", async () => {
  const on = await startNodeControllers();
  renewLease(on, "n1", createNode(on, "n1"));
  await on.clock.advance(0);
  const set = (unschedulable: boolean) =>
    on.cluster.patch("nodes", undefined, "n1", (node) => ({
      ...node,
      spec: { ...(node["spec"] as object), unschedulable },
    }));
  set(true);
  await on.clock.advance(0);
  set(false);
  await on.clock.advance(0);
  patchStatus(on, "n1", { MemoryPressure: ["True", "KubeletHasInsufficientMemory", "too little memory"] });
  await on.clock.advance(0);
  const decisions = on.facts.flatMap((fact) =>
    fact.kind === "decision" && fact.upstream?.func === "doNoScheduleTaintingPass"
      ? [`${fact.what} | ${fact.why}`]
      : [],
  );
  expect(decisions).toEqual([
    "node n1: remove node.kubernetes.io/not-ready:NoSchedule | condition Ready is True",
    "node n1: add node.kubernetes.io/unschedulable:NoSchedule | spec.unschedulable is true",
    "node n1: remove node.kubernetes.io/unschedulable:NoSchedule | spec.unschedulable is false",
    "node n1: add node.kubernetes.io/memory-pressure:NoSchedule | condition MemoryPressure is True",
  ]);
});

/** A healthy second node prevents a full disruption. */
async function withSilentNode(kubeVersion: string): Promise<Harness> {
  const on = await startNodeControllers(kubeVersion);
  renewLease(on, "n2", createNode(on, "n2"));
  renewLease(on, "n1", createNode(on, "n1"));
  await on.clock.advance(0);
  return on;
}

function readyOf({ cluster }: Harness, name: string): string | undefined {
  const status = cluster.get("nodes", undefined, name)?.["status"] as {
    conditions?: { type: string; status: string }[];
  };
  return status.conditions?.find(({ type }) => type === "Ready")?.status;
}

for (const [kubeVersion, graceSeconds] of [
  ["1.25", 40],
  ["1.31", 40],
  ["1.32", 50],
] as const) {
  test(`in ${kubeVersion} a node is Unknown ${graceSeconds} s after its last heartbeat, and the trace names the constant`, async () => {
    const on = await withSilentNode(kubeVersion);
    const noticedSeconds = 5; // this pass sees the lease of a node that was created right after the start
    await beat(on, ["n2"], graceSeconds + noticedSeconds - 0.1);
    expect(readyOf(on, "n1")).toBe("True");
    await on.clock.advance(200);
    expect(readyOf(on, "n1")).toBe("Unknown");
    const decision = on.facts.find(
      (fact) => fact.kind === "decision" && fact.what.includes("set the conditions of node n1 to Unknown"),
    );
    expect(decision).toMatchObject({
      actor: "controller",
      why: `${graceSeconds}.0 s since the controller last saw the lease renewed or a status posted`,
      constants: [
        { name: "nodeMonitorGracePeriod", value: `${graceSeconds} s` },
        { name: "nodeMonitorPeriod", value: "5 s" },
      ],
      upstream: { file: "pkg/controller/nodelifecycle/node_lifecycle_controller.go", func: "tryUpdateNodeHealth" },
    });
    expect(on.facts.some((fact) => fact.kind === "decision" && fact.why.includes("of the grace period left"))).toBe(
      true,
    );
  });
}

test("since 1.26 an evicted pod has a reason; since 1.29 its event comes from taint-eviction-controller and has the pod's version", async () => {
  for (const [kubeVersion, reasons, component] of [
    ["1.25", [], "taint-controller"],
    ["1.26", ["DeletionByTaintManager"], "taint-controller"],
    ["1.29", ["DeletionByTaintManager"], "taint-eviction-controller"],
  ] as const) {
    const on = await withSilentNode(kubeVersion);
    createPod(on, "p", "n1", { toleratedSeconds: 1 });
    await beat(on, ["n2"], 60);
    const pod = on.cluster.get("pods", "default", "p");
    const { conditions: found = [] } = (pod?.["status"] ?? {}) as { conditions?: { type: string; reason?: string }[] };
    expect(pod?.metadata.deletionGracePeriodSeconds).toBe(30);
    expect(found.flatMap(({ type, reason }) => (type === "DisruptionTarget" ? [reason] : []))).toEqual(reasons);
    const eviction = on.cluster.list("events").find(({ reason }) => reason === "TaintManagerEviction");
    expect(eviction?.["source"]).toEqual({ component });
    const about = { kind: "Pod", namespace: "default", name: "p" };
    expect(eviction?.["involvedObject"]).toEqual(kubeVersion === "1.29" ? { apiVersion: "v1", ...about } : about);
    await on.stop();
  }
});

test("a pod on a node that is not ready is marked not ready, and evicted with the node's other pods", async () => {
  const on = await withSilentNode("1.25");
  await beat(on, ["n2"], 60);
  createPod(on, "late", "n1", { toleratedSeconds: 20 });
  await on.clock.advance(0);
  const late = on.cluster.get("pods", "default", "late");
  expect(late?.["status"]).toMatchObject({ conditions: [{ type: "Ready", status: "False" }] });
  await beat(on, ["n2"], 20);
  expect(on.cluster.get("pods", "default", "late")?.metadata.deletionTimestamp).toBeDefined();
});

test("a pending eviction is cancelled when the node returns", async () => {
  const on = await withSilentNode("1.25");
  createPod(on, "p", "n1", { toleratedSeconds: 300 });
  await beat(on, ["n2"], 60);
  patchStatus(on, "n1");
  await beat(on, ["n1", "n2"], 400);
  expect(on.cluster.get("pods", "default", "p")?.metadata.deletionTimestamp).toBeUndefined();
  const messages = on.cluster.list("events").map(({ message }) => message);
  expect(messages).toContain("Cancelling deletion of Pod default/p");
});

test("after a failed write the next pass tries again", async () => {
  const on = await withSilentNode("1.25");
  await beat(on, ["n2"], 40);
  on.cluster.failing.set("modify nodes", new Error("storage is away"));
  await beat(on, ["n2"], 10);
  expect(readyOf(on, "n1")).toBe("True");
  expect(on.facts.some((fact) => fact.kind === "error" && fact.message.includes("storage is away"))).toBe(true);
  on.cluster.failing.clear();
  await beat(on, ["n2"], 10);
  expect(readyOf(on, "n1")).toBe("Unknown");
});

test("beta labels follow the stable ones, and new nodes get a range and an annotation", async () => {
  const on = await startNodeControllers();
  on.cluster.create("nodes", {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name: "n",
      labels: { "kubernetes.io/os": "linux", "kubernetes.io/arch": "arm64", "beta.kubernetes.io/arch": "amd64" },
    },
    status: { conditions: conditions(on.clock.now()) },
  });
  await on.clock.advance(0);
  const node = on.cluster.get("nodes", undefined, "n");
  expect(node?.metadata.labels).toMatchObject({ "beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "arm64" });
  expect(node?.metadata.annotations).toEqual({ "node.alpha.kubernetes.io/ttl": "0" });
  expect(node?.["spec"]).toEqual({ podCIDR: "10.244.0.0/24", podCIDRs: ["10.244.0.0/24"] });
});

test("in a quiet cluster only the monitor and pod GC run", async () => {
  const on = await withSilentNode("1.25");
  await beat(on, ["n1", "n2"], 20);
  expect(on.clock.sleeping).toBe(2);
  on.cluster.changes.splice(0);
  await on.clock.advance(15_000);
  expect(on.cluster.changes).toEqual([]);
});
