import assert from "node:assert/strict";
import { expect, test } from "vitest";
import { CountedMetrics } from "../../support/counted.js";
import { only } from "../../support/trace.js";
import { openLab, podOf, resultTexts, signal } from "./lab.js";

test("sync pod: a new pod gets a sandbox, its containers and upstream's events", async () => {
  await using lab = await openLab();
  const pod = podOf([{ name: "app" }, { name: "side", image: "nginx", command: [] }]);
  const result = await lab.lab.sync(pod);
  const { uid, name } = pod.metadata;
  const status = await lab.lab.status(pod);
  const sandboxId = status.sandboxStatuses[0]?.sandboxId;
  assert.deepEqual(resultTexts(result), [
    `KillPodSandbox ${uid}`,
    `CreatePodSandbox ${name}_default(${uid})`,
    `ConfigPodSandbox ${sandboxId}`,
    "StartContainer app",
    "StartContainer side",
  ]);
  assert.equal(result.error, undefined);
  assert.deepEqual(lab.events.take(), [
    'Normal Pulled Container image "busybox" already present on machine',
    "Normal Created Created container app",
    "Normal Started Started container app",
    'Normal Pulled Container image "nginx" already present on machine',
    "Normal Created Created container side",
    "Normal Started Started container side",
  ]);
  assert.deepEqual(new Set(lab.events.fieldPaths), new Set(["spec.containers{app}", "spec.containers{side}"]));
  assert.deepEqual((await lab.lab.containers(pod)).sort(), ["app:running#0", "side:running#0"]);
  assert.equal(status.ips.length, 1);
});

test("sync pod: a pod that runs as it should is left alone", async () => {
  await using lab = await openLab();
  const pod = podOf([{ name: "app" }]);
  await lab.lab.sync(pod);
  const before = await lab.lab.status(pod);
  lab.events.take();
  const result = await lab.lab.sync(pod);
  assert.deepEqual(resultTexts(result), [`ConfigPodSandbox ${before.sandboxStatuses[0]?.sandboxId}`]);
  assert.deepEqual(lab.events.take(), []);
  assert.deepEqual(await lab.lab.status(pod), before);
});

test("sync pod: each step and decision is in the trace, with upstream's names", async () => {
  await using lab = await openLab();
  const pod = podOf([{ name: "app" }]);
  await lab.lab.sync(pod);
  const [step] = only(lab.facts, "step");
  assert.equal(step?.title, `Bring the runtime to the spec of pod default/${pod.metadata.name}`);
  assert.equal(step?.upstream?.func, "SyncPod");
  const [decision] = only(lab.facts, "decision");
  assert.equal(decision?.what, `default/${pod.metadata.name}: create sandbox (attempt 0), start container app`);
  assert.equal(decision?.upstream?.func, "computePodActions");
  const calls = only(lab.facts, "rpc").filter(({ causedBy }) => causedBy === step?.id);
  assert.deepEqual(
    calls.map(({ method }) => method),
    ["RunPodSandbox", "PodSandboxStatus", "ImageStatus", "ImageStatus", "CreateContainer", "StartContainer"],
  );
});

test("sync pod: init containers run one after the other, then the others", async () => {
  await using lab = await openLab();
  const pod = podOf([{ name: "app" }], { initContainers: [{ name: "one" }, { name: "two" }] });
  await lab.lab.sync(pod);
  assert.deepEqual(await lab.lab.containers(pod), ["one:running#0"]);
  await lab.lab.sync(pod);
  assert.deepEqual(await lab.lab.containers(pod), ["one:running#0"], "it waits");
  await lab.control.killContainer(await lab.lab.containerId(pod, "one"), { exitCode: 0 });
  await lab.clock.advance(1);
  await lab.lab.sync(pod);
  assert.deepEqual(await lab.lab.containers(pod), ["two:running#0", "one:exited#0"]);
  await lab.control.killContainer(await lab.lab.containerId(pod, "two"), { exitCode: 0 });
  await lab.clock.advance(1);
  await lab.lab.sync(pod);
  assert.deepEqual(await lab.lab.containers(pod), ["app:running#0", "two:exited#0", "one:exited#0"]);
});

test("sync pod: a container that fails waits 10 s, 20 s, 40 s before it starts again, and the back-off resets after a quiet time", async () => {
  await using lab = await openLab();
  const pod = podOf([{ name: "app" }]);
  const { name, uid } = pod.metadata;
  await lab.lab.sync(pod);
  const fail = async () => {
    await lab.control.killContainer(await lab.lab.containerId(pod, "app"), { exitCode: 1 });
    lab.events.take();
    return lab.lab.sync(pod);
  };
  // The first time it starts again at once: that is what begins the wait.
  assert.equal((await fail()).error, undefined);
  for (const [wait, seconds] of [
    ["10s", 10],
    ["20s", 20],
    ["40s", 40],
  ] as const) {
    const result = await fail();
    assert.deepEqual(result.syncResults.at(-1), {
      action: "StartContainer",
      target: "app",
      error: "CrashLoopBackOff",
      message: `back-off ${wait} restarting failed container=app pod=${name}_default(${uid})`,
    });
    assert.deepEqual(lab.events.take(), ["Warning BackOff Back-off restarting failed container"]);
    await lab.clock.advance(seconds * 1000 - 1);
    assert.match((await lab.lab.sync(pod)).error ?? "", /CrashLoopBackOff/);
    await lab.clock.advance(1);
    assert.equal((await lab.lab.sync(pod)).error, undefined);
  }
  // It ran for ten minutes: twice the longest wait.
  await lab.clock.advance(600_001);
  assert.equal((await fail()).error, undefined);
  assert.match((await fail()).error ?? "", /back-off 10s/);
  assert.deepEqual((await lab.lab.containers(pod))[0], "app:exited#5");
});

for (const [kubeVersion, created, backOff] of [
  ["1.25", "Created container app", "Back-off restarting failed container"],
  ["1.26", "Created container app", "Back-off restarting failed container app in pod POD"],
  ["1.31", "Created container app", "Back-off restarting failed container app in pod POD"],
  ["1.32", "Created container: app", "Back-off restarting failed container app in pod POD"],
] as const) {
  test(`sync pod: its events have the words of ${kubeVersion}`, async () => {
    await using lab = await openLab({ kubeVersion });
    const pod = podOf([{ name: "app" }]);
    await lab.lab.sync(pod);
    const seen = lab.events.take();
    for (let i = 0; i < 2; i++) {
      await lab.control.killContainer(await lab.lab.containerId(pod, "app"), { exitCode: 1 });
      lab.events.take();
      await lab.lab.sync(pod);
    }
    const { name, uid } = pod.metadata;
    const waits = backOff.replace("POD", `${name}_default(${uid})`);
    assert.deepEqual([seen[1], lab.events.take()], [`Normal Created ${created}`, [`Warning BackOff ${waits}`]]);
  });
}

const faults = [
  // which call fails          what the result says        the last event
  [
    "RunPodSandbox",
    "CreatePodSandbox",
    "CreatePodSandboxError",
    "Warning FailedCreatePodSandBox Failed to create pod sandbox: rpc error: code = Internal desc = no",
  ],
  ["ImageStatus", "StartContainer", "ImageInspectError", "Warning Failed Error: ImageInspectError"],
  ["CreateContainer", "StartContainer", "CreateContainerError", "Warning Failed Error: no"],
  ["StartContainer", "StartContainer", "RunContainerError", "Warning Failed Error: no"],
] as const;
for (const [rpc, action, error, event] of faults) {
  test(`sync pod: ${rpc} that fails is ${error}, and the next sync makes it good`, async () => {
    await using lab = await openLab();
    const pod = podOf([{ name: "app" }]);
    lab.control.setFault(rpc, { fail: { code: "Internal", message: "no" }, count: 1 });
    const result = await lab.lab.sync(pod);
    assert.equal(result.syncResults.at(-1)?.action, action);
    assert.equal(result.syncResults.at(-1)?.error, error);
    assert.equal(lab.events.take().at(-1), event);
    assert.equal((await lab.lab.sync(pod)).error, undefined);
    assert.equal((await lab.lab.containers(pod))[0]?.startsWith("app:running"), true);
  });
}

test("sync pod: a failed read of the sandbox's status ends the sync", async () => {
  await using lab = await openLab();
  const pod = podOf([{ name: "app" }]);
  lab.control.setFault("PodSandboxStatus", { fail: { code: "Internal", message: "no" }, count: 1 });
  const result = await lab.lab.sync(pod);
  assert.equal(result.error, "failed to SyncPod: rpc error: code = Internal desc = no");
  assert.deepEqual(lab.events.take(), [
    "Warning FailedPodSandBoxStatus Unable to get pod sandbox status: rpc error: code = Internal desc = no",
  ]);
});

test("sync pod: a pod that is to end by now has not failed", async () => {
  await using lab = await openLab();
  const pod = podOf([{ name: "app" }]);
  lab.lab.ending.add(pod.metadata.uid);
  lab.control.setFault("RunPodSandbox", { fail: { code: "Internal", message: "no" }, count: 1 });
  assert.equal((await lab.lab.sync(pod)).error, undefined);
  assert.deepEqual(lab.events.take(), []);
});

test("sync pod: a dead sandbox is replaced, init containers included, with an event", async () => {
  await using lab = await openLab();
  const pod = podOf([{ name: "app" }], { initContainers: [{ name: "init" }] });
  await lab.lab.sync(pod);
  await lab.control.killContainer(await lab.lab.containerId(pod, "init"), { exitCode: 0 });
  await lab.lab.sync(pod);
  const [old] = (await lab.lab.status(pod)).sandboxStatuses;
  lab.control.setSandboxNotReady(old?.sandboxId ?? "");
  await lab.clock.advance(1);
  lab.events.take();
  const result = await lab.drive(lab.lab.sync(pod));
  assert.equal(result.error, undefined);
  assert.equal(lab.events.take()[0], "Normal SandboxChanged Pod sandbox changed, it will be killed and re-created.");
  const status = await lab.lab.status(pod);
  assert.deepEqual(
    status.sandboxStatuses.map(({ state, attempt }) => `${state}#${attempt}`),
    ["ready#1", "not-ready#0"],
  );
  // The old run of init is gone, and so counts by its logs.
  assert.equal((await lab.lab.containers(pod))[0], "init:running#1");
});

test("sync pod: another spec for a container replaces it", async () => {
  await using lab = await openLab();
  const pod = podOf([{ name: "app" }]);
  await lab.lab.sync(pod);
  await lab.clock.advance(1);
  lab.events.take();
  const changed = {
    ...pod,
    spec: { ...pod.spec, containers: [{ ...pod.spec.containers?.[0], name: "app", image: "nginx" }] },
  };
  const result = await lab.drive(lab.lab.sync(changed));
  assert.equal(result.error, undefined);
  assert.deepEqual(lab.events.take(), [
    "Normal Killing Container app definition changed, will be restarted",
    'Normal Pulled Container image "nginx" already present on machine',
    "Normal Created Created container app",
    "Normal Started Started container app",
  ]);
  assert.deepEqual(await lab.lab.containers(pod), ["app:running#1", "app:exited#0"]);
});

test("sync pod: an abort in the middle is thrown, and the next sync continues", async () => {
  await using lab = await openLab();
  const pod = podOf([{ name: "app" }]);
  lab.control.setFault("CreateContainer", { hangs: true });
  const stop = new AbortController();
  const sync = lab.lab.sync(pod, stop.signal);
  await lab.clock.advance(1);
  stop.abort();
  await assert.rejects(sync, { name: "AbortError" });
  lab.control.clearFaults();
  assert.equal((await lab.lab.sync(pod)).error, undefined);
  assert.equal((await lab.lab.containers(pod))[0]?.startsWith("app:running"), true);
  assert.equal((await lab.lab.status(pod)).sandboxStatuses.length, 1);
});

test("sync pod: a sidecar runs with the regular containers, and ends after them", async () => {
  await using lab = await openLab({ kubeVersion: "1.29" });
  const pod = podOf([{ name: "app" }], {
    initContainers: [{ name: "proxy", restartPolicy: "Always" }, { name: "init" }],
  });
  const after = async (): Promise<string[]> => {
    await lab.lab.sync(pod);
    await lab.clock.advance(1);
    return lab.lab.containers(pod);
  };
  assert.deepEqual(await after(), ["proxy:running#0"]);
  assert.deepEqual(await after(), ["init:running#0", "proxy:running#0"]);
  await lab.control.killContainer(await lab.lab.containerId(pod, "init"), { exitCode: 0 });
  assert.deepEqual(await after(), ["app:running#0", "init:exited#0", "proxy:running#0"]);
  await lab.control.killContainer(await lab.lab.containerId(pod, "proxy"), { exitCode: 1 });
  assert.deepEqual(await after(), ["proxy:running#1", "app:running#0", "init:exited#0", "proxy:exited#0"]);
  const [running] = await lab.lab.manager.getPods(false, signal);
  assert.ok(running !== undefined);
  await lab.drive(lab.lab.manager.killPod(pod, running, undefined, signal));
  const stopped = only(lab.facts, "decision").filter(({ upstream }) => upstream?.func === "killContainer");
  assert.deepEqual(
    stopped.map(({ what }) => what.split(" ")[2]),
    ["app", "proxy"],
  );
});

test("sync pod: what is started is counted, and what cannot be started once more", async () => {
  const metrics = new CountedMetrics();
  await using lab = await openLab({ deps: { metrics } });
  const pod = podOf([{ name: "app" }, { name: "none", image: "no-such-image", imagePullPolicy: "Never" }], {
    initContainers: [{ name: "init", image: "busybox", command: ["true"] }],
  });
  await lab.lab.sync(pod);
  expect(await metrics.series("kubelet_started_pods_total")).toEqual(["1"]);
  expect(await metrics.series("kubelet_started_pods_errors_total")).toEqual(["0"]);
  expect(await metrics.series("kubelet_started_containers_total")).toEqual(["container_type=init_container 1"]);
  const other = podOf([{ name: "app" }, { name: "none", image: "no-such-image", imagePullPolicy: "Never" }]);
  await lab.lab.sync(other);
  expect(await metrics.series("kubelet_started_pods_total")).toEqual(["2"]);
  expect(await metrics.series("kubelet_started_containers_total")).toEqual([
    "container_type=container 2",
    "container_type=init_container 1",
  ]);
  expect(await metrics.series("kubelet_started_containers_errors_total")).toEqual([
    "code=ErrImageNeverPull container_type=container 1",
  ]);
});
