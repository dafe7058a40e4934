import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, test } from "vitest";
import { RemotePodReader } from "../../src/kubelet/kuberuntime/remote-pod-reader.js";
import { expectOk } from "../../src/staging/cri/grpc/status.js";
import { type CriClient, createCriClient } from "../../src/staging/cri/remote/create-cri-client.js";
import { Pleg } from "../../src/testbed/pleg/pleg.js";
import type { TraceEvent } from "../../src/trace/events.js";
import { CliProcess, newHome } from "../support/cli-process.js";
import { startContainerd, type TestContainerd } from "../support/containerd.js";
import { ContainerdPod, ENDS_WITH_7, SLEEPS } from "../support/containerd-pod.js";
import { FakeClock } from "../support/fake-clock.js";
import { suiteNeeding } from "../support/requirements.js";
import { only, recordingTrace } from "../support/trace.js";

const { signal } = new AbortController();
/** All that looking takes. */
const LOOKING = ["ContainerStatus", "ListContainers", "ListPodSandbox", "PodSandboxStatus", "Version"];

suiteNeeding(["containerd", "busybox-static", "root"], "PLEG on a real containerd", () => {
  let containerd: TestContainerd;
  beforeAll(async () => {
    containerd = await startContainerd();
  });
  afterAll(() => containerd?.stop());

  // The kubelet's side, as in `kubelab pleg --cri`; its clock stands still, and the test triggers relists.
  let clock: FakeClock;
  let facts: TraceEvent[];
  let client: CriClient;
  const plegWith = (evented: boolean): Pleg => {
    const { trace, events } = recordingTrace(clock);
    facts = events;
    const service = new RemotePodReader(client.runtime);
    return new Pleg({ service, clock, trace }, { kubeVersion: "1.25", evented });
  };
  beforeEach(async () => {
    clock = new FakeClock();
    const { trace } = recordingTrace(clock);
    client = await createCriClient(containerd.endpoint, { clock, trace, actor: "kubelet" }, {}, signal);
  });
  // Each test begins with an empty runtime, however the one before has ended.
  afterEach(async () => {
    await client.close();
    await containerd.clear();
  });

  /** The events of a relist for a pod, in order for each container: `main: ContainerDied ContainerRemoved`. */
  async function relist(pleg: Pleg, pod: ContainerdPod): Promise<string> {
    assert.equal(await pleg.generic.relist(signal), undefined);
    const told = new Map<string, string>();
    for (const { podUid, type, containerId } of pleg.events.takeAll()) {
      assert.equal(podUid, pod.uid);
      const name = pod.nameOf(containerId);
      told.set(name, told.has(name) ? `${told.get(name)} ${type}` : type);
    }
    const lines = [...told].map(([name, types]) => `${name}: ${types}`);
    return lines.sort().join("; ");
  }

  /** What the cache has of it: `main exited 7, sandbox ready`. */
  function cached(pleg: Pleg, { uid }: ContainerdPod): string {
    const { kind, status, error } = pleg.cache.get(uid);
    if (kind === "default") return "nothing";
    if (status === undefined) return String(error);
    const containers = status.containerStatuses.map(({ name, state, exitCode, reason }) =>
      state === "exited" ? `${name} exited ${exitCode} ${reason}` : `${name} ${state}`,
    );
    const sandboxes = status.sandboxStatuses.map(({ state }) => `sandbox ${state}`);
    return [...containers.sort(), ...sandboxes].join(", ");
  }

  test("a pod's life, relist by relist: the same events as the real PLEG makes of these states", async () => {
    const pleg = plegWith(false);
    const pod = new ContainerdPod(containerd, "life");
    const life: readonly (readonly [what: string, act: () => Promise<void>, told: string, cache: string])[] = [
      ["a sandbox", () => pod.runSandbox(), "sandbox: ContainerStarted", "sandbox ready"],
      // Created is unknown to PLEG: the pod is inspected, and no event is sent.
      ["main is created", () => pod.create("main", ENDS_WITH_7), "", "main created, sandbox ready"],
      ["it is started", () => pod.start("main"), "main: ContainerStarted", "main running, sandbox ready"],
      ["nothing", async () => {}, "", "main running, sandbox ready"],
      ["it ends with 7", () => pod.stop("main", 30), "main: ContainerDied", "main exited 7 Error, sandbox ready"],
      [
        "another is made and started, and one that ends well at once",
        async () => {
          await pod.create("other", SLEEPS);
          await pod.start("other");
          await pod.create("short", ["/bin/true"]);
          await pod.start("short");
          await pod.stop("short", 30);
        },
        "other: ContainerStarted; short: ContainerDied",
        "main exited 7 Error, other running, short exited 0 Completed, sandbox ready",
      ],
      [
        "the other is killed",
        () => pod.stop("other", 0),
        "other: ContainerDied",
        "main exited 7 Error, other exited 137 Error, short exited 0 Completed, sandbox ready",
      ],
      [
        "two of the dead are removed",
        async () => {
          await pod.remove("main");
          await pod.remove("short");
        },
        "main: ContainerRemoved; short: ContainerRemoved",
        "other exited 137 Error, sandbox ready",
      ],
      [
        "one lives and dies unseen, one is removed while it runs",
        async () => {
          await pod.create("unseen", SLEEPS);
          await pod.start("unseen");
          await pod.remove("unseen");
          await pod.create("last", SLEEPS);
          await pod.start("last");
        },
        "last: ContainerStarted",
        "last running, other exited 137 Error, sandbox ready",
      ],
      [
        "it is removed as it runs: its death was seen by nobody",
        () => pod.remove("last"),
        "last: ContainerDied ContainerRemoved",
        "other exited 137 Error, sandbox ready",
      ],
      [
        "the sandbox is stopped",
        () => pod.stopSandbox(),
        "sandbox: ContainerDied",
        "other exited 137 Error, sandbox not-ready",
      ],
      [
        "the sandbox is removed, with what is in it",
        () => pod.removeSandbox(),
        "other: ContainerRemoved; sandbox: ContainerRemoved",
        "nothing",
      ],
      ["nothing", async () => {}, "", "nothing"],
    ];
    for (const [what, act, told, cache] of life) {
      await act();
      const seen = [what, await relist(pleg, pod), cached(pleg, pod)];
      assert.deepEqual(seen, [what, told, cache]);
    }
    assert.deepEqual([...pleg.generic.listedPods()], []);
    assert.equal(pleg.summary.discardedEvents, 0);
  });

  test("containerd stops and returns: unhealthy meanwhile, and no visible change is lost", async () => {
    const pleg = plegWith(false);
    const pod = new ContainerdPod(containerd, "restart");
    await pod.runSandbox();
    for (const name of ["dies", "lives", "goes"]) {
      await pod.create(name, SLEEPS);
      await pod.start(name);
    }
    const started = ["dies", "goes", "lives", "sandbox"].map((name) => `${name}: ContainerStarted`);
    assert.equal(await relist(pleg, pod), started.join("; "));
    assert.deepEqual(pleg.healthy(), { healthy: true });
    const pid = await pod.pidOf("dies");

    await containerd.goDown();
    process.kill(pid, "SIGKILL"); // its shim notes it down
    for (let seconds = 1; seconds <= 3; seconds++) {
      await clock.advance(1000);
      assert.match(String(await pleg.generic.relist(signal)), /rpc error: code = Unavailable desc = /);
    }
    assert.deepEqual(pleg.healthy(), { healthy: true }); // three minutes are allowed
    await clock.advance(177_001);
    const health = pleg.healthy();
    assert.equal(health.healthy, false);
    assert.deepEqual(
      [health.message, health.cause.replace(/Unavailable desc = .*/, "Unavailable")],
      [
        "pleg was last seen active 3m0.001s ago; threshold is 3m0s",
        "the container runtime's: the last relist failed with rpc error: code = Unavailable",
      ],
    );
    assert.equal(cached(pleg, pod), "dies running, goes running, lives running, sandbox ready");

    await containerd.comeBack();
    await pod.remove("goes");
    assert.equal(await relist(pleg, pod), "dies: ContainerDied; goes: ContainerDied ContainerRemoved");
    assert.deepEqual(pleg.healthy(), { healthy: true });
    assert.equal(cached(pleg, pod), "dies exited 137 Error, lives running, sandbox ready");
    const { failedRelists, relists } = pleg.summary;
    assert.deepEqual([failedRelists, relists], [3, 5]);
    const told = only(facts, "error").filter(({ message }) => message.startsWith("relist failed: rpc error"));
    assert.equal(told.length, 3);
    const notes = only(facts, "note").map(({ text }) => text);
    assert.match(notes.join("\n"), /The runtime lists its pods again after 3 relists that failed/);

    await pod.stopSandbox();
    await pod.removeSandbox();
    const gone =
      "dies: ContainerRemoved; lives: ContainerDied ContainerRemoved; sandbox: ContainerDied ContainerRemoved";
    assert.equal(await relist(pleg, pod), gone);
  });

  test("this containerd sends no events: EventedPLEG retries up to its limit, and falls back", async () => {
    const pleg = plegWith(true);
    const pod = new ContainerdPod(containerd, "evented");
    await pod.runSandbox();
    assert.equal(pleg.generic.duration.relistPeriodMs, 300_000);
    await pleg.evented?.run(signal); // ends with the fall-back
    assert.equal(pleg.evented?.hasFallenBack, true);
    assert.deepEqual(pleg.generic.duration, { relistPeriodMs: 1000, relistThresholdMs: 180_000 });
    const failures = only(facts, "error").map(({ message }) => message);
    assert.equal(failures.length, 5);
    assert.match(failures[4] ?? "", /broke \(5 of 5 times\): .*GetContainerEvents not implemented/);
    const [decision] = only(facts, "decision").filter(({ what }) => what.startsWith("fall back"));
    assert.equal(decision?.what, "fall back to the generic PLEG: a relist every 1 s");
    // A relist followed each failure, so PLEG knows the current state.
    const events = pleg.events.takeAll().map(({ type, containerId }) => `${type} ${pod.nameOf(containerId)}`);
    assert.deepEqual(events, ["ContainerStarted sandbox"]);
    await pod.create("main", SLEEPS);
    await pod.start("main");
    assert.equal(await relist(pleg, pod), "main: ContainerStarted");
  });

  /** Everything of containerd that a look could have changed. */
  async function everything(): Promise<unknown> {
    const { runtime, images } = containerd.client;
    return {
      sandboxes: expectOk(await runtime.listPodSandbox(undefined, signal), "list"),
      containers: expectOk(await runtime.listContainers(undefined, signal), "list"),
      images: expectOk(await images.listImages(undefined, signal), "list"),
    };
  }

  test("kubelab pleg --cri sees it from another process, changes nothing, and ends after --duration", async () => {
    const pod = new ContainerdPod(containerd, "looked-at");
    await pod.runSandbox();
    await pod.create("main", ENDS_WITH_7);
    await pod.start("main");
    const before = await everything();
    const home = newHome();
    const args = ["pleg", "--cri", containerd.endpoint, "--relist-period", "50ms", "--trace", "t.ndjson", "--json"];
    const { code, stdout, stderr } = await new CliProcess(home, [...args, "--duration", "500ms"]).ended;
    assert.deepEqual([code, await everything()], [0, before], stderr);
    const { events, failedRelists, runtime, pods } = JSON.parse(stdout);
    assert.deepEqual(
      { events, failedRelists, runtime: runtime.name, pods },
      { events: { ContainerStarted: 2 }, failedRelists: 0, runtime: "containerd", pods: 1 },
      stderr,
    );
    const calls = readFileSync(join(home, "t.ndjson"), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as TraceEvent)
      .flatMap((fact) => (fact.kind === "rpc" ? [fact.method] : []));
    assert.deepEqual([...new Set(calls)].sort(), LOOKING);

    const watching = new CliProcess(home, [...args.slice(0, 5), "--json"]);
    await watching.printed(/ContainerStarted default\/looked-at main/);
    await pod.stop("main", 30);
    await watching.printed(/ContainerDied default\/looked-at main [\s\S]*exit\s+code 7/);
    await pod.remove("main");
    await watching.printed(/ContainerRemoved default\/looked-at main/);
    const ended = await watching.kill("SIGINT");
    assert.equal(ended.code, 130);
    assert.deepEqual(JSON.parse(ended.stdout).events, { ContainerStarted: 2, ContainerDied: 1, ContainerRemoved: 1 });
  });
});
