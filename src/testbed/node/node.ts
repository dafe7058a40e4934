import type { HostedRuntime } from "../../cluster/runtime/host/host.js";
import type { KubeletConfiguration } from "../../kubelet/apis/config/defaults.js";
import type { ConfigField } from "../../kubelet/apis/config/fields.js";
import type { KubeletHooks, RunningKubelet } from "../../kubelet/app/kubelet.js";
import type { NodeMachine } from "../../kubelet/app/options.js";
import { startKubelet } from "../../kubelet/app/start-kubelet.js";
import type { CertificateStore } from "../../kubelet/certificate/certificate-store.js";
import type { GcPolicy } from "../../kubelet/container/generic-runtime.js";
import { diskBytes } from "../../kubelet/nodestatus/resources.js";
import { getDirFsInfo } from "../../kubelet/stats/fs-info.js";
import { unitValue } from "../../staging/apimachinery/quantity.js";
import { parseGoDuration } from "../../staging/apimachinery/time.js";
import type { CriClient } from "../../staging/cri/remote/create-cri-client.js";
import type { Trace } from "../../trace/trace.js";
import { traceOfNode } from "../../trace/view.js";
import { Disposables } from "../../util/async/disposables.js";
import type { Clock } from "../../util/clock.js";
import { defined } from "../../util/defined.js";
import { OwnedClock } from "../../util/owned-clock.js";
import type { NodeContext } from "../context.js";
import type { Target } from "../target/target.js";
import { openStore, prepareNode } from "./join.js";
import type { JoinPlan } from "./join-plan.js";
import { nodeConfiguration } from "./kubelet-config.js";
import { realUsage, simulatedUsage } from "./machine-usage.js";
import { addressesInNetwork, claimNodeAddress } from "./node-address.js";
import { makeNodeFiles, nodeRootIn } from "./node-files.js";
import { type NodeRuntimeOptions, openNodeRuntime } from "./node-runtime.js";
import { PodNetworkDialer } from "./pod-network-dialer.js";
import { simulatedDisk } from "./simulated-disk.js";

export interface StartNodeOptions extends Omit<NodeRuntimeOptions, "nodeAddress" | "nodeRoot"> {
  /** name, folder of key and certificate, capacity, how it joins */
  readonly plan: JoinPlan;
  readonly kubeVersion: string;
  /** undefined with --server: only the cluster's address is known */
  readonly target: Target | undefined;
  /** whether kubelab runs the cluster; default: unless the target is a real one, or unknown */
  readonly isOwnCluster?: boolean;
  /** as `openStore` gave it; default: opened here */
  readonly store?: CertificateStore;
  /** pods' files and logs go below; default: the folder of the certificate */
  readonly rootDir?: string;
  /** the runtime at `cri` is not this machine's container runtime: its pods see a folder in place of the machine */
  readonly isSimulated?: boolean;
  readonly hooks?: KubeletHooks;
  /** default: that of a node on an embedded runtime */
  readonly config?: KubeletConfiguration;
  /** see KubeletOptions */
  readonly gcPolicy?: GcPolicy;
  readonly port?: number;
  /** see JoinSession */
  readonly testsIdentity?: boolean;
  readonly fixedPorts?: readonly ConfigField[];
}

/** A small kubelet that has joined a cluster, with its runtime. */
export interface RunningNode extends AsyncDisposable {
  readonly nodeName: string;
  readonly kubelet: RunningKubelet;
  readonly cri: CriClient;
  /** only of an embedded one: changes it behind the kubelet's back */
  readonly runtime: HostedRuntime | undefined;
  /** Unix ms */
  readonly certificateNotAfterMs: number;
  /** Rejects when the kubelet cannot continue; never resolves before `close`. */
  readonly done: Promise<void>;
  /** Ends the kubelet, then the embedded runtime with its containers. Those of a real runtime run on. Safe to call twice. */
  close(): Promise<void>;
}

/**
 * Starts a node: a runtime if none is named, the node's certificate (bootstrapping if necessary), and the kubelet,
 * which only uses that certificate. Resolves when the node has registered and reported its status.
 * @throws LabError as `prepareNode`, `createCriClient` and `startKubelet`
 */
export async function startNode(
  session: { readonly context: NodeContext; readonly clock: Clock; readonly trace: Trace },
  options: StartNodeOptions,
): Promise<RunningNode> {
  const { context, clock, trace } = session;
  const { plan, kubeVersion, target } = options;
  const machineKind = options.cri === undefined || options.isSimulated === true ? "simulated" : "real";
  const config = options.config ?? nodeConfiguration(kubeVersion, {}, machineKind);
  const opened = new Disposables();
  const close = () => opened.close();
  try {
    const store = options.store ?? (await openStore(plan));
    const kubeletClock = new OwnedClock(clock, `kubelet ${plan.nodeName}`);
    const nodeAddress = options.machineRuntime?.nodeAddress ?? (await claimAddress(options, opened));
    const runtimeTrace = traceOfNode(trace, plan.nodeName);
    const opening = openNodeRuntime(
      { clock, trace: runtimeTrace, signal: context.signal, nodeName: plan.nodeName },
      {
        ...options,
        runtimeRequestTimeoutMs: parseGoDuration(config.runtimeRequestTimeout),
        machine: {
          cpus: Math.max(1, unitValue(plan.resources.cpu)),
          memoryBytes: unitValue(plan.resources.memory),
        },
        ...defined({ nodeAddress }),
        nodeRoot: nodeRootIn(options.rootDir ?? plan.folder),
      },
    );
    const settled = opening.catch(() => undefined);
    opened.defer(async () => (await settled)?.close());
    // A runtime that the user named must answer before the node joins; an embedded one starts meanwhile.
    if (options.cri !== undefined) await opening;
    const prepared = await prepareNode({
      ...{ context, clock: kubeletClock, trace, plan, kubeVersion, config, target, store },
      ...defined({ testsIdentity: options.testsIdentity, parts: options.hooks?.identity }),
      ...(nodeAddress !== undefined && isInOwnCluster(options) ? { addresses: addressesInNetwork(nodeAddress) } : {}),
    });
    opened.defer(() => prepared.agent.close());
    const { runtime, cri, polling } = await opening;
    const rootDir = options.rootDir ?? plan.folder;
    const kubelet = await startKubelet(
      {
        agent: prepared.agent,
        cri,
        polling,
        store,
        clock: kubeletClock,
        trace,
        random: context.random,
        ...ownParts(options, runtime),
      },
      {
        nodeName: plan.nodeName,
        kubeVersion,
        resources: plan.resources,
        rootDir,
        machine:
          runtime === undefined && options.isSimulated !== true
            ? realMachine()
            : await simulatedMachine({ clock, rootDir, plan, polling, nodeAddress, config }),
        config,
        ...defined({
          port: options.port,
          fixedPorts: options.fixedPorts,
          gcPolicy: options.gcPolicy,
          expirationSeconds: plan.expirationSeconds,
        }),
      },
      context.signal,
    );
    opened.defer(() => kubelet.close());
    const { nodeName } = plan;
    const { done } = kubelet;
    const certificateNotAfterMs = prepared.notAfterMs;
    return { nodeName, kubelet, cri, runtime, certificateNotAfterMs, done, close, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Only the embedded runtimes of one cluster have a network of nodes. */
async function claimAddress(
  { cri, machineRuntime, networkFolder, plan }: StartNodeOptions,
  opened: Disposables,
): Promise<string | undefined> {
  if (cri !== undefined || machineRuntime !== undefined || networkFolder === undefined) return undefined;
  const { address, release } = await claimNodeAddress(networkFolder, plan.nodeName);
  opened.defer(release);
  return address;
}

/** A real cluster's API server reaches this kubelet at the machine's loopback address, if at all. */
function isInOwnCluster({ isOwnCluster, target }: StartNodeOptions): boolean {
  return isOwnCluster ?? (target !== undefined && target.kind !== "real");
}

function ownParts({ hooks }: StartNodeOptions, runtime: HostedRuntime | undefined) {
  const socket = runtime?.networkSocket;
  return defined({ hooks, dialer: socket === undefined ? undefined : new PodNetworkDialer(socket) });
}

function realMachine(): NodeMachine {
  return {
    hostPaths: { kind: "real" },
    ownsCgroups: false,
    hostsFile: "/etc/hosts",
    getDirFsInfo,
    ...defined({ usage: realUsage() }),
  };
}

interface SimulatedMachine {
  readonly clock: Clock;
  readonly rootDir: string;
  readonly plan: JoinPlan;
  /** called for each measurement of the disk */
  readonly polling: CriClient;
  readonly nodeAddress: string | undefined;
  readonly config: KubeletConfiguration;
}

/** Pods on the embedded runtime see a folder in place of this machine, so that they cannot read the learner's files. */
async function simulatedMachine(machine: SimulatedMachine): Promise<NodeMachine> {
  const { clock, rootDir, plan, polling, config, nodeAddress = "127.0.0.1" } = machine;
  const { root, hostsFile } = await makeNodeFiles(rootDir, { nodeName: plan.nodeName, address: nodeAddress, config });
  return {
    hostPaths: { kind: "below", root },
    ownsCgroups: true,
    hostsFile,
    getDirFsInfo: simulatedDisk(
      { imageService: polling.images, clock },
      { capacityBytes: diskBytes(plan.resources), rootDir },
    ),
    usage: simulatedUsage(clock),
  };
}
