import { expect, test } from "vitest";
import type { Violation } from "../../../src/lab/chaos/invariants.js";
import { changeProblems, PodHistory } from "../../../src/lab/chaos/pod-history.js";
import type { V1Pod } from "../../../src/staging/apimachinery/api/pod.js";

interface Parts {
  readonly metadata?: object;
  readonly spec?: object;
  readonly status?: object;
}

function pod({ metadata, spec, status }: Parts = {}): V1Pod {
  return {
    metadata: { name: "web", namespace: "default", uid: "u1", ...metadata },
    spec: { containers: [], nodeName: "node-1", ...spec },
    status: { phase: "Running", ...status },
  } as unknown as V1Pod;
}

function history() {
  const violations: Violation[] = [];
  return { violations, history: new PodHistory((violation) => violations.push(violation)) };
}

const restarted = (restartCount: number) => ({ containerStatuses: [{ name: "main", restartCount }] });

test.each<[string, Parts, Parts, string]>([
  ["a final phase", { status: { phase: "Failed" } }, {}, "no-terminated-pod-restarted"],
  ["the phase", {}, { status: { phase: "Pending" } }, "no-status-goes-back"],
  ["the node", {}, { spec: { nodeName: "node-2" } }, "no-status-goes-back"],
  ["the start time", { status: { startTime: "a" } }, { status: { startTime: "b" } }, "no-status-goes-back"],
  ["the mark of deletion", { metadata: { deletionTimestamp: "a" } }, {}, "no-status-goes-back"],
  ["the restart count", { status: restarted(2) }, { status: restarted(1) }, "no-status-goes-back"],
])("%s never goes back", (_, before, after, invariant) => {
  expect(changeProblems(pod(before), pod(after)).map((one) => one.invariant)).toEqual([invariant]);
});

test.each<[string, Parts, Parts]>([
  ["forward", { status: { phase: "Pending" } }, { status: { phase: "Succeeded" } }],
  [
    "to Pending while init containers run again",
    { spec: { initContainers: [{}] } },
    { spec: { initContainers: [{}] }, status: { phase: "Pending" } },
  ],
  ["to a higher restart count", { status: restarted(1) }, { status: restarted(3) }],
])("a status may go %s", (_, before, after) => {
  expect(changeProblems(pod(before), pod(after))).toEqual([]);
});

test("a pod with the name of an old one is another pod", () => {
  const { violations, history: seen } = history();
  seen.take({ type: "applied", object: pod({ status: { phase: "Failed" } }) });
  seen.take({ type: "applied", object: pod({ metadata: { uid: "u2" }, status: { phase: "Pending" } }) });
  expect(violations).toEqual([]);
});

test.each<[string, Parts, number]>([
  ["nobody had deleted it", {}, 1],
  ["somebody had deleted it", { metadata: { deletionTimestamp: "a" } }, 0],
  ["it was on no node", { spec: { nodeName: undefined } }, 0],
  ["it had ended", { status: { phase: "Succeeded" } }, 0],
])("a pod vanishes, and %s", (_, parts, count) => {
  const { violations, history: seen } = history();
  seen.take({ type: "applied", object: pod(parts) });
  seen.take({ type: "deleted", object: pod(parts) });
  expect(violations).toHaveLength(count);
});

test("a pod that a new list lacks has vanished", () => {
  const { violations, history: seen } = history();
  seen.take({ type: "init", object: pod() });
  seen.take({ type: "initDone" });
  expect(violations).toEqual([]);
  seen.take({ type: "initDone" });
  expect(violations).toMatchObject([{ invariant: "no-pod-lost" }]);
});

test("a container runs twice at once, on one node or two, or once after the other", () => {
  const { violations, history: seen } = history();
  seen.containerChanged("node-1", "default/web", "main", "c1", true);
  seen.containerChanged("node-1", "default/web", "main", "c1", false);
  seen.containerChanged("node-1", "default/web", "main", "c2", true);
  expect(violations).toEqual([]);
  seen.containerChanged("node-2", "default/web", "main", "c3", true);
  expect(violations).toEqual([
    { invariant: "no-container-twice", what: "container default/web/main runs twice: c2 on node-1 and c3 on node-2" },
  ]);
});

test("no container of a pod that has ended starts", () => {
  const { violations, history: seen } = history();
  seen.take({ type: "applied", object: pod({ status: { phase: "Failed" } }) });
  seen.containerChanged("node-1", "default/web", "main", "c1", true);
  expect(violations).toMatchObject([{ invariant: "no-terminated-pod-restarted" }]);
});
