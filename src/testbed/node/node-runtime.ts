import type { HostedRuntime, HostOptions } from "../../cluster/runtime/host/host.js";
import { type CriClient, createCriClient } from "../../staging/cri/remote/create-cri-client.js";
import type { Trace } from "../../trace/trace.js";
import { quieterTrace } from "../../trace/view.js";
import { Disposables } from "../../util/async/disposables.js";
import type { Clock } from "../../util/clock.js";
import { defined } from "../../util/defined.js";

export interface NodeRuntimeOptions {
  /** the kubelet's release */
  readonly kubeVersion: string;
  /** a CRI endpoint; undefined: an embedded runtime is started for this node, and ends with it */
  readonly cri?: string;
  /** an embedded runtime that the caller closes, so that it can outlive the kubelet */
  readonly machineRuntime?: HostedRuntime;
  /** an embedded runtime that the caller has begun to start, and closes; the node joins meanwhile */
  readonly startingRuntime?: Promise<HostedRuntime>;
  /** ms; default: two minutes */
  readonly runtimeRequestTimeoutMs?: number;
  /** ms that the embedded runtime needs to pull an image; default: its own */
  readonly pullMs?: number;
  /** it pulls images that its registry lacks, as placeholders; default: false */
  readonly anyImage?: boolean;
  /** through which the cluster's embedded runtimes find each other: see `networkFolder`; undefined: there are no others */
  readonly networkFolder?: string;
  /** an embedded runtime's containers see this capacity; default: the runtime's own */
  readonly machine?: HostOptions["machine"];
  /** an embedded runtime's containers see this folder as the node's root */
  readonly nodeRoot?: string;
  /** the node's address in the network of `networkFolder` */
  readonly nodeAddress?: string;
}

/** A kubelet's connections to its container runtime. */
export interface NodeRuntime {
  /** only of an embedded one: changes it behind the kubelet's back */
  readonly runtime: HostedRuntime | undefined;
  readonly cri: CriClient;
  /** for PLEG's calls every second, which would drown the other facts */
  readonly polling: CriClient;
  /** Ends the connections, then the embedded runtime that was started here. */
  close(): Promise<void>;
}

interface NodeRuntimeDeps {
  readonly clock: Clock;
  readonly trace: Trace;
  readonly signal: AbortSignal;
  readonly nodeName: string;
}

/** Connects to the runtime that the options name, or starts one. @throws LabError as `hostRuntime` and `createCriClient` */
export async function openNodeRuntime(deps: NodeRuntimeDeps, options: NodeRuntimeOptions): Promise<NodeRuntime> {
  const { clock, trace, signal } = deps;
  const opened = new Disposables();
  try {
    const given = options.machineRuntime ?? options.startingRuntime;
    const own = options.cri === undefined && given === undefined;
    const runtime = await (own ? startEmbeddedRuntime(deps, options) : given);
    if (own) opened.defer(async () => runtime?.close());
    const { kubeVersion, runtimeRequestTimeoutMs } = options;
    const settings = { kubeVersion, ...defined({ runtimeRequestTimeoutMs }) };
    const endpoint = options.cri ?? runtime?.endpoint ?? "";
    const cri = await createCriClient(endpoint, { clock, trace, actor: "kubelet" }, settings, signal);
    opened.defer(() => cri.close());
    const pollingDeps = { clock, trace: quieterTrace(trace, 3), actor: "kubelet" } as const;
    const polling = await createCriClient(endpoint, pollingDeps, settings, signal);
    opened.defer(() => polling.close());
    return { runtime, cri, polling, close: () => opened.close() };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

/** The socket has its own folder, because paths of sockets must be short. */
async function startEmbeddedRuntime(
  { clock, trace, nodeName }: Omit<NodeRuntimeDeps, "signal">,
  { pullMs, anyImage, networkFolder, nodeAddress, machine, nodeRoot }: NodeRuntimeOptions,
): Promise<HostedRuntime> {
  const { hostRuntime } = await import("../../cluster/runtime/host/host.js");
  // The kubelet's facts are the main story; the runtime's are details.
  const peers = networkFolder === undefined ? undefined : { folder: networkFolder, node: nodeName };
  const network = defined({ peers, address: nodeAddress });
  const owner = `runtime ${nodeName}`;
  return hostRuntime({
    clock,
    trace,
    nodeName,
    traceLevel: 2,
    network,
    owner,
    ...defined({ pullMs, anyImage, machine, nodeRoot }),
  });
}
