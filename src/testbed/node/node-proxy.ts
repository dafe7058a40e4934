import type { RestConfig } from "../../staging/client-go/rest/client.js";
import { createClient } from "../../staging/client-go/rest/create-client.js";
import type { Ctx } from "../../trace/ctx.js";
import { traceOfNode } from "../../trace/view.js";
import { ChildAbort } from "../../util/async/abort.js";
import { isAbortError, messageOf } from "../../util/errors.js";
import type { Target } from "../target/target.js";
import type { RunningNode } from "./node.js";

export interface NodeProxyOptions {
  readonly node: RunningNode;
  readonly kubeVersion: string;
  /** kube-proxy's own: see `createProxyIdentity` */
  readonly identity: Promise<RestConfig>;
}

/** One for all nodes. The proxies that wait for it report its failure. */
export function proxyIdentity(deps: Ctx, target: Target, signal: AbortSignal): Promise<RestConfig> {
  const identity = import("./proxy-identity.js").then(({ createProxyIdentity }) => {
    return deps.trace.detached(() => createProxyIdentity(deps, target.admin, signal), "start");
  });
  identity.catch(() => {});
  return identity;
}

/**
 * Runs kube-proxy for a node with an embedded runtime, in the background. Its code is loaded on demand. A node with
 * another runtime has its own kube-proxy.
 */
export function startNodeProxy(deps: Ctx, options: NodeProxyOptions, signal: AbortSignal): AsyncDisposable {
  const stop = new ChildAbort(signal);
  const { nodeName } = options.node;
  const trace = traceOfNode(deps.trace, nodeName);
  const running = trace.detached(() => run({ ...deps, trace }, options, stop.signal), "start");
  const ended = running.catch((error: unknown) => {
    if (stop.signal.aborted || isAbortError(error)) return;
    const message = `kube-proxy of ${nodeName} has ended: ${messageOf(error)}`;
    const hint = "Services keep the rules that they have. A new node gets a new kube-proxy.";
    trace.emit({ kind: "error", message, hint }, { actor: "proxy" });
  });
  return {
    [Symbol.asyncDispose]: async () => {
      stop[Symbol.dispose]();
      stop.abort();
      await ended;
    },
  };
}

async function run(deps: Ctx, { node, kubeVersion, identity }: NodeProxyOptions, signal: AbortSignal): Promise<void> {
  const { nodeName, runtime } = node;
  if (runtime === undefined) return;
  const config = await identity;
  signal.throwIfAborted();
  const { ProxyServer } = await import("../../cluster/kube-proxy/proxy-server.js");
  await using client = createClient(config, { ...deps, actor: "proxy", instance: nodeName });
  const restore = async (table: Parameters<typeof runtime.control.restoreRules>[0]) =>
    runtime.control.restoreRules(table);
  await new ProxyServer({ ...deps, client, restore }, { nodeName, kubeVersion }).run(signal);
}
