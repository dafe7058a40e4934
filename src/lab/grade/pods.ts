import { type NodeObject, nodeCondition } from "../../staging/apimachinery/api/node.js";
import { findCondition, type V1ContainerStatus, type V1Pod } from "../../staging/apimachinery/api/pod.js";
import { collectionPath, NODES, objectPath, PODS } from "../../staging/client-go/rest/paths.js";
import { type Exam, START_REAL_MS, StopLevel } from "./exam.js";
import type { TimedChange } from "./place.js";

const BUSYBOX = "busybox:1.36";
const DEFAULT = { ...PODS, namespace: "default" };
/** A node has this long until it is Ready, a pod until it is in a wanted state. */
const NODE_MS = 25_000;
export const POD_MS = 25_000;

/** A container that runs until it gets SIGTERM. */
export const WAITS = ["sh", "-c", "trap 'exit 0' TERM; while true; do sleep 1; done"];

type Spec = Readonly<Record<string, unknown>>;

/** The manifest of a pod with one container `main`. @param container replaces fields of the container */
export function podManifest(name: string, container: Spec, spec: Spec = {}) {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default" },
    spec: {
      ...{ automountServiceAccountToken: false, enableServiceLinks: false, terminationGracePeriodSeconds: 5 },
      containers: [{ name: "main", image: BUSYBOX, command: WAITS, ...container }],
      ...spec,
    },
  };
}

/** Creates a pod that is bound to the agent's node, or to another one. */
export async function createPod(exam: Exam, name: string, container: Spec = {}, spec: Spec = {}): Promise<void> {
  const manifest = podManifest(name, container, { nodeName: exam.nodeName, ...spec });
  await exam.create(collectionPath(DEFAULT), manifest);
}

export function podPath(name: string): string {
  return objectPath(DEFAULT, name);
}

/** @returns undefined if there is none */
export function readPod(exam: Exam, name: string): Promise<V1Pod | undefined> {
  return exam.read<V1Pod>(podPath(name));
}

/** Waits until a pod is in a state. @returns undefined if it is not in time */
export function untilPod(
  exam: Exam,
  name: string,
  isDone: (pod: V1Pod) => boolean,
  withinMs = POD_MS,
): Promise<V1Pod | undefined> {
  return exam.until(withinMs, async () => {
    const pod = await readPod(exam, name);
    return pod !== undefined && isDone(pod) ? pod : undefined;
  });
}

export function isPhase(phase: string): (pod: V1Pod) => boolean {
  return ({ status }) => status?.phase === phase;
}

/** Its condition and its container `main` are ready. */
export function isReady(pod: V1Pod): boolean {
  return findCondition(pod.status?.conditions, "Ready")?.status === "True" && mainStatus(pod)?.ready === true;
}

/** The status of the container `main`. */
export function mainStatus(pod: V1Pod | undefined): V1ContainerStatus | undefined {
  return pod?.status?.containerStatuses?.find(({ name }) => name === "main");
}

/** A pod as verdicts show it: `phase Pending, main: waiting (ContainerCreating), 0 restarts`. */
export function podText(pod: V1Pod | undefined): string {
  if (pod === undefined) return "the pod is gone";
  const main = mainStatus(pod);
  const { running, terminated, waiting } = main?.state ?? {};
  const ended = terminated && `terminated (${terminated.exitCode}, ${terminated.reason})`;
  const state = running ? "running" : (ended ?? (waiting && `waiting (${waiting.reason})`) ?? "without a status");
  return `phase ${pod.status?.phase}, container ${state}, restarts ${main?.restartCount ?? 0}`;
}

/** The starts of the container `main` in the runtime, the oldest first. */
export function startsOf(exam: Exam, pod: string): readonly TimedChange[] {
  return exam.changesOf(`default/${pod}`, "main").filter(({ to }) => to === "running");
}

/** The level needs a Node. @throws StopLevel if none is Ready in time */
export async function untilNodeReady(exam: Exam): Promise<void> {
  const path = objectPath(NODES, exam.nodeName);
  const ready = await exam.until(
    NODE_MS,
    async () => {
      const node = await exam.read<NodeObject>(path);
      return node !== undefined && nodeCondition(node, "Ready")?.status === "True" ? node : undefined;
    },
    START_REAL_MS,
  );
  if (ready === undefined) throw new StopLevel(`Node ${exam.nodeName} was not Ready within ${NODE_MS / 1000} s.`);
}
