import assert from "node:assert/strict";
import { afterAll, beforeAll, test } from "vitest";
import { expectOk } from "../../src/staging/cri/grpc/status.js";
import { ContainerState, NamespaceMode, PodSandboxState } from "../../src/staging/cri/messages/enums.js";
import { createCriClient } from "../../src/staging/cri/remote/create-cri-client.js";
import { SystemClock } from "../../src/util/clock.js";
import { BUSYBOX_IMAGE, startContainerd, type TestContainerd } from "../support/containerd.js";
import { FakeClock } from "../support/fake-clock.js";
import { compareWithOurs, runtimeDescriptor } from "../support/proto-descriptor.js";
import { suiteNeeding } from "../support/requirements.js";
import { only, recordingTrace } from "../support/trace.js";

const { signal } = new AbortController();

suiteNeeding(["containerd", "busybox-static", "root"], "the CRI against a real containerd", () => {
  let containerd: TestContainerd;
  beforeAll(async () => {
    containerd = await startContainerd();
  });
  afterAll(() => containerd?.stop());

  for (const transport of ["endpoint", "tcpEndpoint"] as const) {
    test(`reports its version over ${transport === "endpoint" ? "unix" : "tcp"}`, async () => {
      const clock = new FakeClock();
      const { trace, events } = recordingTrace(clock);
      const deps = { clock, trace, actor: "kubelet" } as const;
      await using client = await createCriClient(containerd[transport], deps, {}, signal);
      assert.equal(client.version.runtimeName, "containerd");
      assert.equal(client.version.version, "0.1.0");
      assert.equal(client.version.runtimeApiVersion, "v1");
      assert.match(client.version.runtimeVersion, /^v?\d+\.\d+/);
      const status = expectOk(await client.runtime.status(true, signal), "ask");
      const ready = status.status?.conditions.find(({ type }) => type === "RuntimeReady");
      assert.equal(ready?.status, true);
      assert.ok(JSON.parse(status.info["config"] ?? ""));
      assert.deepEqual(
        only(events, "rpc").map(({ method, code }) => `${method} ${code}`),
        ["Version OK", "Status OK"],
      );
    });
  }

  test("was built with the same fields and calls as our tables, as far as it knows them", () => {
    // Changed in v1.26, before any runtime sent it.
    const changed = "ContainerEventResponse.pod_sandbox_metadata";
    const differences = compareWithOurs(runtimeDescriptor("containerd"));
    assert.deepEqual(
      differences.filter((difference) => difference !== changed),
      [],
    );
  });

  test("runs a pod from its sandbox to its removal, and answers NotFound afterwards", async () => {
    const { runtime, images } = containerd.client;
    const image = { image: BUSYBOX_IMAGE };
    const found = expectOk(await images.imageStatus(image, false, signal), "look").image;
    assert.ok(found !== undefined && found.size > 0n);
    assert.equal(expectOk(await images.imageStatus({ image: "none" }, false, signal), "look").image, undefined);

    const sandboxConfig = {
      metadata: { name: "web", uid: "uid-1", namespace: "default", attempt: 0 },
      logDirectory: `${containerd.folder}/logs`,
      labels: { "io.kubernetes.pod.uid": "uid-1" },
      linux: { securityContext: { namespaceOptions: { network: NamespaceMode.NODE } } },
    };
    const sandboxId = expectOk(await runtime.runPodSandbox(sandboxConfig, "", signal), "run");
    const config = {
      metadata: { name: "main" },
      image,
      command: ["/bin/sh", "-c", "echo hello $WHO; exec sleep 1000"],
      envs: [{ key: "WHO", value: "節点" }],
      logPath: "main.log",
      labels: { "io.kubernetes.container.name": "main" },
      annotations: { note: "é".repeat(300) },
    };
    const containerId = expectOk(await runtime.createContainer(sandboxId, config, sandboxConfig, signal), "create");
    expectOk(await runtime.startContainer(containerId, signal), "start");

    const [sandbox] = expectOk(await runtime.listPodSandbox({ id: sandboxId }, signal), "list");
    assert.equal(sandbox?.state, PodSandboxState.SANDBOX_READY);
    assert.deepEqual(sandbox?.metadata, sandboxConfig.metadata);
    const [container] = expectOk(await runtime.listContainers({ podSandboxId: sandboxId }, signal), "list");
    assert.equal(container?.state, ContainerState.CONTAINER_RUNNING);
    assert.deepEqual([container?.labels, container?.annotations], [config.labels, config.annotations]);
    assert.ok((container?.createdAt ?? 0n) > 1_600_000_000_000_000_000n);

    const exec = await runtime.execSync(containerId, ["sh", "-c", "echo $WHO; echo oops >&2; exit 3"], 10_000, signal);
    const { stdout, stderr, exitCode } = expectOk(exec, "exec");
    assert.deepEqual([stdout.toString(), stderr.toString(), exitCode], ["節点\n", "oops\n", 3]);

    expectOk(await runtime.stopContainer(containerId, 0, signal), "stop");
    const { status } = expectOk(await runtime.containerStatus(containerId, false, signal), "look");
    assert.equal(status?.state, ContainerState.CONTAINER_EXITED);
    assert.equal(status?.exitCode, 137);
    expectOk(await runtime.removeContainer(containerId, signal), "remove");
    assert.equal((await runtime.containerStatus(containerId, false, signal)).outcome, "not-found");
    expectOk(await runtime.stopPodSandbox(sandboxId, signal), "stop");
    expectOk(await runtime.removePodSandbox(sandboxId, signal), "remove");
    assert.equal((await runtime.podSandboxStatus(sandboxId, false, signal)).outcome, "not-found");
  });

  test("calls fail during a restart, and the same connection works afterwards", async () => {
    const { runtime } = containerd.client;
    const clock = new SystemClock();
    assert.equal((await runtime.listContainers(undefined, signal)).outcome, "ok");
    await containerd.restart();
    let result = await runtime.listContainers(undefined, signal);
    for (let attempt = 0; attempt < 200 && result.outcome !== "ok"; attempt++) {
      assert.equal(result.outcome, "unavailable");
      await clock.sleep(50, signal); // the backoff after a failure is real time here
      result = await runtime.listContainers(undefined, signal);
    }
    assert.equal(result.outcome, "ok");
  });
});
