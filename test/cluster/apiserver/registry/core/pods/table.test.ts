import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { POD_TABLE } from "../../../../../../src/cluster/apiserver/registry/core/pods/table.js";

const NOW_MS = Date.parse("2026-01-01T00:10:00Z");

interface Statuses {
  readonly init: readonly object[];
  readonly main?: readonly object[];
  readonly conditions?: readonly object[];
}

/** READY, STATUS and RESTARTS of a pod with an init container, a sidecar, another init container, and two containers. */
function cellsOf({ init, main = [], conditions = [] }: Statuses, sidecar: object = { restartPolicy: "Always" }) {
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", namespace: "default", creationTimestamp: "2026-01-01T00:00:00Z" },
    spec: {
      initContainers: [{ name: "i1" }, { name: "side", ...sidecar }, { name: "i2" }],
      containers: [{ name: "a" }, { name: "b" }],
    },
    status: { phase: "Running", initContainerStatuses: init, containerStatuses: main, conditions },
  };
  return POD_TABLE.cells(pod as never, NOW_MS).slice(1, 4);
}

const running = (name: string, more: object = {}) => ({
  name,
  ready: true,
  started: true,
  restartCount: 0,
  state: { running: {} },
  ...more,
});
const ended = (name: string) => ({
  name,
  ready: true,
  restartCount: 0,
  state: { terminated: { exitCode: 0, reason: "Completed" } },
});
const waiting = (name: string) => ({ name, restartCount: 0, state: { waiting: { reason: "PodInitializing" } } });
const again = { restartCount: 2, lastState: { terminated: { finishedAt: "2026-01-01T00:09:00Z" } } };
const crashed = { ...again, ready: false, started: false, state: { waiting: { reason: "CrashLoopBackOff" } } };
const initialized = [{ type: "Initialized", status: "True" }];

describe("kubectl get pods, of a pod with a sidecar", () => {
  const rows: readonly [string, Statuses, readonly unknown[]][] = [
    [
      "that has not started",
      { init: [ended("i1"), running("side", { started: false }), waiting("i2")] },
      ["0/3", "Init:1/3", "0"],
    ],
    [
      "while the next init container waits",
      { init: [ended("i1"), running("side"), waiting("i2")] },
      ["1/3", "Init:2/3", "0"],
    ],
    [
      "beside its containers",
      { init: [ended("i1"), running("side"), ended("i2")], main: [running("a"), running("b")] },
      ["3/3", "Running", "0"],
    ],
    [
      "that is not ready and was restarted",
      {
        init: [ended("i1"), running("side", { ...again, ready: false }), ended("i2")],
        main: [running("a"), running("b")],
      },
      ["2/3", "Running", "2 (60s ago)"],
    ],
    [
      "that crashes after the pod was initialized",
      {
        init: [ended("i1"), { ...running("side"), ...crashed }, ended("i2")],
        main: [running("a")],
        conditions: initialized,
      },
      ["1/3", "Running", "2 (60s ago)"],
    ],
    [
      "that crashes before",
      { init: [ended("i1"), { ...running("side"), ...crashed }, waiting("i2")] },
      ["0/3", "Init:CrashLoopBackOff", "2 (60s ago)"],
    ],
  ];
  for (const [name, statuses, want] of rows) test(name, () => assert.deepEqual(cellsOf(statuses), want));

  test("an ordinary init container does not count", () => {
    const statuses = { init: [ended("i1"), running("side"), waiting("i2")] };
    assert.deepEqual(cellsOf(statuses, {}), ["0/2", "Init:1/3", "0"]);
  });
});
