import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "vitest";
import { openLab, podOf, resultTexts, signal } from "./lab.js";

test("start: what the kubelet cannot make of the environment is CreateContainerConfigError, in its words", async () => {
  const message = 'configmap "settings" not found';
  await using lab = await openLab({
    helper: { generateRunContainerOptions: async () => ({ outcome: "failed", message }) },
  });
  const pod = podOf([{ name: "app" }]);
  const result = await lab.lab.sync(pod);
  assert.deepEqual(result.syncResults.at(-1), {
    action: "StartContainer",
    target: "app",
    error: "CreateContainerConfigError",
    message,
  });
  assert.equal(lab.events.take().at(-1), `Warning Failed Error: ${message}`);
  assert.deepEqual(await lab.lab.containers(pod), []);
});

test("start: an unreadable resolv.conf is reported for the sandbox", async () => {
  await using lab = await openLab({ helper: { getPodDNS: async () => ({ outcome: "failed", message: "no DNS" }) } });
  const pod = podOf([{ name: "app" }]);
  const result = await lab.lab.sync(pod);
  const { name, uid } = pod.metadata;
  assert.equal(
    result.syncResults.at(-1)?.message,
    `Failed to generate sandbox config for pod "${name}_default(${uid})": no DNS`,
  );
});

test("start: an image that does not come is ErrImagePull, then ImagePullBackOff, and the others start", async () => {
  await using lab = await openLab();
  const pod = podOf([{ name: "app", image: "nginx:1.161" }, { name: "other" }]);
  const first = await lab.lab.sync(pod);
  assert.deepEqual(resultTexts(first).slice(-2), ["StartContainer app ErrImagePull", "StartContainer other"]);
  const pulled = first.syncResults.at(-2)?.message ?? "";
  assert.match(pulled, /^rpc error: code = NotFound desc = failed to pull and unpack image/);
  assert.deepEqual(lab.events.take().slice(0, 3), [
    'Normal Pulling Pulling image "nginx:1.161"',
    `Warning Failed Failed to pull image "nginx:1.161": ${pulled}`,
    "Warning Failed Error: ErrImagePull",
  ]);
  const second = await lab.lab.sync(pod);
  assert.deepEqual(second.syncResults.at(-1), {
    action: "StartContainer",
    target: "app",
    error: "ImagePullBackOff",
    message: 'Back-off pulling image "nginx:1.161"',
  });
  assert.deepEqual(lab.events.take(), [
    'Normal BackOff Back-off pulling image "nginx:1.161"',
    "Warning Failed Error: ImagePullBackOff",
  ]);
});

for (const release of ["1.25", "1.26"]) {
  test(`start: v${release}: postStart that fails ends the container`, async () => {
    await using lab = await openLab({ kubeVersion: release });
    const lifecycle = { postStart: { exec: { command: ["false"] } } };
    const pod = podOf([{ name: "app", lifecycle }]);
    const result = await lab.drive(lab.lab.sync(pod));
    const { name, uid } = pod.metadata;
    const message =
      `Exec lifecycle hook ([false]) for Container "app" in Pod "${name}_default(${uid})" failed` +
      ` - error: command 'false' exited with 1: , message: ""`;
    const done = { action: "StartContainer", target: "app", error: "PostStartHookError", message };
    assert.deepEqual(result.syncResults.at(-1), done);
    assert.deepEqual(lab.events.take().slice(-2), [
      `Warning FailedPostStartHook ${release === "1.25" ? message : "PostStartHook failed"}`,
      "Normal Killing FailedPostStartHook",
    ]);
    assert.deepEqual(await lab.lab.containers(pod), ["app:exited#0"]);
  });
}

test("start: logs and termination messages have their places, and go with the container", async () => {
  await using lab = await openLab();
  const pod = podOf([{ name: "app", command: ["sh", "-c", "echo said; echo last >/dev/termination-log; exit 3"] }], {
    restartPolicy: "Never",
  });
  await lab.drive(lab.lab.sync(pod));
  for await (const _ of lab.control.changes(AbortSignal.abort())) break;
  await lab.drive(ended(lab.lab, pod));
  const status = (await lab.lab.status(pod)).containerStatuses[0];
  assert.equal(status?.exitCode, 3);
  assert.equal(status?.message, "last\n");
  const logs = join(lab.folder, "logs", `default_${pod.metadata.name}_${pod.metadata.uid}`, "app");
  assert.deepEqual(readdirSync(logs), ["0.log"]);
  const links = readdirSync(join(lab.folder, "links"));
  assert.deepEqual(links, [`${pod.metadata.name}_default_app-${status?.containerId}.log`]);
  await lab.lab.manager.deleteContainer(status?.containerId ?? "", signal);
  assert.deepEqual(readdirSync(logs), []);
  assert.deepEqual(readdirSync(join(lab.folder, "links")), []);
  assert.ok(existsSync(logs));
});

/** Waits until no container of the pod runs. */
async function ended(
  lab: { containers(pod: ReturnType<typeof podOf>): Promise<string[]> },
  pod: ReturnType<typeof podOf>,
) {
  while ((await lab.containers(pod)).some((one) => one.includes("running"))) await Promise.resolve();
}

test("start: an ephemeral container sees its target's processes, and one without a target is an error", async () => {
  await using lab = await openLab();
  const pod = podOf([{ name: "app" }]);
  await lab.lab.sync(pod);
  const debug = (targetContainerName: string) => ({
    ...pod,
    spec: {
      ...pod.spec,
      ephemeralContainers: [{ ...pod.spec.containers?.[0], name: "debug", targetContainerName }],
    },
  });
  const failed = await lab.lab.sync(debug("gone"));
  assert.deepEqual(failed.syncResults.at(-1), {
    action: "StartContainer",
    target: "debug",
    error: "CreateContainerConfigError",
    message: "unable to find target container gone",
  });
  assert.equal(lab.events.fieldPaths.at(-1), "spec.ephemeralContainers{debug}");
  assert.equal((await lab.lab.sync(debug("app"))).error, undefined);
  assert.deepEqual((await lab.lab.containers(pod)).sort(), ["app:running#0", "debug:running#0"]);
});

test("start: in the host's network containers get the node's address", async () => {
  const told: string[] = [];
  await using lab = await openLab({
    helper: {
      generateRunContainerOptions: async (_pod, _container, podIp) => {
        told.push(podIp);
        return { outcome: "ok", options: { envs: [], mounts: [] } };
      },
    },
  });
  for (const hostNetwork of [true, false]) {
    const pod = podOf([{ name: "app" }], { hostNetwork });
    const podStatus = { ...(await lab.lab.status(pod)), ips: ["192.0.2.1"] };
    await lab.lab.manager.syncPod(pod, podStatus, [], lab.lab.backOff, signal);
  }
  assert.equal(told[0], "192.0.2.1");
  assert.match(told[1] ?? "", /^10\.244\./);
});

const cleanups: readonly [string, { readonly rpc?: string; readonly securityContext?: object }][] = [
  ["nothing", {}],
  ["the runtime refuses the container", { rpc: "CreateContainer" }],
  ["the image may not run", { securityContext: { runAsNonRoot: true } }],
];
for (const [name, { rpc, securityContext = {} }] of cleanups) {
  test(`start: what was made for a container's start is cleaned up once: ${name}`, async () => {
    let count = 0;
    const cleanup = async () => {
      count++;
    };
    const options = { envs: [], mounts: [] };
    await using lab = await openLab({
      helper: { generateRunContainerOptions: async () => ({ outcome: "ok", options, cleanup }) },
    });
    if (rpc !== undefined) lab.control.setFault(rpc, { fail: { code: "Internal", message: "no" } });
    await lab.lab.sync(podOf([{ name: "app", securityContext }]));
    assert.equal(count, 1);
  });
}
