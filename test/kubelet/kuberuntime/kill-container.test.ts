import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { terminationGracePeriod } from "../../../src/kubelet/kuberuntime/kill-container.js";
import type { KillReason } from "../../../src/kubelet/kuberuntime/pod-actions.js";
import { TerminationOrdering } from "../../../src/kubelet/kuberuntime/termination-order.js";
import { toApiPod } from "../../../src/kubelet/podworkers/update.js";
import type { V1Pod } from "../../../src/staging/apimachinery/api/pod.js";
import { FakeClock, settle } from "../../support/fake-clock.js";
import { only } from "../../support/trace.js";
import { openLab, podOf, signal } from "./lab.js";

describe("terminationGracePeriod", () => {
  const probes = {
    startupProbe: { terminationGracePeriodSeconds: 7 },
    livenessProbe: { terminationGracePeriodSeconds: 8 },
  };
  const table: readonly [string, Partial<V1Pod["metadata"]>, number | undefined, object, KillReason, number][] = [
    ["the API server's decision", { deletionGracePeriodSeconds: 5 }, 30, probes, "LivenessProbe", 5],
    ["... also none at all", { deletionGracePeriodSeconds: 0 }, 30, {}, "Unknown", 0],
    ["the spec's", {}, 30, probes, "Unknown", 30],
    ["the spec's, also for a hook that failed", {}, 30, probes, "FailedPostStartHook", 30],
    ["the startup probe's", {}, 30, probes, "StartupProbe", 7],
    ["the liveness probe's", {}, 30, probes, "LivenessProbe", 8],
    ["a probe without one", {}, 30, { livenessProbe: {} }, "LivenessProbe", 30],
    ["nobody's", {}, undefined, probes, "LivenessProbe", 2],
  ];
  for (const [name, metadata, seconds, container, reason, want] of table) {
    test(`${name}: ${want} s`, () => {
      const { spec, ...pod } = podOf([{}], {}, metadata);
      const { terminationGracePeriodSeconds: _, ...rest } = spec;
      const whole = {
        ...pod,
        spec: { ...rest, ...(seconds === undefined ? {} : { terminationGracePeriodSeconds: seconds }) },
      };
      assert.equal(terminationGracePeriod(whole, { name: "c", ...container }, reason), want);
    });
  }
});

/** The grace period in the decision to stop a container, in seconds. */
const graces = [
  // release  preStop      the pod's, s  override   what is left
  ["1.25", "sleep 4", 30, undefined, 26],
  ["1.25", "sleep 4", 30, 10, 10],
  ["1.28", "sleep 4", 30, 10, 6],
  ["1.25", "sleep 100", 30, undefined, 2],
  ["1.25", "sleep 100", 20, 30, 30],
  ["1.28", "sleep 100", 20, 30, 2],
  ["1.25", "sleep 4", 5, undefined, 2],
  ["1.25", "true", 30, undefined, 30],
  ["1.25", undefined, 30, 0, 0],
  ["1.28", undefined, 30, 0, 2],
  ["1.25", undefined, 1, undefined, 2],
  ["1.25", undefined, 30, undefined, 30],
] as const;
for (const [kubeVersion, hook, seconds, override, want] of graces) {
  test(`kill: v${kubeVersion}, preStop ${hook ?? "none"}, ${seconds} s, override ${override ?? "none"}: ${want} s are left`, async () => {
    await using lab = await openLab({ kubeVersion });
    const lifecycle = hook === undefined ? {} : { lifecycle: { preStop: { exec: { command: hook.split(" ") } } } };
    const pod = podOf([{ name: "app", ...lifecycle }], { terminationGracePeriodSeconds: seconds });
    await lab.lab.sync(pod);
    const [running] = await lab.lab.manager.getPods(false, signal);
    assert.ok(running !== undefined);
    await lab.drive(lab.lab.manager.killPod(pod, running, override, signal));
    const decision = only(lab.facts, "decision").find(({ upstream }) => upstream?.func === "killContainer");
    const [, left] = /it has (\d+) s/.exec(decision?.why ?? "") ?? [];
    // The clock moves in steps: what a hook took may be a second more.
    assert.ok(Math.abs(Number(left) - want) <= (hook === undefined ? 0 : 1), `it had ${left} s`);
    assert.deepEqual(await lab.lab.containers(pod), ["app:exited#0"]);
    assert.equal(lab.clock.sleeping, 0, "nothing is left behind");
  });
}

test("kill: v1.26: a preStop hook that fails is an event, and the container ends all the same", async () => {
  await using lab = await openLab({ kubeVersion: "1.26" });
  const pod = podOf([{ name: "app", lifecycle: { preStop: { exec: { command: ["false"] } } } }]);
  await lab.lab.sync(pod);
  lab.events.take();
  const [running] = await lab.lab.manager.getPods(false, signal);
  assert.ok(running !== undefined);
  await lab.drive(lab.lab.manager.killPod(pod, running, undefined, signal));
  assert.deepEqual(lab.events.take(), [
    "Normal Killing Stopping container app",
    "Warning FailedPreStopHook PreStopHook failed",
  ]);
});

test("kill: a pod that only the runtime knows gets the grace period and hook that stand on its container", async () => {
  await using lab = await openLab();
  const preStop = { exec: { command: ["false"] } };
  const pod = podOf([{ name: "app", lifecycle: { preStop } }], { terminationGracePeriodSeconds: 17 });
  await lab.lab.sync(pod);
  lab.events.take();
  const [running] = await lab.lab.manager.getPods(false, signal);
  assert.ok(running !== undefined);
  await lab.drive(lab.lab.manager.killPod(undefined, running, undefined, signal));
  assert.match(lab.events.take().join(), /Warning FailedPreStopHook Exec lifecycle hook/);
  const decision = only(lab.facts, "decision").at(-1);
  assert.match(decision?.why ?? "", /it has 1[67] s/);
});

test("kill: an orphan, known by its containers' names, ends at once, without its hook", async () => {
  await using lab = await openLab();
  const preStop = { exec: { command: ["false"] } };
  await lab.lab.sync(podOf([{ name: "app", lifecycle: { preStop } }]));
  lab.events.take();
  const [running] = await lab.lab.manager.getPods(false, signal);
  assert.ok(running !== undefined);
  await lab.drive(lab.lab.manager.killPod(toApiPod(running), running, 1, signal));
  assert.deepEqual(lab.events.take(), ["Normal Killing Stopping container app"]);
  assert.match(only(lab.facts, "decision").at(-1)?.why ?? "", /it has 1 s/);
});

test("kill: a container that the pod's spec does not have is an error that names it", async () => {
  await using lab = await openLab();
  const pod = podOf([{ name: "app" }]);
  await lab.lab.sync(pod);
  const [running] = await lab.lab.manager.getPods(false, signal);
  assert.ok(running !== undefined);
  const other = { ...pod, spec: { ...pod.spec, containers: [{ name: "other", image: "busybox" }] } };
  const id = await lab.lab.containerId(pod, "app");
  await assert.rejects(lab.drive(lab.lab.manager.killPod(other, running, undefined, signal)), {
    message: new RegExp(`failed to get containerSpec .*app.*${lab.lab.manager.type}://${id}`),
  });
});

describe("TerminationOrdering", () => {
  const pod = podOf([{ name: "app" }], {
    initContainers: [
      { name: "s1", restartPolicy: "Always" },
      { name: "init" },
      { name: "s2", restartPolicy: "Always" },
    ],
  });
  const running = ["app", "s1", "s2"].map((name) => ({ containerId: `id-${name}`, name, state: "running" as const }));

  test("regular containers first, then sidecars in reverse order", async () => {
    const clock = new FakeClock();
    const ordering = new TerminationOrdering(pod, running, clock);
    const ended: string[] = [];
    const all = running.map(async ({ name }) => {
      await ordering.waitForTurn(name, 30, signal);
      ended.push(name);
    });
    await settle();
    assert.deepEqual(ended, ["app"]);
    ordering.containerTerminated("app");
    await settle();
    assert.deepEqual(ended, ["app", "s2"]);
    ordering.containerTerminated("s2");
    await Promise.all(all);
    assert.deepEqual(ended, ["app", "s2", "s1"]);
    assert.equal(clock.sleeping, 0);
  });

  test("no wait exceeds the grace period", async () => {
    const clock = new FakeClock();
    const ordering = new TerminationOrdering(pod, running, clock);
    const waited = ordering.waitForTurn("s1", 30, signal);
    await clock.advance(30_000);
    assert.equal(await waited, 30);
  });

  test("one that does not run is not waited for", async () => {
    const ordering = new TerminationOrdering(pod, running.slice(1, 2), new FakeClock());
    assert.equal(await ordering.waitForTurn("s1", 30, signal), 0);
  });

  test("an abort ends the wait", async () => {
    const clock = new FakeClock();
    const stop = new AbortController();
    const waited = new TerminationOrdering(pod, running, clock).waitForTurn("s1", 30, stop.signal);
    stop.abort();
    await assert.rejects(waited, { name: "AbortError" });
    assert.equal(clock.sleeping, 0);
  });
});
