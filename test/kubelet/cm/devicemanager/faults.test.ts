import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "vitest";
import { readCheckpoint } from "../../../../src/kubelet/cm/devicemanager/checkpoint.js";
import { ForeignPlugin, healthy } from "../../../support/device-plugin.js";
import { untilTrue } from "../../../support/fake-clock.js";
import { only } from "../../../support/trace.js";
import { asks, DeviceLab, GPU, podOf } from "./lab.js";

const REFUSED = [
  [
    "of another version",
    { version: "v1alpha1" },
    GPU,
    'requested API version "v1alpha1" is not supported by kubelet. Supported version is ["v1beta1"]',
  ],
  ["of a native resource", {}, "cpu", 'the ResourceName "cpu" is invalid'],
  ["of a resource of Kubernetes", {}, "kubernetes.io/gpu", 'the ResourceName "kubernetes.io/gpu" is invalid'],
  ["of a name that is none", {}, "example.com/a b", 'the ResourceName "example.com/a b" is invalid'],
  ["without a name", {}, "", 'the ResourceName "" is invalid'],
  [
    "whose socket cannot exist",
    { endpoint: `../${"x".repeat(200)}.sock` },
    GPU,
    /^failed to dial device plugin: a socket's path has at most 107 bytes, and this one has \d+$/,
  ],
] as const;

for (const [which, options, resource, details] of REFUSED) {
  test(`a plugin ${which} is refused in upstream's words`, async () => {
    const lab = await DeviceLab.start();
    const plugin = await ForeignPlugin.serve(lab.folder, healthy("d"));
    try {
      await assert.rejects(plugin.register(resource, options), { code: 2, details });
      const [refusal = ""] = lab.decisions();
      assert.ok(refusal.startsWith(`refuse the device plugin of ${resource}: `));
      assert.ok(typeof details === "string" ? refusal.endsWith(details) : /107 bytes/.test(refusal), refusal);
      assert.deepEqual(lab.manager.getCapacity().capacity, {});
    } finally {
      plugin.close();
    }
  });
}

test("a plugin that does not listen is refused after ten seconds, one that begins to listen meanwhile is not", async () => {
  const lab = await DeviceLab.start();
  const plugin = await ForeignPlugin.serve(lab.folder, healthy("d"));
  const refused = assert.rejects(plugin.register(GPU, { endpoint: "nowhere.sock" }), {
    details: "failed to dial device plugin: context deadline exceeded",
  });
  await untilTrue(() => lab.clock.sleeping > 0);
  let isOver = false;
  void refused.then(() => {
    isOver = true;
  });
  while (!isOver) await lab.clock.advance(500);
  const late = plugin.register(GPU, { endpoint: "late.sock" });
  await untilTrue(() => lab.clock.sleeping > 0);
  const second = await ForeignPlugin.serve(lab.folder, healthy("d"), {}, "late.sock");
  let isRegistered = false;
  void late.then(() => {
    isRegistered = true;
  });
  while (!isRegistered) await lab.clock.advance(500);
  await lab.until(GPU, 1);
  for (const one of [plugin, second]) one.close();
});

test("a plugin that answers Allocate without containers: the pod is refused, the devices stay free", async () => {
  const lab = await DeviceLab.start();
  const answers = [{ container_responses: [] }, { container_responses: [{ envs: { OK: "1" } }] }];
  await lab.plugin(healthy("gpu-0"), { allocate: () => answers.shift() });
  assert.equal(
    await lab.admit(podOf("first", [asks(1)])),
    "UnexpectedAdmissionError: Allocate failed due to no containers return in allocation response &AllocateResponse{ContainerResponses:[]*ContainerAllocateResponse{},}, which is unexpected",
  );
  assert.equal(await lab.admit(podOf("second", [asks(1)])), undefined);
});

test("a plugin that does not answer Allocate: the pod is refused after 30 s", async () => {
  const lab = await DeviceLab.start();
  const plugin = await lab.plugin(healthy("gpu-0"), { allocate: () => undefined });
  const admitted = lab.admit(podOf("web", [asks(1)]));
  await untilTrue(() => plugin.calls.includes("Allocate gpu-0"));
  await lab.clock.advance(30_000);
  assert.match((await admitted) ?? "", /code = DeadlineExceeded desc = context deadline exceeded/);
});

test("a pod is not refused because the kubelet ends during Allocate", async () => {
  const lab = await DeviceLab.start();
  const plugin = await lab.plugin(healthy("gpu-0"), { allocate: () => undefined });
  const admitted = lab.admit(podOf("web", [asks(1)]));
  const rejected = assert.rejects(admitted, { name: "AbortError" });
  await untilTrue(() => plugin.calls.length > 0);
  await lab.stop();
  await rejected;
});

test("a plugin that lists its devices again and again: the checkpoint has the last list", async () => {
  const lab = await DeviceLab.start();
  const plugin = await lab.plugin(healthy("d"));
  for (let count = 1; count <= 300; count++) plugin.list(healthy(...Array.from({ length: count }, (_, i) => `d${i}`)));
  await lab.until(GPU, 300);
  await lab.stop();
  const checkpoint = await readCheckpoint(lab.folder);
  assert.equal(checkpoint?.registeredDevices[GPU]?.length, 300);
});

test("a plugin that lists an ID twice: the last one counts, and the trace says so", async () => {
  const lab = await DeviceLab.start();
  const plugin = await lab.plugin(healthy("a"));
  plugin.list([...healthy("a", "b"), { ID: "a", health: "Unhealthy" }]);
  await lab.until(GPU, 2, 1);
  const messages = only(lab.events, "error").map(({ message }) => message);
  assert.deepEqual(messages, ["The plugin of example.com/gpu lists an ID twice: its 3 devices count as 2."]);
});

test("a kubelet that ends while it starts leaves no socket that listens", async () => {
  const lab = new DeviceLab();
  const starting = lab.manager.start();
  await lab.stop();
  await starting;
  const folder = join(lab.rootDir, "device-plugins");
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.endsWith(".sock")),
    [],
  );
});
