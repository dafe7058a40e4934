import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "vitest";
import { only } from "../../support/trace.js";
import { openLab, podOf, refOf, signal } from "./lab.js";

test("kill pod: all containers end, then the sandbox; twice is fine", async () => {
  await using lab = await openLab();
  const pod = podOf([{ name: "app" }, { name: "side" }], {}, { deletionGracePeriodSeconds: 5 });
  await lab.lab.sync(pod);
  lab.events.take();
  const running = (await lab.lab.manager.getPods(false, signal))[0];
  assert.ok(running !== undefined);
  await lab.drive(lab.lab.manager.killPod(pod, running, undefined, signal));
  assert.deepEqual(lab.events.take().sort(), [
    "Normal Killing Stopping container app",
    "Normal Killing Stopping container side",
  ]);
  const status = await lab.lab.status(pod);
  assert.deepEqual(
    status.sandboxStatuses.map(({ state }) => state),
    ["not-ready"],
  );
  assert.ok(status.containerStatuses.every(({ state }) => state === "exited"));
  await lab.drive(lab.lab.manager.killPod(undefined, running, 0, signal));
});

test("kill pod: the error contains all refusals of the runtime", async () => {
  await using lab = await openLab();
  const pod = podOf([{ name: "app" }]);
  await lab.lab.sync(pod);
  const [running] = await lab.lab.manager.getPods(false, signal);
  assert.ok(running !== undefined);
  lab.control.setFault("*", { fail: { code: "Unavailable", message: "away" } });
  await assert.rejects(lab.lab.manager.killPod(pod, running, undefined, signal), {
    message: `[failed to "KillContainer" for "app" with KillContainerError: "rpc error: code = Unavailable desc = away", failed to "KillPodSandbox" for "${pod.metadata.uid}" with KillPodSandboxError: "rpc error: code = Unavailable desc = away"]`,
  });
  lab.control.clearFaults();
});

test("collection: of each container one dead stays, of pods that are gone nothing", async () => {
  await using lab = await openLab();
  const pod = podOf([{ name: "app" }]);
  const policy = { minAgeMs: 0, maxPerPodContainer: 1, maxContainers: -1 };
  await lab.lab.sync(pod);
  for (let i = 0; i < 2; i++) {
    await lab.control.killContainer(await lab.lab.containerId(pod, "app"), { exitCode: 1 });
    await lab.clock.advance(600_001);
    await lab.lab.sync(pod);
  }
  assert.deepEqual(await lab.lab.containers(pod), ["app:running#2", "app:exited#1", "app:exited#0"]);
  await lab.lab.manager.garbageCollect(policy, true, false, signal);
  assert.deepEqual(await lab.lab.containers(pod), ["app:running#2", "app:exited#1"]);
  const [running] = await lab.lab.manager.getPods(false, signal);
  assert.ok(running !== undefined);
  await lab.drive(lab.lab.manager.killPod(pod, running, undefined, signal));
  lab.lab.gone.add(pod.metadata.uid);
  await lab.lab.manager.garbageCollect(policy, false, false, signal);
  assert.deepEqual((await lab.lab.manager.getPods(true, signal)).length, 1, "not all sources are known yet");
  await lab.lab.manager.garbageCollect(policy, true, false, signal);
  assert.deepEqual(await lab.lab.manager.getPods(true, signal), []);
  assert.deepEqual(readdirSync(join(lab.folder, "logs")), []);
  assert.deepEqual(readdirSync(join(lab.folder, "links")), []);
  const removals = only(lab.facts, "decision").filter(({ upstream }) => upstream?.file.endsWith("kuberuntime_gc.go"));
  const name = pod.metadata.uid;
  assert.deepEqual(
    removals.map(({ what, why }) => `${what.replace(/ [0-9a-f]{64}/, "")}: ${why}`),
    [
      `remove dead container (app of pod ${name}): of each container of a pod, the newest 1 dead ones are kept`,
      `remove dead container (app of pod ${name}): of each container of a pod, the newest 1 dead ones are kept`,
      `remove dead container (app of pod ${name}): its pod is over`,
      "remove sandbox: it is not ready, has no container, and its pod is over or has a newer one",
      `remove pod logs directory default_${pod.metadata.name}_${name}: its pod is gone`,
    ],
  );
});

test("manager: streams, commands, images and status come from the runtime", async () => {
  await using lab = await openLab();
  const { manager } = lab.lab;
  const pod = podOf([{ name: "app" }]);
  await assert.rejects(manager.getPortForward(pod.metadata.uid, [80], signal), { message: /sandboxID/ });
  await lab.lab.sync(pod);
  const id = await lab.lab.containerId(pod, "app");
  const options = { stdin: false, stdout: true, stderr: true, tty: false };
  assert.match(await manager.getExec(id, ["ls"], options, signal), /^http:/);
  assert.match(await manager.getPortForward(refOf(pod).podUid, [80], signal), /^http:/);
  const command = await lab.drive(manager.runInContainer(id, ["sh", "-c", "echo out; exit 4"], 0, signal));
  assert.deepEqual([command.output.toString(), command.exitCode], ["out\n", 4]);
  assert.match(await manager.getContainerLogPath(id, signal), /app\/0\.log$/);
  const busybox = (await manager.listImages(signal)).find(({ repoTags }) => repoTags[0]?.includes("busybox"));
  assert.ok(busybox !== undefined);
  assert.deepEqual(await manager.listUsedImages(signal), [busybox.id]);
  assert.deepEqual(
    (await manager.status(signal)).map(({ type }) => type),
    ["RuntimeReady", "NetworkReady"],
  );
  assert.equal((await manager.version(signal)).runtimeName, manager.type);
});
