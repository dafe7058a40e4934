import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "vitest";
import { healthy } from "../../../support/device-plugin.js";
import { untilTrue } from "../../../support/fake-clock.js";
import { only } from "../../../support/trace.js";
import { asks, DeviceLab, GPU, podOf } from "./lab.js";

const MINUTE_MS = 60_000;

test("devices of a foreign plugin count as capacity, and the healthy ones are allocatable", async () => {
  const lab = await DeviceLab.start();
  assert.deepEqual(lab.manager.getCapacity(), { capacity: {}, allocatable: {} });
  const plugin = await lab.plugin([...healthy("gpu-0", "gpu-1"), { ID: "gpu-2", health: "Unhealthy" }]);
  assert.deepEqual(lab.manager.getCapacity(), { capacity: { [GPU]: "3" }, allocatable: { [GPU]: "2" } });
  plugin.list([...healthy("gpu-0"), { ID: "gpu-1", health: "Broken" }]);
  await lab.until(GPU, 2, 1);
  const states = only(lab.events, "state").map(
    ({ subject, what, from, to }) => `${subject}: ${what}: ${from} -> ${to}`,
  );
  assert.deepEqual(states, [
    "devices of example.com/gpu: healthy: 0 of 0 -> 2 of 3: gpu-0 gpu-1",
    "devices of example.com/gpu: healthy: 2 of 3: gpu-0 gpu-1 -> 1 of 2: gpu-0",
  ]);
  const text = await lab.metrics.text();
  assert.match(text, /kubelet_device_plugin_registration_total\{resource_name="example.com\/gpu"\} 1/);
});

test("what Allocate answers reaches the container: variables, mounts, devices, annotations", async () => {
  const lab = await DeviceLab.start();
  const answer = {
    envs: { GPU: "gpu-0" },
    mounts: [{ container_path: "/lib/gpu", host_path: "/usr/lib/gpu", read_only: true }],
    devices: [{ container_path: "/dev/gpu", host_path: "/dev/gpu-0", permissions: "rw" }],
    annotations: { "example.com/used": "gpu-0" },
  };
  await lab.plugin(healthy("gpu-0"), { allocate: () => ({ container_responses: [answer] }) });
  const pod = podOf("web", [asks(1), { name: "other" }]);
  assert.equal(await lab.admit(pod), undefined);
  assert.deepEqual(await lab.optionsOf(pod), {
    envs: [{ name: "GPU", value: "gpu-0" }],
    mounts: [{ name: "/lib/gpu", containerPath: "/lib/gpu", hostPath: "/usr/lib/gpu", readOnly: true }],
    devices: [{ pathInContainer: "/dev/gpu", pathOnHost: "/dev/gpu-0", permissions: "rw" }],
    annotations: { "example.com/used": "gpu-0" },
  });
  assert.equal(await lab.optionsOf(pod, "other"), undefined);
});

test("a pod is refused in upstream's words when devices are lacking, and gets those of a pod that has ended", async () => {
  const lab = await DeviceLab.start();
  await lab.plugin();
  const first = podOf("first", [asks(2)]);
  assert.equal(await lab.admit(first), undefined);
  assert.equal(
    await lab.admit(podOf("second", [asks(1)])),
    "UnexpectedAdmissionError: Allocate failed due to requested number of devices unavailable for example.com/gpu. Requested: 1, Available: 0, which is unexpected",
  );
  lab.pods = [];
  const third = podOf("third", [asks(1)]);
  assert.equal(await lab.admit(third), undefined);
  assert.equal(await lab.env(third), "gpu-0");
  assert.deepEqual(lab.decisions().slice(1), [
    "give gpu-0 gpu-1 of example.com/gpu to container app of default/first: 2 healthy devices are free",
    "take gpu-0 gpu-1 of example.com/gpu from container app of pod uid-first: the pod is not active any more",
    "give gpu-0 of example.com/gpu to container app of default/third: 2 healthy devices are free",
  ]);
});

test("containers use the devices again that init containers have released; a sidecar keeps its own", async () => {
  const lab = await DeviceLab.start();
  const plugin = await lab.plugin(healthy("a", "b", "c"));
  const sidecar = asks(1, "side", GPU, { restartPolicy: "Always" });
  const pod = podOf("web", [asks(1), asks(1, "more")], [asks(1, "one"), asks(2, "two"), sidecar]);
  assert.equal(await lab.admit(pod), undefined);
  const got = await Promise.all(["one", "two", "side", "app", "more"].map((name) => lab.env(pod, name)));
  assert.deepEqual(got, ["a", "a,b", "a", "b", "c"]);
  // Another sync of the pod, as after a restart of a container, asks for nothing.
  const before = plugin.calls.length;
  await lab.manager.allocate(pod, asks(1));
  assert.equal(plugin.calls.length, before);
  await assert.rejects(lab.manager.allocate(pod, asks(2)), {
    message: 'pod "uid-web" container "app" changed request for resource "example.com/gpu" from 1 to 2',
  });
});

test("the plugin's preference decides among free devices; a choice that is not free is ignored", async () => {
  const lab = await DeviceLab.start();
  const wishes = [["c", "a"], ["a", "zzz"], []];
  const plugin = await lab.plugin(healthy("a", "b", "c", "d"), {
    options: { get_preferred_allocation_available: true },
    prefer: () => wishes.shift() ?? [],
  });
  for (const [name, want] of [
    ["first", "c"],
    ["second", "a"],
    ["third", "b"],
  ] as const) {
    const pod = podOf(name, [asks(1)]);
    await lab.admit(pod);
    assert.equal(await lab.env(pod), want);
  }
  const asked = plugin.calls.filter((call) => call.startsWith("Get"));
  assert.deepEqual(asked, [
    "GetPreferredAllocation 1 of a b c d",
    "GetPreferredAllocation 1 of a b d",
    "GetPreferredAllocation 1 of b d",
  ]);
  assert.match(lab.decisions()[1] ?? "", /: 4 healthy devices are free; the plugin prefers c$/);
});

test("PreStartContainer is called before each start if the plugin wants it; its error is the container's", async () => {
  const lab = await DeviceLab.start();
  const answers = [null, { code: 13, details: "reset failed" }];
  const plugin = await lab.plugin(healthy("gpu-0"), {
    options: { pre_start_required: true },
    preStart: () => answers.shift() ?? null,
  });
  const pod = podOf("web", [asks(1)]);
  await lab.admit(pod);
  assert.deepEqual(plugin.calls, ["Allocate gpu-0"]);
  assert.equal(await lab.env(pod), "gpu-0");
  assert.equal(plugin.calls.at(-1), "PreStartContainer gpu-0");
  await assert.rejects(lab.optionsOf(pod), {
    message: "device plugin PreStartContainer rpc failed with err: rpc error: code = Internal desc = reset failed",
  });
});

test("a plugin that dies: its devices are unhealthy for five minutes, then the capacity is 0, and it may come back", async () => {
  const lab = await DeviceLab.start();
  const plugin = await lab.plugin();
  const pod = podOf("web", [asks(1)]);
  await lab.admit(pod);
  plugin.close();
  await lab.until(GPU, 2, 0);
  assert.match((await lab.admit(podOf("late", [asks(1)]))) ?? "", /Requested: 1, Available: 0/);
  // The pod that has a device goes on, and passes admission after a restart of the kubelet.
  assert.equal(await lab.env(pod), "gpu-0");
  const allocatable = new Map([[GPU, 0]]);
  lab.manager.updatePluginResources(podOf("late", []), allocatable);
  assert.equal(allocatable.get(GPU), 0);
  lab.manager.updatePluginResources(pod, allocatable);
  assert.equal(allocatable.get(GPU), 1);

  await lab.clock.advance(5 * MINUTE_MS);
  assert.equal(lab.manager.getCapacity().capacity[GPU], "2");
  await lab.clock.advance(1);
  assert.deepEqual(lab.manager.getCapacity(), { capacity: { [GPU]: "0" }, allocatable: {} });
  assert.deepEqual(lab.manager.getCapacity().capacity, { [GPU]: "0" });
  await lab.plugin(healthy("gpu-7"), {}, { resource: GPU, socket: "again.sock" });
  assert.deepEqual(lab.manager.getCapacity(), { capacity: { [GPU]: "1" }, allocatable: { [GPU]: "1" } });
});

test("after a restart of the kubelet: sockets are removed, containers keep their devices, plugins register again", async () => {
  const lab = await DeviceLab.start();
  const plugin = await lab.plugin();
  const pod = podOf("web", [asks(1)]);
  await lab.admit(pod);
  const other = join(lab.folder, "notes.txt");
  writeFileSync(other, "");
  await lab.restart();
  assert.equal(existsSync(join(lab.folder, plugin.socket)), false);
  assert.equal(existsSync(other), true);
  assert.deepEqual(lab.manager.getCapacity(), { capacity: { [GPU]: "0" }, allocatable: { [GPU]: "0" } });
  assert.equal(await lab.admit(pod), undefined);
  assert.equal(await lab.env(pod), "gpu-0");
  await lab.plugin(healthy("gpu-0", "gpu-1"), {}, { resource: GPU, socket: "again.sock" });
  const second = podOf("second", [asks(1)]);
  await lab.admit(second);
  assert.equal(await lab.env(second), "gpu-1");
});

test("a checkpoint that is corrupt is reported, and the kubelet goes on", async () => {
  const lab = await DeviceLab.start();
  await lab.plugin();
  await lab.admit(podOf("web", [asks(1)]));
  await lab.stop();
  const file = join(lab.folder, "kubelet_internal_checkpoint");
  writeFileSync(file, readFileSync(file, "utf8").replace("uid-web", "uid-bad"));
  await lab.restart();
  const messages = only(lab.events, "error").map(({ message }) => message);
  assert.match(messages.join("\n"), /Failed to read the devices of containers: .*checkpoint is corrupted/);
  await lab.plugin(healthy("gpu-0"), {}, { resource: GPU, socket: "again.sock" });
});

test("a plugin that registers its resource again replaces the one before it", async () => {
  const lab = await DeviceLab.start();
  const first = await lab.plugin(healthy("old"));
  await lab.plugin(healthy("new-0", "new-1"), {}, { resource: GPU, socket: "second.sock" });
  first.close();
  const pod = podOf("web", [asks(2)]);
  assert.equal(await lab.admit(pod), undefined);
  assert.equal(await lab.env(pod), "new-0,new-1");
});

test("two resources of one container: both plugins add to it, and the first wins where they contradict", async () => {
  const lab = await DeviceLab.start();
  const both = { envs: { SHARED: "gpu" } };
  await lab.plugin(healthy("gpu-0"), { allocate: () => ({ container_responses: [both] }) });
  await lab.plugin(
    healthy("fpga-0"),
    {
      allocate: () => ({ container_responses: [{ envs: { SHARED: "fpga", OWN: "1" } }] }),
    },
    { resource: "example.com/fpga", socket: "fpga.sock" },
  );
  const limits = { [GPU]: "1", "example.com/fpga": "1" };
  const pod = podOf("web", [{ name: "app", resources: { limits } }]);
  await lab.admit(pod);
  assert.deepEqual((await lab.optionsOf(pod))?.envs, [
    { name: "SHARED", value: "gpu" },
    { name: "OWN", value: "1" },
  ]);
  assert.match(only(lab.events, "error")[0]?.message ?? "", /set the environment variable SHARED of container app/);
});

test("a folder whose path is too long for a socket: one sentence, and the kubelet runs without device plugins", async () => {
  const lab = new DeviceLab();
  Object.assign(lab, { rootDir: join(lab.rootDir, "x".repeat(100)) });
  await lab.restart();
  await untilTrue(() => only(lab.events, "error").length > 0);
  const [error] = only(lab.events, "error");
  assert.match(
    error?.message ?? "",
    /^Device plugins cannot register: a socket's path has at most 107 bytes, and this one has \d+: \//,
  );
  assert.equal(await lab.admit(podOf("web", [asks(1)])), undefined);
});
