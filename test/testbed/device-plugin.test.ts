import assert from "node:assert/strict";
import { onTestFinished, test } from "vitest";
import { DevicePluginStub } from "../../src/testbed/device-plugin.js";
import { SystemClock } from "../../src/util/clock.js";
import { LabError } from "../../src/util/errors.js";
import { asks, DeviceLab, GPU, podOf } from "../kubelet/cm/devicemanager/lab.js";
import { untilTrue } from "../support/fake-clock.js";
import { recordingTrace } from "../support/trace.js";

/** A plugin that runs until the test ends. */
function start(folder: string, resourceName = GPU) {
  const clock = new SystemClock(5);
  const { trace, events } = recordingTrace(clock);
  const plugin = new DevicePluginStub({ clock, trace }, { folder, resourceName, count: 2 });
  const stop = new AbortController();
  let registrations = 0;
  const done = plugin.run(() => {
    registrations++;
  }, stop.signal);
  done.catch(() => {});
  onTestFinished(async () => {
    stop.abort();
    await done.catch(() => {});
  });
  const decisions = () => events.flatMap((event) => (event.kind === "decision" ? [`${event.what}: ${event.why}`] : []));
  return { plugin, done, decisions, registrations: () => registrations };
}

test("the stub registers, lists its devices, answers Allocate, and reports a device that fails", async () => {
  const lab = await DeviceLab.start();
  const { plugin, decisions } = start(lab.folder);
  await lab.until(GPU, 2, 2);
  const pod = podOf("web", [asks(1)]);
  assert.equal(await lab.admit(pod), undefined);
  assert.deepEqual(await lab.optionsOf(pod), {
    envs: [{ name: "EXAMPLE_COM_GPU", value: "gpu-0" }],
    devices: [{ pathInContainer: "/dev/gpu-0", pathOnHost: "/dev/null", permissions: "rw" }],
    mounts: [],
    annotations: { [GPU]: "gpu-0" },
  });
  plugin.fail(["gpu-1"]);
  await lab.until(GPU, 2, 1);
  assert.deepEqual(decisions(), [
    "list 2 of example.com/gpu: all are healthy",
    "answer Allocate with EXAMPLE_COM_GPU=gpu-0 and /dev/gpu-0: the kubelet gives these devices to a container",
    "list 2 of example.com/gpu: unhealthy: gpu-1",
  ]);
});

test("the stub registers again with the next kubelet", async () => {
  const lab = await DeviceLab.start();
  const { registrations } = start(lab.folder);
  await lab.until(GPU, 2, 2);
  await lab.restart();
  assert.equal(lab.manager.getCapacity().allocatable[GPU], "0");
  await lab.until(GPU, 2, 2);
  await untilTrue(() => registrations() === 2);
});

test("without a kubelet, or refused by it, the stub ends with what to do", async () => {
  const lab = await DeviceLab.start();
  const { done } = start(lab.folder, "gpu");
  await assert.rejects(done, (error) => {
    assert.ok(error instanceof LabError);
    assert.equal(error.message, 'the kubelet refuses the device plugin of gpu: the ResourceName "gpu" is invalid');
    return error.code === "REFUSED";
  });
  await lab.stop();
  await assert.rejects(start(lab.folder).done, (error) => {
    assert.ok(error instanceof LabError);
    assert.match(error.message, /^no kubelet listens at .*kubelet\.sock$/);
    return error.code === "RUNTIME_UNREACHABLE";
  });
});
