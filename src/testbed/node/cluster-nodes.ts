import { rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { removeAbandonedMemoryMedia } from "../../kubelet/volumes/memory-medium.js";
import { type NodeObject, nodeCondition, type Taint } from "../../staging/apimachinery/api/node.js";
import type { RestConfig } from "../../staging/client-go/rest/client.js";
import { createClient } from "../../staging/client-go/rest/create-client.js";
import { collectionPath, NODES } from "../../staging/client-go/rest/paths.js";
import type { Ctx } from "../../trace/ctx.js";
import type { Trace } from "../../trace/trace.js";
import { quieterTrace } from "../../trace/view.js";
import { inParallel } from "../../util/async/concurrency.js";
import type { Clock } from "../../util/clock.js";
import { defined } from "../../util/defined.js";
import { isAbortError, messageOf } from "../../util/errors.js";
import type { NodeContext } from "../context.js";
import { Administrator } from "../target/administrator.js";
import type { Target } from "../target/target.js";
import { JOIN_TIMEOUT_MS, planUnasked } from "./join-plan.js";
import { nodeConfiguration } from "./kubelet-config.js";
import type { RunningNode } from "./node.js";
import { proxyIdentity, startNodeProxy } from "./node-proxy.js";

/** A node that starts with its cluster. */
export interface NodeSpec {
  readonly name: string;
  /** labels to register with, in addition to the default ones */
  readonly labels: Readonly<Record<string, string>>;
  readonly taints?: readonly Taint[];
  /** of its static pods */
  readonly manifestDir?: string;
}

export interface ClusterNodesOptions {
  readonly specs: readonly NodeSpec[];
  readonly target: Target;
  readonly kubeletVersion: string;
  /** where each node keeps its key, certificate and kubeconfig, in a folder of its name */
  readonly folder: string;
  /** see `networkFolder` */
  readonly networkFolder: string;
  /** see NodeRuntimeOptions */
  readonly anyImage?: boolean;
  /** runs when the nodes have registered, for the cluster's other initial objects */
  readonly onRegistered?: (deps: Ctx) => Promise<void>;
}

/** Facts of nodes are shown with the requests, from -v 2; `kubelab bootstrap` and `kubelab node` explain them. */
const QUIET_LEVEL = 2;

/** The number of nodes that start at a time: more would compete for the processors, and the first would be ready as late as the last. */
const STARTS_AT_A_TIME = 3;
const READY_POLL_MS = 100;

/**
 * Joins the nodes over HTTPS, as `kubelab node` does: a bootstrap token (one for all, deleted when the last has
 * joined), a signed certificate each, a kubelet with an embedded runtime. Resolves when all are Ready; they run
 * until the result is disposed of.
 * @throws LabError when one of them cannot start
 */
export async function startNodes(
  context: NodeContext,
  { clock, trace }: { readonly clock: Clock; readonly trace: Trace },
  { specs, target, kubeletVersion: kubeVersion, folder, networkFolder, anyImage, onRegistered }: ClusterNodesOptions,
): Promise<AsyncDisposable> {
  const { startNode } = await import("./node.js");
  const quiet = quieterTrace(trace, QUIET_LEVEL);
  const administrator = new Administrator(target, { clock, trace: quiet, random: context.random });
  const nodes: RunningNode[] = [];
  const proxies: AsyncDisposable[] = [];
  const close = async () => {
    await Promise.all(proxies.map((proxy) => proxy[Symbol.asyncDispose]()));
    await Promise.all(nodes.map((node) => node.close()));
    await rm(folder, { recursive: true, force: true });
    // Fails while other nodes of the cluster still run.
    await rmdir(networkFolder).catch(() => {});
    await removeAbandonedMemoryMedia();
  };
  try {
    const token = await administrator.makeToken("the nodes of this cluster", "auto", JOIN_TIMEOUT_MS);
    await inParallel(specs, STARTS_AT_A_TIME, async ({ name: nodeName, labels, taints, manifestDir }) => {
      const plan = { ...planUnasked(nodeName, join(folder, nodeName), token, labels), ...defined({ taints }) };
      const config = nodeConfiguration(kubeVersion, defined({ staticPodPath: manifestDir }));
      const node = await startNode(
        { context, clock, trace: quiet },
        { plan, kubeVersion, target, port: 0, networkFolder, config, ...defined({ anyImage }) },
      );
      nodes.push(node);
      node.done.catch((error: unknown) => report(trace, nodeName, error));
    });
    await administrator.tidyUp();
    const deps = { clock, trace: quiet, random: context.random };
    await onRegistered?.(deps);
    const names = new Set(specs.map(({ name }) => name));
    await untilReady(target, names, deps, context.signal);
    // It starts last, because the cluster is ready without it.
    const identity = proxyIdentity(deps, target, context.signal);
    for (const node of nodes) {
      proxies.push(startNodeProxy(deps, { node, kubeVersion: target.kubeVersion, identity }, context.signal));
    }
  } catch (error) {
    await close();
    throw error;
  } finally {
    await administrator.close();
  }
  return { [Symbol.asyncDispose]: close };
}

/** A kubelet on a busy machine reports its node Ready late. The nodes of other servers may never be. */
export async function untilReady(
  target: Target,
  names: ReadonlySet<string>,
  deps: Ctx,
  signal: AbortSignal,
): Promise<void> {
  const isNotReady = ({ name, status }: NodeLine) => names.has(name) && status !== "Ready";
  while ((await listNodes(target.admin, deps, signal)).some(isNotReady)) await deps.clock.sleep(READY_POLL_MS, signal);
}

/** A node that fails (its rights were removed, its folder is not writable) does not end the cluster. */
function report(trace: Trace, nodeName: string, error: unknown): void {
  if (isAbortError(error)) return;
  const why = messageOf(error);
  const hint = "It becomes NotReady soon; the cluster continues.";
  trace.emit({ kind: "error", message: `${nodeName} does not work any more: ${why}`, hint }, { actor: "kubelet" });
}

export interface NodeLine {
  readonly name: string;
  readonly status: string;
}

/** The nodes as the API server has them, by name. @throws LabError CLUSTER_UNREACHABLE, UNAUTHORIZED */
export async function listNodes(config: RestConfig, deps: Ctx, signal: AbortSignal): Promise<readonly NodeLine[]> {
  await using client = createClient(config, { ...deps, actor: "user" });
  const path = collectionPath(NODES);
  const { items } = await client.expect<{ readonly items: readonly NodeObject[] }>({ method: "GET", path, signal });
  return items.map((node) => ({ name: node.metadata.name ?? "", status: nodeStatusText(node) }));
}

/** As kubectl words it: `Ready`, `NotReady`, `Ready,SchedulingDisabled`. */
export function nodeStatusText(node: NodeObject): string {
  const ready = nodeCondition(node, "Ready")?.status === "True" ? "Ready" : "NotReady";
  return node.spec?.["unschedulable"] === true ? `${ready},SchedulingDisabled` : ready;
}
