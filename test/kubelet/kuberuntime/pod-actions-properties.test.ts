import assert from "node:assert/strict";
import fc from "fast-check";
import { test } from "vitest";
import { hashContainer } from "../../../src/kubelet/container/hash.js";
import type {
  ContainerState,
  ContainerStatus,
  PodStatus,
  SandboxStatus,
} from "../../../src/kubelet/container/runtime.js";
import type { ProbeResult } from "../../../src/kubelet/container/runtime-helper.js";
import { computePodActions } from "../../../src/kubelet/kuberuntime/compute-pod-actions.js";
import type { PodActions } from "../../../src/kubelet/kuberuntime/pod-actions.js";
import { wantsNothing } from "../../../src/kubelet/kuberuntime/report.js";
import type { V1Pod } from "../../../src/staging/apimachinery/api/pod.js";
import { FakeProbes, podOf } from "./lab.js";

const NAMES = ["i0", "i1", "i2", "c0", "c1", "c2"];

interface Situation {
  readonly pod: V1Pod;
  readonly podStatus: PodStatus;
  readonly kubeVersion: string;
  readonly liveness: FakeProbes;
  readonly startup: FakeProbes;
}

const status = fc.record({
  state: fc.constantFrom<ContainerState>("created", "running", "exited", "unknown"),
  exitCode: fc.constantFrom(0, 1),
  isOther: fc.boolean(),
  liveness: fc.constantFrom<ProbeResult | undefined>("success", "failure", "unknown", undefined),
  startup: fc.constantFrom<ProbeResult | undefined>("success", "failure", "unknown", undefined),
});

const situation: fc.Arbitrary<Situation> = fc
  .record({
    kubeVersion: fc.constantFrom("1.25", "1.29", "1.31"),
    restartPolicy: fc.constantFrom("Always", "OnFailure", "Never"),
    isGoing: fc.boolean(),
    sidecars: fc.array(fc.boolean(), { maxLength: 3 }),
    containerCount: fc.integer({ min: 1, max: 3 }),
    statuses: fc.dictionary(fc.constantFrom(...NAMES), status),
    sandboxes: fc.array(fc.constantFrom<SandboxStatus["state"]>("ready", "not-ready"), { maxLength: 2 }),
  })
  .map(({ kubeVersion, restartPolicy, isGoing, sidecars, containerCount, statuses, sandboxes }) => {
    const probe = { startupProbe: {}, livenessProbe: {} };
    const initContainers = sidecars.map((is, i) => ({
      name: `i${i}`,
      ...(is ? { restartPolicy: "Always", ...probe } : {}),
    }));
    const containers = Array.from({ length: containerCount }, (_, i) => ({ name: `c${i}` }));
    const going = isGoing ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {};
    const pod = podOf(containers, { restartPolicy, initContainers }, going);
    const [liveness, startup] = [new FakeProbes(), new FakeProbes()];
    const specs = [...(pod.spec.initContainers ?? []), ...(pod.spec.containers ?? [])];
    const containerStatuses = specs.flatMap((spec): ContainerStatus[] => {
      const one = statuses[spec.name];
      if (one === undefined) return [];
      if (one.liveness !== undefined) liveness.results.set(spec.name, one.liveness);
      if (one.startup !== undefined) startup.results.set(spec.name, one.startup);
      const hash = one.isOther ? 0 : hashContainer(spec, kubeVersion);
      const { state, exitCode } = one;
      const same = { createdAtMs: 1, image: "", imageId: "", restartCount: 0 };
      return [{ containerId: spec.name, name: spec.name, state, exitCode, hash, ...same }];
    });
    const sandboxStatuses = sandboxes.map((state, i): SandboxStatus => {
      return {
        sandboxId: `s${i}`,
        state,
        createdAtMs: 9 - i,
        attempt: 9 - i,
        ips: ["10.0.0.1"],
        usesHostNetwork: false,
      };
    });
    const { uid: podUid, name, namespace } = pod.metadata;
    const podStatus = { podUid, name, namespace, ips: [], containerStatuses, sandboxStatuses };
    return { pod, podStatus, kubeVersion, liveness, startup };
  });

function actionsOf({ pod, podStatus, kubeVersion, liveness, startup }: Situation): PodActions {
  return computePodActions(pod, podStatus, { livenessManager: liveness, startupManager: startup, kubeVersion });
}

function started({ pod }: Situation, actions: PodActions): string[] {
  return [
    ...actions.initContainersToStart.map((i) => pod.spec.initContainers?.[i]?.name ?? "?"),
    ...actions.containersToStart.map((i) => pod.spec.containers?.[i]?.name ?? "?"),
  ];
}

/** What the runtime has after the actions were carried out and everything that was started runs, ended, or is healthy. */
function after(given: Situation, actions: PodActions, ends: boolean): Situation {
  const { pod, podStatus, kubeVersion } = given;
  const names = new Set(started(given, actions));
  const killed = new Set(actions.containersToKill.map(({ name }) => name));
  const [liveness, startup] = [new FakeProbes(), new FakeProbes()];
  const specs = [...(pod.spec.initContainers ?? []), ...(pod.spec.containers ?? [])];
  const containerStatuses = specs.flatMap((spec): ContainerStatus[] => {
    const before = podStatus.containerStatuses.find(({ name }) => name === spec.name);
    const isInit = pod.spec.initContainers?.includes(spec) === true;
    const isSidecar = spec.restartPolicy === "Always" && kubeVersion !== "1.25";
    const same = { containerId: spec.name, name: spec.name, createdAtMs: 1, image: "", imageId: "", restartCount: 0 };
    if (names.has(spec.name)) {
      startup.results.set(spec.name, "success");
      const isOver = !isSidecar && (isInit || ends);
      return [{ ...same, state: isOver ? "exited" : "running", exitCode: 0, hash: hashContainer(spec, kubeVersion) }];
    }
    if (before === undefined || (isInit && actions.createSandbox)) return [];
    const isStopped = before.state === "running" && (actions.killPod || killed.has(spec.name));
    const found = given.startup.get(spec.name);
    if (found !== undefined && !isStopped) startup.results.set(spec.name, found);
    return [isStopped ? { ...before, state: "exited", exitCode: 137 } : before];
  });
  const ready: SandboxStatus = {
    sandboxId: "new",
    state: "ready",
    createdAtMs: 10,
    attempt: 10,
    ips: ["10.0.0.1"],
    usesHostNetwork: false,
  };
  const old = podStatus.sandboxStatuses.map((sandbox) =>
    actions.killPod ? { ...sandbox, state: "not-ready" as const } : sandbox,
  );
  const sandboxStatuses = actions.createSandbox ? [ready, ...old] : old;
  return { ...given, liveness, startup, podStatus: { ...podStatus, containerStatuses, sandboxStatuses } };
}

test("property: what runs is not started a second time unless it is stopped first", () => {
  fc.assert(
    fc.property(situation, (given) => {
      const actions = actionsOf(given);
      const killed = new Set(actions.containersToKill.map(({ name }) => name));
      for (const name of started(given, actions)) {
        const state = given.podStatus.containerStatuses.find((one) => one.name === name)?.state;
        const mayRun = state === "running" || state === "unknown";
        assert.ok(!mayRun || actions.killPod || killed.has(name), `${name} is ${state}`);
      }
    }),
    { numRuns: 500 },
  );
});

test("property: nothing is started in a pod that is killed without a new sandbox, nor beside an init container that is due", () => {
  fc.assert(
    fc.property(situation, (given) => {
      const actions = actionsOf(given);
      if (actions.killPod && !actions.createSandbox) assert.deepEqual(started(given, actions), []);
      const ordinary = actions.initContainersToStart.filter(
        (i) => given.pod.spec.initContainers?.[i]?.restartPolicy !== "Always",
      );
      if (ordinary.length > 0) assert.deepEqual(actions.containersToStart, []);
      assert.equal(new Set(started(given, actions)).size, started(given, actions).length, "nobody is started twice");
    }),
    { numRuns: 500 },
  );
});

test("property: when all that is started stays, or ends well, the pod comes to rest", () => {
  fc.assert(
    fc.property(situation, fc.boolean(), (given, ends) => {
      // What is always started again never rests when it always ends.
      fc.pre(!ends || given.pod.spec.restartPolicy !== "Always");
      let now = given;
      for (let round = 0; round < 12; round++) {
        const actions = actionsOf(now);
        const isOver = actions.killPod && !actions.createSandbox;
        if (wantsNothing(actions) || isOver) return;
        now = after(now, actions, ends);
      }
      assert.fail(`still ${JSON.stringify(actionsOf(now))} for ${JSON.stringify(now.podStatus)}`);
    }),
    { numRuns: 500 },
  );
});
