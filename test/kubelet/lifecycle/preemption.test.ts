import assert from "node:assert/strict";
import { test } from "vitest";
import { PredicateAdmitHandler } from "../../../src/kubelet/lifecycle/predicate.js";
import {
  CriticalPodAdmissionHandler,
  getPodsToPreempt,
  type PreemptionDeps,
} from "../../../src/kubelet/lifecycle/preemption.js";
import { isCriticalPod } from "../../../src/kubelet/types/pod-update.js";
import type { V1Pod, V1PodStatus } from "../../../src/staging/apimachinery/api/pod.js";
import { CountedMetrics } from "../../support/counted.js";
import { RecordedEvents } from "../../support/recorded-events.js";

interface Asked {
  readonly requests?: Record<string, string>;
  readonly limits?: Record<string, string>;
}

function podOf(
  name: string,
  resources: Asked = {},
  spec: object = {},
  annotations: Record<string, string> = {},
): V1Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "ns", uid: name, annotations },
    spec: { containers: [{ name: "c", resources }], ...spec },
    status: {},
  };
}

const cpu = (amount: string) => ({ requests: { cpu: amount } });
const guaranteed = (amount: string) => {
  const both = { cpu: amount, memory: "1Mi" };
  return { requests: both, limits: both };
};
const staticPod = (name: string, resources: Asked = {}) =>
  podOf(name, resources, {}, { "kubernetes.io/config.source": "file" });

const choices: readonly (readonly [string, readonly V1Pod[], Record<string, number>, string])[] = [
  ["the one that is just enough", [podOf("big", cpu("2")), podOf("fits", cpu("1"))], { cpu: 1000 }, "fits"],
  ["one rather than two", [podOf("a", cpu("500m")), podOf("b", cpu("500m")), podOf("c", cpu("1"))], { cpu: 1000 }, "c"],
  ["as many as it takes", [podOf("a", cpu("500m")), podOf("b", cpu("500m"))], { cpu: 1000 }, "b a"],
  ["burstable before guaranteed", [podOf("g", guaranteed("1")), podOf("b", cpu("2"))], { cpu: 1000 }, "b"],
  ["both when it must be", [podOf("g", guaranteed("1")), podOf("b", cpu("1"))], { cpu: 1500 }, "b g"],
  ["best effort makes room for a pod more", [podOf("b", cpu("1")), podOf("e")], { pods: 1 }, "e"],
  ["nothing lacks", [podOf("b", cpu("1"))], {}, ""],
];
for (const [name, pods, lacking, want] of choices) {
  test(`preemption: ${name}`, () => {
    const found = getPodsToPreempt(staticPod("critical"), pods, new Map(Object.entries(lacking)));
    assert.ok("pods" in found);
    assert.equal(found.pods.map(({ metadata }) => metadata.name).join(" "), want);
  });
}

test("preemption: critical pods are not taken, and what cannot be freed is said", () => {
  const found = getPodsToPreempt(
    staticPod("one"),
    [staticPod("two", cpu("4")), podOf("x", cpu("1"))],
    new Map([["cpu", 1500]]),
  );
  assert.deepEqual(found, { problem: "no set of running pods found to reclaim resources: [(res: cpu, q: 500), ]" });
});

test("preemption: critical are static pods and those of a system priority", () => {
  assert.equal(isCriticalPod(staticPod("s")), true);
  assert.equal(isCriticalPod(podOf("p", {}, { priority: 2_000_000_000 })), true);
  assert.equal(isCriticalPod(podOf("p", {}, { priority: 1_999_999_999 })), false);
});

async function admit(pod: V1Pod, others: readonly V1Pod[], evictPod?: () => Promise<void>, kubeVersion = "1.25") {
  const recorder = new RecordedEvents();
  const ended: V1PodStatus[] = [];
  const metrics = new CountedMetrics();
  const deps: PreemptionDeps = {
    recorder,
    metrics,
    evictPod: async (_, statusFunc) => {
      ended.push(statusFunc({ phase: "Running" }));
      await evictPod?.();
    },
  };
  const admissionFailureHandler = new CriticalPodAdmissionHandler(deps, { kubeVersion });
  const node = {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "n1" },
    spec: { taints: [{ key: "k", effect: "NoExecute" }] },
    status: { allocatable: { cpu: "1", pods: "10" } },
  };
  const handler = new PredicateAdmitHandler(
    { getNode: () => node, admissionFailureHandler },
    { os: "linux", kubeVersion: "1.25" },
  );
  return { result: await handler.admit({ pod, otherPods: others }), lines: recorder.lines, ended, metrics };
}

test("preemption: a static pod comes in, and who made room has failed", async () => {
  const { result, lines, ended, metrics } = await admit(staticPod("critical", cpu("1")), [podOf("x", cpu("1"))]);
  assert.deepEqual(result, { admit: true });
  assert.deepEqual(lines, ["Warning Preempting Preempted in order to admit critical pod"]);
  const message = "Preempted in order to admit critical pod";
  assert.deepEqual(ended, [{ phase: "Failed", reason: "Preempting", message }]);
  assert.deepEqual(await metrics.series("kubelet_preemptions"), ["preemption_signal=cpu 1"]);
});

test("preemption: v1.26: an evicted pod gets a DisruptionTarget condition", async () => {
  const { ended } = await admit(staticPod("critical", cpu("1")), [podOf("x", cpu("1"))], undefined, "1.26");
  const message = "Pod was preempted by Kubelet to accommodate a critical pod.";
  const reason = "TerminationByKubelet";
  assert.deepEqual(ended[0]?.conditions, [{ type: "DisruptionTarget", status: "True", reason, message }]);
});

test("preemption: a pod that does not end in time does not keep the critical one out", async () => {
  const slow = () => Promise.reject(new Error("timeout waiting to kill pod"));
  const { result } = await admit(staticPod("critical", cpu("1")), [podOf("x", cpu("1"))], slow);
  assert.deepEqual(result, { admit: true });
});

test("preemption: no eviction for other pods, for other reasons, or if it would not free enough", async () => {
  const tolerations = [{ operator: "Exists" }];
  const usual = await admit(podOf("p", cpu("1"), { tolerations }), [podOf("x", cpu("1"))]);
  assert.equal(usual.result.admit ? "" : usual.result.reason, "OutOfcpu");
  const elsewhere = staticPod("s", cpu("1"));
  const wrong = await admit({ ...elsewhere, spec: { ...elsewhere.spec, nodeName: "n2" } }, [podOf("x", cpu("1"))]);
  assert.equal(wrong.result.admit ? "" : wrong.result.reason, "NodeName");
  const tooBig = await admit(staticPod("s", cpu("2")), [podOf("x", cpu("500m"))]);
  assert.deepEqual(tooBig.result, {
    admit: false,
    reason: "UnexpectedAdmissionError",
    message:
      "Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods to " +
      "preempt: no set of running pods found to reclaim resources: [(res: cpu, q: 1000), ]",
  });
  for (const { ended } of [usual, wrong, tooBig]) assert.deepEqual(ended, []);
});
