import { describe, expect, test } from "vitest";
import type { ContainerStatus, PodStatus } from "../../../src/kubelet/container/runtime.js";
import { PodSyncResult, type SyncErrorReason } from "../../../src/kubelet/container/sync-result.js";
import { KubeletMetrics } from "../../../src/kubelet/metrics/kubelet-metrics.js";
import { KubeletPodSyncer, type PodSyncerDeps } from "../../../src/kubelet/sync/pod-syncer.js";
import { CONFIG_FIRST_SEEN_ANNOTATION } from "../../../src/kubelet/types/pod-update.js";
import type { V1PodStatus } from "../../../src/staging/apimachinery/api/pod.js";
import { Backoff } from "../../../src/staging/client-go/backoff.js";
import { FakeClock } from "../../support/fake-clock.js";
import { parseMetrics, sampleOf } from "../../support/prometheus.js";
import { recordingTrace } from "../../support/trace.js";
import { emptyPodStatus, makePod } from "../podworkers/pods.js";

const signal = new AbortController().signal;
const container = (state: ContainerStatus["state"]): ContainerStatus => ({
  containerId: "c1",
  name: "app",
  state,
  createdAtMs: 0,
  exitCode: 0,
  image: "",
  imageId: "",
  hash: 0,
  restartCount: 0,
});

function start(kubeVersion = "1.25") {
  const clock = new FakeClock();
  const { trace } = recordingTrace(clock);
  const done: string[] = [];
  const state = {
    api: { phase: "Pending", podIPs: [{ ip: "10.0.0.7" }] } as V1PodStatus,
    network: [] as string[],
    ending: false,
    errors: [] as (SyncErrorReason | undefined)[],
    mount: undefined as string | undefined,
    kill: undefined as string | undefined,
    after: emptyPodStatus("uid-a") as PodStatus,
    changes: 0,
    reported: undefined as V1PodStatus | undefined,
  };
  const metrics = new KubeletMetrics({ nodeName: "n1", startMs: 0 });
  const fail = (text: string | undefined) => {
    if (text !== undefined) throw new Error(text);
  };
  const deps: PodSyncerDeps = {
    runtime: {
      syncPod: async (_pod, { ips }, secrets) => {
        done.push(`runtime ${ips.join()} ${secrets.length} secrets`);
        const result = new PodSyncResult();
        for (const error of state.errors) {
          result.addSyncResult({ action: "StartContainer", target: "app", ...(error === undefined ? {} : { error }) });
        }
        return result;
      },
      killPod: async (pod, running, grace) => {
        done.push(`kill ${pod?.metadata.name} [${running.containers.map((one) => one.containerId)}] ${grace}`);
        fail(state.kill);
      },
      getPodStatus: async () => state.after,
    },
    generateApiPodStatus: (_pod, { ips }, podIsTerminal) => {
      if (podIsTerminal && ips.length > 0) done.push(`terminal, at ${ips.join()}`);
      return state.api;
    },
    statusManager: {
      setPodStatus: (_pod, { phase, reason }) =>
        done.push(`status ${phase}${reason === undefined ? "" : ` ${reason}`}`),
      getPodStatus: () => state.reported,
      terminatePod: () => done.push("status terminated"),
    },
    podWorkers: { isPodTerminationRequested: () => state.ending },
    runtimeState: { networkErrors: () => state.network },
    mirrorClient: {
      reconcile: async () => {
        done.push("mirror");
        return { type: "created" };
      },
    },
    reasonCache: { update: () => done.push("reasons") },
    prober: {
      addPod: () => done.push("probe"),
      stopLivenessAndStartup: () => done.push("stop probes"),
      removePod: () => done.push("no probes"),
    },
    volumes: {
      waitForAttachAndMount: async () => {
        done.push("mount");
        fail(state.mount);
      },
      waitForUnmount: async () => void done.push("unmount"),
      podVolumesExist: () => false,
    },
    objects: {
      registerPod: () => done.push("register"),
      unregisterPod: () => done.push("unregister"),
      getPullSecret: async (_namespace, name) => (name === "there" ? { type: "x" } : undefined),
    },
    podDirs: { makePodDataDirs: async () => void done.push("dirs") },
    recorder: { event: (_pod, type, reason, message) => done.push(`${type} ${reason}: ${message}`) },
    backOff: new Backoff(clock, { initialMs: 10, maxMs: 300 }),
    trace,
    clock,
    metrics,
    removeDeadContainers: (podUid) => done.push(`remove containers of ${podUid}`),
    onChanged: () => {
      state.changes++;
    },
  };
  const syncer = new KubeletPodSyncer(deps, { kubeVersion });
  return { syncer, done, state, clock, metrics };
}

describe("syncPod", () => {
  const sync = { updateType: "create", podStatus: emptyPodStatus("uid-a") } as const;

  test("measures from the moment the kubelet has seen the pod: the first sync, and the one that finds it running", async () => {
    const { syncer, state, clock, metrics } = start();
    const annotations = { [CONFIG_FIRST_SEEN_ANNOTATION]: new Date(clock.now()).toISOString() };
    const pod = makePod("a", { metadata: { annotations } });
    const read = async () => {
      const families = parseMetrics(await metrics.text());
      const sum = (name: string) => sampleOf(families, `kubelet_${name}_sum`);
      return [sum("pod_worker_start_duration_seconds"), sum("pod_start_duration_seconds")];
    };
    await clock.advance(100);
    await syncer.syncPod({ ...sync, pod }, signal);
    expect(await read()).toEqual([0.1, 0.1]);
    state.reported = { phase: "Pending" };
    await clock.advance(300);
    await syncer.syncPod({ ...sync, updateType: "sync", pod }, signal);
    expect(await read()).toEqual([0.1, 0.1]);
    state.api = { phase: "Running" };
    await syncer.syncPod({ ...sync, updateType: "sync", pod }, signal);
    expect(await read()).toEqual([0.1, 0.5]);
    state.reported = { phase: "Running" };
    await syncer.syncPod({ ...sync, updateType: "sync", pod }, signal);
    expect(await read()).toEqual([0.1, 0.5]);
  });

  test("v1.28: pull secrets that cannot be had are an event", async () => {
    const { syncer, done } = start("1.28");
    const imagePullSecrets = ["gone", "there", "lost"].map((name) => ({ name }));
    await syncer.syncPod({ ...sync, pod: makePod("a", { spec: { imagePullSecrets } }) }, signal);
    const what = "Unable to retrieve some image pull secrets (gone, lost)";
    const why = `${what}; attempting to pull the image may not succeed.`;
    expect(done).toContain(`Warning FailedToRetrieveImagePullSecret: ${why}`);
  });

  test("its steps, in upstream's order; the pod's addresses are those of its status", async () => {
    const { syncer, done } = start();
    const spec = { imagePullSecrets: [{ name: "there" }, { name: "gone" }] };
    const pod = makePod("a", { source: "file", spec });
    expect(await syncer.syncPod({ ...sync, pod }, signal)).toEqual({ isTerminal: false });
    expect(done).toEqual([
      "status Pending",
      "register",
      "mirror",
      "dirs",
      "mount",
      "probe",
      "runtime 10.0.0.7 1 secrets",
      "reasons",
    ]);
  });

  for (const phase of ["Succeeded", "Failed"] as const) {
    test(`${phase}: it is over, and nothing is started`, async () => {
      const { syncer, done, state } = start();
      state.api = { phase };
      expect(await syncer.syncPod({ ...sync, pod: makePod("a") }, signal)).toEqual({ isTerminal: true });
      expect(done).toEqual([`status ${phase}`]);
    });
  }

  test("without a network only a pod in the host's network is started", async () => {
    const { syncer, done, state } = start();
    state.network = ["container runtime network not ready: NetworkReady=false"];
    const text = "network is not ready: container runtime network not ready: NetworkReady=false";
    await expect(syncer.syncPod({ ...sync, pod: makePod("a") }, signal)).rejects.toThrow(text);
    expect(done).toEqual(["status Pending", `Warning NetworkNotReady: ${text}`]);
    await syncer.syncPod({ ...sync, pod: makePod("a", { spec: { hostNetwork: true } }) }, signal);
    expect(done).toContain("runtime 10.0.0.7 0 secrets");
  });

  test("volumes that are not there: an event, and no container", async () => {
    const { syncer, done, state } = start();
    state.mount = "unmounted volumes=[v], unattached volumes=[v]: timed out waiting for the condition";
    await expect(syncer.syncPod({ ...sync, pod: makePod("a") }, signal)).rejects.toThrow("unmounted");
    expect(done.at(-1)).toBe(
      "Warning FailedMount: Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[v]: timed out waiting for the condition",
    );
  });

  test("a terminating pod gets no volumes any more", async () => {
    const { syncer, done, state } = start();
    state.ending = true;
    await syncer.syncPod({ ...sync, pod: makePod("a") }, signal);
    expect(done).not.toContain("mount");
    expect(done).not.toContain("register");
  });

  const outcomes: [readonly (SyncErrorReason | undefined)[], boolean][] = [
    // errors, of one that worked none          is a failure
    [["CrashLoopBackOff"], false],
    [["ImagePullBackOff", "CrashLoopBackOff"], false],
    [["CrashLoopBackOff", "ErrImagePull"], true],
    [["RunContainerError"], true],
    [[undefined, "CrashLoopBackOff"], true],
    [[undefined], false],
  ];
  for (const [errors, isFailure] of outcomes) {
    test(`${errors.map((error) => error ?? "success").join(" and ")} ${isFailure ? "fails the sync" : "is waited for"}`, async () => {
      const { syncer, state, done } = start();
      state.errors = [...errors];
      const synced = syncer.syncPod({ ...sync, pod: makePod("a") }, signal);
      if (isFailure) await expect(synced).rejects.toThrow(errors.at(-1));
      else expect(await synced).toEqual({ isTerminal: false });
      expect(done).toContain("reasons");
      // Who only waits for a container's turn has changed nothing in the runtime: there is nothing to be listed again.
      expect(state.changes).toBe(errors.every((error) => error?.endsWith("BackOff")) ? 0 : 1);
    });
  }

  test("a sync without changes requests no relist", async () => {
    const { syncer, state } = start();
    await syncer.syncPod({ ...sync, pod: makePod("a") }, signal);
    expect(state.changes).toBe(0);
  });
});

describe("syncTerminatingPod", () => {
  const running: PodStatus = { ...emptyPodStatus("uid-a"), containerStatuses: [container("running")] };

  test("its steps; an eviction's status goes with it", async () => {
    const { syncer, done } = start();
    const podStatusFunc = (status: V1PodStatus): V1PodStatus => ({ ...status, phase: "Failed", reason: "Evicted" });
    await syncer.syncTerminatingPod(
      { pod: makePod("a"), podStatus: running, gracePeriodSeconds: 5, podStatusFunc },
      signal,
    );
    expect(done).toEqual(["status Failed Evicted", "stop probes", "kill a [c1] 5", "no probes"]);
  });

  test("v1.27: how it ended is noted once nothing runs, with the addresses that it had", async () => {
    const { syncer, done } = start("1.27");
    const podStatus = { ...running, ips: ["10.0.0.7"] };
    await syncer.syncTerminatingPod({ pod: makePod("a"), podStatus, gracePeriodSeconds: 5 }, signal);
    expect(done.slice(-3)).toEqual(["no probes", "terminal, at 10.0.0.7", "status Pending"]);
  });

  test("a pod that only the runtime knows is killed, without a status update", async () => {
    const { syncer, done } = start();
    const pods = { podUid: "x", name: "x", namespace: "default", createdAtMs: 0, sandboxes: [] };
    const runningPod = { ...pods, containers: [{ containerId: "c9", state: "running" as const }] };
    await syncer.syncTerminatingPod({ pod: makePod("x"), runningPod, gracePeriodSeconds: 1 }, signal);
    expect(done).toEqual(["kill x [c9] 1"]);
  });

  test("what the runtime refuses is an event, and the pod does not count as ended", async () => {
    const { syncer, done, state } = start();
    state.kill = "no";
    await expect(syncer.syncTerminatingPod({ pod: makePod("a"), podStatus: running }, signal)).rejects.toThrow("no");
    expect(done.at(-1)).toBe("Warning FailedKillPod: error killing pod: no");
  });

  test("reports a runtime whose containers keep running after a kill", async () => {
    const { syncer, state } = start();
    state.after = running;
    await expect(syncer.syncTerminatingPod({ pod: makePod("a"), podStatus: running }, signal)).rejects.toThrow(
      "detected running containers after a successful KillPod, CRI violation: [c1]",
    );
  });
});

test("syncTerminatedPod: volumes first, then the containers, then the last status", async () => {
  const { syncer, done } = start();
  await syncer.syncTerminatedPod({ pod: makePod("a"), podStatus: emptyPodStatus("uid-a") }, signal);
  expect(done).toEqual(["status Pending", "unmount", "unregister", "remove containers of uid-a", "status terminated"]);
});
