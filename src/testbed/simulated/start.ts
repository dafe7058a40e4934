import type { ControlPlane } from "../../cluster/control-plane/control-plane.js";
import { runControllers } from "../../cluster/controllers/run-controllers.js";
import { readMachineFacts } from "../../kubelet/nodestatus/machine.js";
import { StatusError } from "../../staging/apimachinery/errors.js";
import { SharedReflectors } from "../../staging/client-go/informers/shared-reflector.js";
import type { Ctx } from "../../trace/ctx.js";
import { quieterTrace } from "../../trace/view.js";
import { ChildAbort } from "../../util/async/abort.js";
import { inParallel } from "../../util/async/concurrency.js";
import type { NodeSpec } from "../node/cluster-nodes.js";
import { nodeConfiguration } from "../node/kubelet-config.js";
import { DEFAULT_STAGES } from "./default-stages.js";
import { SimulatedNode } from "./node.js";
import { SimulatedNodesController } from "./nodes.js";
import { parseStages } from "./parse-stages.js";
import { SimulatedPodsController } from "./pods.js";
import type { Stage } from "./stage.js";

export interface SimulationOptions {
  readonly kubeVersion: string;
  readonly specs: readonly Pick<NodeSpec, "name" | "labels">[];
  /** tried before the built-in ones */
  readonly stages: readonly Stage[];
  /** called with the number of nodes that have registered so far */
  readonly onRegistered?: (count: number) => void;
}

/** A thousand nodes renew a hundred Leases a second. */
const QUIET_LEVEL = 3;
/** The batch of one turn; controllers already work on the first nodes meanwhile. */
const REGISTERED_AT_ONCE = 25;

/**
 * Creates nodes without containers, keeps them Ready, and takes their pods through stages, until the result is disposed
 * of. The idea is kwok's. They run in the control plane's process, because an HTTPS request costs more than their work.
 * @throws StatusError when a node cannot be created
 */
export async function startSimulatedNodes(
  { clock, random, trace: loud }: Ctx,
  { loopback }: Pick<ControlPlane, "loopback">,
  { kubeVersion, specs, stages, onRegistered }: SimulationOptions,
  signal: AbortSignal,
): Promise<AsyncDisposable> {
  const trace = quieterTrace(loud, QUIET_LEVEL);
  const client = loopback(trace);
  const shared = { kubeVersion, config: nodeConfiguration(kubeVersion), machine: readMachineFacts("") };
  const nodes = new Map(
    specs.map((spec) => [spec.name, new SimulatedNode({ ...spec, ...shared, index: indexIn(spec.name) })]),
  );
  const allStages = [...stages, ...parseStages(DEFAULT_STAGES, "built-in stages")];
  const reflectors = new SharedReflectors(client, trace);
  const deps = { clock, random, trace, client, reflectors, kubeVersion, nodes };
  const stop = new ChildAbort(signal);
  const controllers = [new SimulatedNodesController(deps), new SimulatedPodsController(deps, allStages)];
  const running = runControllers(controllers, deps, stop.signal);
  const close = async () => {
    stop.abort();
    stop[Symbol.dispose]();
    await Promise.all([running, reflectors.close()]);
  };
  try {
    let registered = 0;
    await inParallel([...nodes.values()], REGISTERED_AT_ONCE, async (node) => {
      stop.signal.throwIfAborted();
      await client.create("nodes", undefined, node.initialNode(clock.now())).catch(unlessThere);
      onRegistered?.(++registered);
    });
  } catch (error) {
    await close();
    throw error;
  }
  return { [Symbol.asyncDispose]: close };
}

/** A Node of an earlier process continues. */
function unlessThere(error: unknown): void {
  if (!(error instanceof StatusError) || error.reason !== "AlreadyExists") throw error;
}

/** `node-1` is 0: nodes of several servers have different names, and so different addresses. */
function indexIn(name: string): number {
  return Number(/\d+$/.exec(name)?.[0] ?? 1) - 1;
}
