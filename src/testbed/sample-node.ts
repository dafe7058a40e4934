import { rm } from "node:fs/promises";
import { removeAbandonedMemoryMedia } from "../kubelet/volumes/memory-medium.js";
import type { V1Pod } from "../staging/apimachinery/api/pod.js";
import type { KubeClient } from "../staging/client-go/rest/client.js";
import { createClient } from "../staging/client-go/rest/create-client.js";
import { collectionPath, EVENTS, NODES, PODS } from "../staging/client-go/rest/paths.js";
import { ChildAbort } from "../util/abort.js";
import type { Clock } from "../util/clock.js";
import { SystemClock } from "../util/clock.js";
import { LabError } from "../util/errors.js";
import { makeTemporaryFolder } from "../util/temporary-folder.js";
import type { NodeContext } from "./context.js";
import type { JoinPlan } from "./join-plan.js";
import { type RunningNode, type StartNodeOptions, startNode } from "./node.js";
import { untilAccount } from "./register.js";
import type { RequestTrace } from "./request-trace.js";
import { SAMPLE_PODS } from "./sample-pods.js";
import type { Target } from "./target.js";

const NODE_NAME = "node-1";
const NAMESPACE = "default";
/** A pod starts in some tenths of a second, on a busy machine in some seconds. */
const START_TIMEOUT_MS = 30_000;

/** How far a pod must be: `started`: its containers run; `running`: the kubelet has reported so, which logs need. */
export type Readiness = "started" | "running";

export interface SampleNodeSession {
  readonly context: NodeContext;
  readonly clock: Clock;
  readonly story: RequestTrace;
}

/** A node that this command starts, with pods. */
export interface SampleNode {
  readonly node: RunningNode;
  close(): Promise<void>;
}

/**
 * Starts a node with an embedded runtime and pods on a cluster that this command started.
 * @throws LabError as `startNode`; TIMED_OUT
 */
export async function startSampleNode(
  { context, clock, story }: SampleNodeSession,
  target: Target,
  podNames: readonly string[],
  readiness: Readiness,
  { port = 0, ...runtime }: Pick<StartNodeOptions, "port" | "cri" | "isSimulated"> = {},
): Promise<SampleNode> {
  const { trace } = story;
  const { kubeVersion } = target;
  const folder = await makeTemporaryFolder("exec");
  await using client = createClient(target.admin, { clock, trace, random: context.random, actor: "user" });
  const starting = startNode(
    { context, clock, trace },
    // Simulated pulls take no time here.
    { plan: planOf(folder), kubeVersion, target, port, pullMs: 0, ...runtime },
  );
  const close = async () => {
    await (await starting.catch(() => undefined))?.close();
    await rm(folder, { recursive: true, force: true });
    await removeAbandonedMemoryMedia();
  };
  try {
    // Not before the node takes pods: one that the scheduler has tried in vain waits for a second before its next turn.
    const [node] = await Promise.all([
      starting,
      Promise.race([untilSchedulable(client, context.signal), lost(starting)]),
    ]);
    await Promise.all(podNames.map((name) => createPod(client, name, context.signal)));
    await Promise.race([untilReady(client, podNames, readiness, context.signal), node.done]);
    return { node, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Settles if a node fails to start, or ends: it would never become ready. */
async function lost(starting: Promise<RunningNode>): Promise<void> {
  await (await starting).done;
}

/** Ready, and without the taint of a new node. */
async function untilSchedulable(client: KubeClient, signal: AbortSignal): Promise<void> {
  for await (const { object } of client.watch(collectionPath(NODES), {}, signal)) {
    const { spec, status } = object as NodeConditions;
    const isReady = status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") === true;
    if (isReady && (spec?.taints ?? []).length === 0) return;
  }
}

interface NodeConditions {
  readonly spec?: { readonly taints?: readonly unknown[] };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

async function createPod(client: KubeClient, name: string, signal: AbortSignal): Promise<void> {
  const body = { apiVersion: "v1", kind: "Pod", metadata: { name }, spec: SAMPLE_PODS.get(name) };
  const path = collectionPath({ ...PODS, namespace: NAMESPACE });
  await untilAccount(client, NAMESPACE, signal);
  await client.expect({ method: "POST", path, body, signal });
}

/** Waits until the kubelet has reported each pod. @throws LabError TIMED_OUT */
async function untilReady(
  client: KubeClient,
  podNames: readonly string[],
  readiness: Readiness,
  signal: AbortSignal,
): Promise<void> {
  const waiting = new Set(podNames);
  if (waiting.size === 0) return;
  const [path, isThere] = readiness === "started" ? [EVENTS, startedPod] : [PODS, runningPod];
  using timeout = new ChildAbort(signal);
  const limit = new AbortController();
  // On the wall clock, because a lab's clock may run fast but this machine does not.
  new SystemClock().sleep(START_TIMEOUT_MS, limit.signal).then(
    () => timeout.abort(),
    () => {},
  ); // ended: it was in time
  try {
    const events = client.watch(collectionPath({ ...path, namespace: NAMESPACE }), {}, timeout.signal);
    for await (const { object } of events) {
      waiting.delete(isThere(object) ?? "");
      if (waiting.size === 0) return;
    }
    signal.throwIfAborted();
    throw new LabError(
      "TIMED_OUT",
      `the pods ${[...waiting].join(", ")} did not start within ${START_TIMEOUT_MS / 1000} s`,
      "Look with -v 3 at what their kubelet does.",
    );
  } finally {
    limit.abort();
  }
}

/** The pod whose start an Event reports. */
function startedPod(object: object): string | undefined {
  const { reason, involvedObject } = object as { reason?: string; involvedObject?: { name?: string } };
  return reason === "Started" ? involvedObject?.name : undefined;
}

function runningPod(object: object): string | undefined {
  const { metadata, status } = object as V1Pod;
  return status.phase === "Running" ? metadata.name : undefined;
}

function planOf(folder: string): JoinPlan {
  return {
    nodeName: NODE_NAME,
    folder,
    token: undefined,
    resources: { cpu: "100", memory: "32Gi", pods: "110" },
    discovery: { kind: "by-target" },
    approval: "auto",
    timeoutMs: 3_600_000,
    force: false,
    expirationSeconds: undefined,
    insecureSkipTlsVerify: false,
    jitter: false,
    yes: true,
  };
}
