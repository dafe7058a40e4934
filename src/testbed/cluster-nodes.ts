import { rm } from "node:fs/promises";
import { join } from "node:path";
import { type NodeObject, nodeCondition } from "../apimachinery/api/node.js";
import type { RestConfig } from "../client-go/rest/client.js";
import { createClient } from "../client-go/rest/create-client.js";
import { collectionPath, NODES } from "../client-go/rest/paths.js";
import type { CertificateStore } from "../kubelet/certificate/certificate-store.js";
import { removeAbandonedMemoryMedia } from "../kubelet/volumes/memory-medium.js";
import type { Trace } from "../trace/trace.js";
import { quieterTrace } from "../trace/view.js";
import type { Clock } from "../util/clock.js";
import { isAbortError, messageOf } from "../util/errors.js";
import type { Random } from "../util/random.js";
import { Administrator } from "./administrator.js";
import type { NodeContext } from "./context.js";
import { type JoinedNode, joinNode, openStore } from "./join.js";
import { JOIN_TIMEOUT_MS, type JoinPlan, planUnasked } from "./join-plan.js";
import type { RunningNode } from "./node.js";
import type { Target } from "./target.js";

export interface ClusterNodesOptions {
  readonly count: number;
  readonly target: Target;
  /** where each node keeps its key, certificate and kubeconfig, in a folder of its name */
  readonly folder: string;
}

/** Shows joins only at higher levels and in trace files, because `kubelab bootstrap` explains them. */
const QUIET_LEVEL = 3;

/** The nodes of a cluster while their heartbeats run. */
export interface ClusterNodes extends AsyncDisposable {
  readonly names: readonly string[];
  /**
   * Starts a kubelet with an embedded runtime for each node in the background, so that pods run. Deferred, because its
   * code takes longer to load than a cluster to start.
   */
  startKubelets(): void;
}

interface JoinedClusterNode {
  readonly plan: JoinPlan;
  readonly store: CertificateStore;
  readonly joined: JoinedNode;
  readonly kept: Promise<void>;
}

/**
 * Joins `node-1` to `node-N` over HTTPS, as `kubelab bootstrap` does: a bootstrap token (one for all, deleted when the
 * last has joined), a signed certificate each, registration, Ready, a first lease. Then keeps them Ready until it is
 * disposed of.
 * @throws LabError when one of them cannot join
 */
export async function startNodes(
  context: NodeContext,
  { clock, trace }: { readonly clock: Clock; readonly trace: Trace },
  { count, target, folder }: ClusterNodesOptions,
): Promise<ClusterNodes> {
  await rm(folder, { recursive: true, force: true });
  const names = Array.from({ length: count }, (_, i) => `node-${i + 1}`);
  const quiet = quieterTrace(trace, QUIET_LEVEL);
  const deps = { clock, trace: quiet, random: context.random };
  const administrator = new Administrator(target, deps);
  const stop = new AbortController();
  const nodes: JoinedClusterNode[] = [];
  let kubelets: Promise<readonly RunningNode[]> = Promise.resolve([]);
  const close = async () => {
    stop.abort();
    for (const kubelet of await kubelets) await kubelet.close();
    for (const { kept } of nodes) await kept;
    await Promise.all(nodes.map(({ joined }) => joined.agent.close()));
    await rm(folder, { recursive: true, force: true });
    await removeAbandonedMemoryMedia();
  };
  try {
    const token = await administrator.makeToken("the nodes of this cluster", "auto", JOIN_TIMEOUT_MS);
    const joining = names.map(async (nodeName) => {
      const plan = planUnasked(nodeName, join(folder, nodeName), token);
      const store = await openStore(plan);
      const { kubeVersion } = target;
      const joined = await joinNode({ context, clock, trace: quiet, plan, kubeVersion, target, store });
      const kept = joined.agent.keep(store, {}, stop.signal).catch((error: unknown) => report(trace, nodeName, error));
      nodes.push({ plan, store, joined, kept });
    });
    const failed = (await Promise.allSettled(joining)).find(({ status }) => status === "rejected");
    if (failed?.status === "rejected") throw failed.reason;
    await administrator.tidyUp();
  } catch (error) {
    await close();
    throw error;
  } finally {
    await administrator.close();
  }
  const startKubelets = () => {
    kubelets = runKubelets({ context, clock, trace, quiet }, target, nodes, stop.signal);
  };
  return { names, startKubelets, [Symbol.asyncDispose]: close };
}

interface KubeletsSession {
  readonly context: NodeContext;
  readonly clock: Clock;
  readonly trace: Trace;
  readonly quiet: Trace;
}

/** Starts kubelets one after the other, so that the first is ready early. Reports a kubelet that does not start. */
async function runKubelets(
  { context, clock, trace, quiet }: KubeletsSession,
  target: Target,
  nodes: readonly JoinedClusterNode[],
  signal: AbortSignal,
): Promise<readonly RunningNode[]> {
  const running: RunningNode[] = [];
  const { startNode } = await import("./node.js");
  for (const { plan, store, joined } of nodes) {
    if (signal.aborted) break;
    const { nodeName } = plan;
    try {
      const options = { plan, store, joined, kubeVersion: target.kubeVersion, target, port: 0 };
      const node = await startNode({ context, clock, trace: quiet }, options);
      running.push(node);
      node.done.catch((error: unknown) => report(trace, nodeName, error));
    } catch (error) {
      report(trace, nodeName, error);
    }
  }
  return running;
}

/** A node that fails (its rights were removed, its folder is not writable) does not end the cluster. */
function report(trace: Trace, nodeName: string, error: unknown): void {
  if (isAbortError(error)) return;
  const why = messageOf(error);
  const hint = "It is NotReady soon; the cluster goes on.";
  trace.emit({ kind: "error", message: `${nodeName} does not work any more: ${why}`, hint }, { actor: "kubelet" });
}

export interface NodeLine {
  readonly name: string;
  /** as kubectl words it: `Ready`, `NotReady`, `Ready,SchedulingDisabled` */
  readonly status: string;
}

/** The nodes as the API server has them, by name. @throws LabError CLUSTER_UNREACHABLE, UNAUTHORIZED */
export async function listNodes(
  config: RestConfig,
  deps: { readonly clock: Clock; readonly trace: Trace; readonly random: Random },
  signal: AbortSignal,
): Promise<readonly NodeLine[]> {
  await using client = createClient(config, { ...deps, actor: "user" });
  const path = collectionPath(NODES);
  const { items } = await client.expect<{ readonly items: readonly NodeObject[] }>({ method: "GET", path, signal });
  return items.map((node) => {
    const ready = nodeCondition(node, "Ready")?.status === "True" ? "Ready" : "NotReady";
    const status = node.spec?.["unschedulable"] === true ? `${ready},SchedulingDisabled` : ready;
    return { name: node.metadata.name ?? "", status };
  });
}
