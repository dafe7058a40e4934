import type { RestConfig } from "../../client-go/rest/client.js";
import { createClient } from "../../client-go/rest/create-client.js";
import type { Ctx } from "../../trace/ctx.js";
import { quieterTrace } from "../../trace/view.js";
import { ChildAbort } from "../../util/abort.js";
import { inParallel } from "../../util/concurrency.js";
import { isAbortError, messageOf } from "../../util/errors.js";
import type { NodeSpec } from "../cluster-nodes.js";
import { nodeConfiguration } from "../kubelet-config.js";
import { DEFAULT_STAGES } from "./default-stages.js";
import { SimulatedNode } from "./node.js";
import { parseStages } from "./parse-stages.js";
import { SimulatedPods } from "./pods.js";
import type { Stage } from "./stage.js";

export interface SimulationOptions {
  readonly admin: RestConfig;
  readonly kubeVersion: string;
  readonly specs: readonly Pick<NodeSpec, "name" | "labels">[];
  /** tried before the built-in ones */
  readonly stages: readonly Stage[];
}

/** A thousand nodes renew a hundred Leases a second. */
const QUIET_LEVEL = 3;
const STARTS_AT_A_TIME = 16;

/**
 * Creates nodes without containers, keeps them Ready, and takes their pods through stages, until the result is disposed of. The idea
 * is kwok's.
 * @throws LabError when the nodes cannot be created
 */
export async function startSimulatedNodes(
  { clock, random, trace }: Ctx,
  { admin, kubeVersion, specs, stages }: SimulationOptions,
  signal: AbortSignal,
): Promise<AsyncDisposable> {
  const ctx = { clock, random, trace: quieterTrace(trace, QUIET_LEVEL) };
  const client = createClient(admin, { ...ctx, actor: "kubelet", userAgent: "kubelab-simulated-nodes" });
  const deps = { ...ctx, client };
  const stop = new ChildAbort(signal);
  const loops: Promise<void>[] = [];
  const keep = (loop: Promise<void>) => loops.push(loop.catch((error: unknown) => report(trace, error)));
  const close = async () => {
    stop.abort();
    stop[Symbol.dispose]();
    await Promise.all(loops);
    await client.close();
  };
  try {
    const config = nodeConfiguration(kubeVersion);
    const nodes = specs.map(
      (spec) => new SimulatedNode(deps, { ...spec, index: indexIn(spec.name), kubeVersion, config }),
    );
    await inParallel(nodes, STARTS_AT_A_TIME, async (node) => {
      await node.register(stop.signal);
      keep(node.run(stop.signal));
    });
    const byName = new Map(nodes.map((node) => [node.options.name, node]));
    keep(
      new SimulatedPods(deps, byName, [...stages, ...parseStages(DEFAULT_STAGES, "built-in stages")]).run(stop.signal),
    );
  } catch (error) {
    await close();
    throw error;
  }
  return { [Symbol.asyncDispose]: close };
}

/** `node-1` is 0: nodes of several servers have different names, and so different addresses. */
function indexIn(name: string): number {
  return Number(/\d+$/.exec(name)?.[0] ?? 1) - 1;
}

function report(trace: Ctx["trace"], error: unknown): void {
  if (isAbortError(error)) return;
  const message = `simulated nodes do not work any more: ${messageOf(error)}`;
  trace.emit({ kind: "error", message, hint: "The cluster goes on without them." }, { actor: "kubelet" });
}
