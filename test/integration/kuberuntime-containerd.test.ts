import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import { hashContainer } from "../../src/kubelet/container/hash.js";
import type { V1Pod } from "../../src/staging/apimachinery/api/pod.js";
import { expectOk } from "../../src/staging/cri/grpc/status.js";
import { Trace } from "../../src/trace/trace.js";
import { SystemClock } from "../../src/util/clock.js";
import { ManagerLab, podOf, refOf, signal } from "../kubelet/kuberuntime/lab.js";
import { BUSYBOX_IMAGE, startContainerd, type TestContainerd } from "../support/containerd.js";
import { suiteNeeding } from "../support/requirements.js";

const CONTAINER = { image: BUSYBOX_IMAGE, imagePullPolicy: "Never" };
/** There is no network plugin here: pods are in the host's network. */
const SPEC = { hostNetwork: true };

suiteNeeding(["containerd", "busybox-static", "root"], "running pods in a real containerd", () => {
  let containerd: TestContainerd;
  let lab: ManagerLab;
  beforeAll(async () => {
    containerd = await startContainerd();
    const clock = new SystemClock();
    lab = new ManagerLab(containerd.client, clock, new Trace(clock), containerd.folder, {});
  });
  afterAll(() => containerd?.stop());

  /** Looks until a pod's containers are in these states; containerd says nothing of its own accord here. */
  async function until(pod: V1Pod, wanted: readonly string[]): Promise<void> {
    const clock = new SystemClock();
    for (;;) {
      const seen = (await lab.containers(pod)).sort();
      if (JSON.stringify(seen) === JSON.stringify([...wanted].sort())) return;
      await clock.sleep(50, signal);
    }
  }

  test("an init container, two containers, a restart, an end with grace, a collection", async () => {
    const script = "trap 'echo bye; exit 0' TERM; echo hello $POD; while :; do sleep 0.1; done";
    const pod = podOf(
      [
        { ...CONTAINER, name: "app", command: ["/bin/sh", "-c", script] },
        { ...CONTAINER, name: "side", command: ["/bin/sleep", "1000"] },
      ],
      {
        ...SPEC,
        initContainers: [{ ...CONTAINER, name: "init", command: ["/bin/sh", "-c", "echo done >/dev/termination-log"] }],
      },
    );
    assert.equal((await lab.sync(pod)).error, undefined);
    await until(pod, ["init:exited#0"]);
    assert.equal((await lab.status(pod)).containerStatuses[0]?.message, "done\n");
    assert.equal((await lab.sync(pod)).error, undefined);
    await until(pod, ["app:running#0", "init:exited#0", "side:running#0"]);
    assert.deepEqual(
      lab.events.take().filter((line) => !line.includes("Pulled")),
      [
        "Normal Created Created container init",
        "Normal Started Started container init",
        "Normal Created Created container app",
        "Normal Started Started container app",
        "Normal Created Created container side",
        "Normal Started Started container side",
      ],
    );

    // What a real kubelet would look at to know the container again.
    const [app] = pod.spec.containers ?? [];
    assert.ok(app !== undefined);
    const id = await lab.containerId(pod, "app");
    const { status } = expectOk(await containerd.client.runtime.containerStatus(id, false, signal), "look");
    assert.equal(status?.annotations["io.kubernetes.container.hash"], hashContainer(app, "1.25").toString(16));
    assert.equal(status?.labels["io.kubernetes.pod.uid"], pod.metadata.uid);

    // One ends by itself: it comes again, and the other is not touched.
    const side = await lab.containerId(pod, "side");
    expectOk(await containerd.client.runtime.stopContainer(side, 0, signal), "stop");
    assert.equal((await lab.sync(pod)).error, undefined);
    await until(pod, ["app:running#0", "init:exited#0", "side:exited#0", "side:running#1"]);
    assert.equal(await lab.containerId(pod, "app"), id);

    const [running] = await lab.manager.getPods(false, signal);
    assert.ok(running !== undefined);
    lab.events.take();
    await lab.manager.killPod(
      { ...pod, metadata: { ...pod.metadata, deletionGracePeriodSeconds: 5 } },
      running,
      undefined,
      signal,
    );
    assert.deepEqual(lab.events.take().sort(), [
      "Normal Killing Stopping container app",
      "Normal Killing Stopping container side",
    ]);
    const ended = (await lab.status(pod)).containerStatuses.find(({ name }) => name === "app");
    assert.equal(ended?.exitCode, 0, "it had the time to end by itself");
    const log = join(containerd.folder, "logs", `default_${pod.metadata.name}_${pod.metadata.uid}`, "app", "0.log");
    const said = readFileSync(log, "utf8")
      .split("\n")
      .map((line) => line.split(" F ")[1]);
    assert.deepEqual(said.filter(Boolean), [`hello ${pod.metadata.name}`, "bye"]);

    lab.gone.add(pod.metadata.uid);
    await lab.manager.garbageCollect({ minAgeMs: 0, maxPerPodContainer: 1, maxContainers: -1 }, true, false, signal);
    assert.deepEqual(await lab.manager.getPods(true, signal), []);
  });

  test("runs as the given user without other rights, and is refused as root if runAsNonRoot is set", async () => {
    const show = ["/bin/sh", "-c", "id -u >/dev/termination-log; touch /x || echo readonly >>/dev/termination-log"];
    const securityContext = {
      runAsUser: 1234,
      readOnlyRootFilesystem: true,
      allowPrivilegeEscalation: false,
      capabilities: { drop: ["ALL"] },
    };
    const pod = podOf([{ ...CONTAINER, name: "app", command: show, securityContext }], {
      ...SPEC,
      restartPolicy: "Never",
    });
    assert.equal((await lab.sync(pod)).error, undefined);
    await until(pod, ["app:exited#0"]);
    assert.equal((await lab.status(pod)).containerStatuses[0]?.message, "1234\nreadonly\n");
    const refused = podOf([{ ...CONTAINER, name: "app", securityContext: { runAsNonRoot: true } }], SPEC);
    const result = await lab.sync(refused);
    assert.equal(result.syncResults.at(-1)?.error, "CreateContainerConfigError");
    assert.match(
      result.syncResults.at(-1)?.message ?? "",
      /^container has runAsNonRoot and image will run as root \(pod: /,
    );
  });

  test("hooks run in the container: postStart before it counts as started, preStop before it ends", async () => {
    const lifecycle = {
      postStart: { exec: { command: ["/bin/sh", "-c", "echo post >/proc/1/fd/1"] } },
      preStop: { exec: { command: ["/bin/sh", "-c", "echo pre >/proc/1/fd/1"] } },
    };
    const pod = podOf([{ ...CONTAINER, name: "app", command: ["/bin/sleep", "1000"], lifecycle }], SPEC);
    assert.equal((await lab.sync(pod)).error, undefined);
    await lab.manager.killPod(undefined, await podNow(pod), 3, signal);
    const log = join(containerd.folder, "logs", `default_${pod.metadata.name}_${pod.metadata.uid}`, "app", "0.log");
    assert.deepEqual(
      readFileSync(log, "utf8")
        .split("\n")
        .map((line) => line.split(" F ")[1])
        .filter(Boolean),
      ["post", "pre"],
    );
  });

  async function podNow(pod: V1Pod) {
    const found = (await lab.manager.getPods(false, signal)).find(({ podUid }) => podUid === refOf(pod).podUid);
    assert.ok(found !== undefined);
    return found;
  }
});
