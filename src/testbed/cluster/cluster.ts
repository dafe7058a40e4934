import { rm } from "node:fs/promises";
import type { DiskConfig } from "../../cluster/apiserver/storage/disk/config.js";
import type { EtcdConfig } from "../../cluster/apiserver/storage/etcd/config.js";
import type { ControlPlane } from "../../cluster/control-plane/control-plane.js";
import { kubeconfigText } from "../../staging/client-go/clientcmd/kubeconfig-text.js";
import type { RestConfig } from "../../staging/client-go/rest/client.js";
import type { Ctx } from "../../trace/ctx.js";
import type { Trace } from "../../trace/trace.js";
import { untilAborted } from "../../util/async/concurrency.js";
import { type Clock, SystemClock } from "../../util/clock.js";
import { defined } from "../../util/defined.js";
import { writeFileAtomic } from "../../util/os/files.js";
import type { NodeContext, ProcessContext } from "../context.js";
import type { NodeSpec } from "../node/cluster-nodes.js";
import type { Stage } from "../simulated/stage.js";
import {
  type ClusterState,
  clusterKubeconfig,
  clusterNodesFolder,
  clusterServerId,
  makeClustersFolder,
  removeClusterState,
  writeClusterState,
} from "../target/cluster-state.js";
import { networkFolder, sharedNetworkFolder } from "../target/state-folder.js";
import type { EarlierNodes } from "./earlier-nodes.js";

/** Labels that nodes of a cluster register with. */
export interface NodeLabels {
  /** undefined: all nodes */
  readonly node?: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
}

export interface SimulatedNodes {
  readonly stages: readonly Stage[];
}

export interface ClusterOptions {
  readonly name: string;
  /** 0: a free one */
  readonly port: number;
  readonly kubeVersion: string;
  /** of its nodes; default: the cluster's */
  readonly kubeletVersion?: string;
  readonly speed?: number;
  /** how many nodes are joined and kept Ready; 0 with `disk`: as many as the cluster had */
  readonly nodes: number;
  readonly nodeLabels?: readonly NodeLabels[];
  /** the nodes have no containers: their pods take these stages, and the built-in ones; default with `disk`: as before */
  readonly simulated?: SimulatedNodes;
  /** a control-plane node with its static pods, CoreDNS and kube-proxy; see `createSystemPods` */
  readonly systemPods?: boolean;
  /** the API server checks kubelets' certificates with the cluster's CA */
  readonly verifyKubelets?: boolean;
  /** the API server serves HTTP/2, too */
  readonly http2?: boolean;
  /** its nodes pull images that the registry lacks, as placeholders */
  readonly anyImage?: boolean;
  /** keeps the cluster there; default: in memory */
  readonly etcd?: EtcdConfig;
  /** the same, in a folder */
  readonly disk?: DiskConfig;
}

export interface ClusterDeps {
  readonly context: ProcessContext & NodeContext;
  readonly clock: Clock;
  readonly trace: Trace;
  /** reports the progress of a long start */
  readonly onProgress?: (text: string) => void;
}

/**
 * Runs the control plane and its nodes in this process until the signal aborts.
 * @param onReady called when other processes can connect
 * @throws LabError USAGE when the port is taken; CLUSTER_UNREACHABLE, CLUSTER_NOT_TRUSTED when etcd does not answer;
 * USAGE, BAD_FILE when the folder cannot be used
 */
export async function runCluster(
  deps: ClusterDeps,
  options: ClusterOptions,
  onReady: (state: ClusterState) => void,
): Promise<void> {
  const { context, clock, trace } = deps;
  const { name, port, kubeVersion, speed = 1, systemPods, verifyKubelets = false } = options;
  const { etcd, disk, http2, kubeletVersion, anyImage } = options;
  const { env, random, signal } = context;
  const startProblems = apiServerProblems(trace);
  const { startEmbeddedControlPlane } = await import("../target/embedded-control-plane.js");
  await using controlPlane = await startEmbeddedControlPlane({
    clock,
    random,
    trace,
    kubeVersion,
    port,
    verifyKubelets,
    dnsInPods: systemPods === true,
    ...defined({ disk, http2 }),
    ...(etcd === undefined ? {} : { etcd, ending: signal, serverId: clusterServerId(env, name) }),
  });
  const { admin, url, caPem } = controlPlane;
  const isContinued = disk !== undefined && options.nodes === 0;
  const earlier = isContinued ? await readEarlierNodes(admin, { clock, random, trace }, signal) : undefined;
  const simulated = options.simulated ?? (earlier?.areSimulated === true ? { stages: [] } : undefined);
  // A command that joins later starts at the time that the clock has then.
  const onMoved = async () => {
    if (clock instanceof SystemClock) await writeClusterState(env, { ...state, clock: clock.reading });
  };
  await using held =
    clock instanceof SystemClock ? await holdClock({ clock, random, trace }, admin, onMoved, signal) : undefined;
  const state: ClusterState = {
    version: 1,
    name,
    pid: process.pid,
    url,
    kubeconfig: clusterKubeconfig(env, name),
    kubeVersion,
    speed,
    ...(held === undefined ? {} : { clock: held.clock.reading, timeSocket: held.socket }),
    nodes: earlier?.count ?? options.nodes,
    ...defined({ data: disk?.folder, http2, kubeletVersion }),
    ...(etcd === undefined ? {} : { ...placeOf(etcd), networkFolder: await sharedNetworkFolder(caPem) }),
    ...(verifyKubelets ? { verifyKubelets } : {}),
    ...(anyImage === true ? { anyImage } : {}),
    ...(systemPods === true ? { systemPods } : {}),
    ...(simulated === undefined ? {} : { simulated: true }),
    ...defined({ startProblems: startProblems() }),
  };
  await using _nodes = await startClusterNodes(deps, state, controlPlane, { ...options, ...defined({ simulated }) });
  await writeClusterFiles(env, state, admin);
  onReady(state);
  try {
    await untilAborted(signal);
  } finally {
    await removeClusterState(env, name);
  }
}

async function holdClock(
  ctx: Ctx & { readonly clock: SystemClock },
  admin: RestConfig,
  onMoved: () => Promise<void>,
  signal: AbortSignal,
) {
  const { serveClock } = await import("../time/serve-clock.js");
  return serveClock(ctx, admin, onMoved, signal);
}

async function readEarlierNodes(admin: ControlPlane["admin"], ctx: Ctx, signal: AbortSignal): Promise<EarlierNodes> {
  const { earlierNodes } = await import("./earlier-nodes.js");
  return earlierNodes(admin, workerName, ctx, signal);
}

function placeOf({ servers, ...etcdFiles }: EtcdConfig): Pick<ClusterState, "etcd" | "etcdFiles"> {
  return {
    etcd: servers,
    ...(etcdFiles.caFile === undefined && etcdFiles.certFile === undefined ? {} : { etcdFiles }),
  };
}

/** Only the first ones are kept, because the log has all. */
const MAX_START_PROBLEMS = 20;

/** @returns a function that ends the collection and returns the API server's problems */
function apiServerProblems(trace: Trace): () => readonly string[] | undefined {
  const problems: string[] = [];
  let isOver = false;
  trace.addSink({
    level: 0,
    write(event) {
      if (isOver || problems.length >= MAX_START_PROBLEMS) return;
      if (event.kind === "error" && event.actor === "apiserver") problems.push(event.message);
    },
  });
  return () => {
    isOver = true;
    return problems.length === 0 ? undefined : problems;
  };
}

/** Writes the kubeconfig before the state file: a process that finds the state can connect. */
export async function writeClusterFiles(
  env: ProcessContext["env"],
  state: ClusterState,
  admin: RestConfig,
): Promise<void> {
  const { name, kubeconfig } = state;
  await makeClustersFolder(env);
  const names = { cluster: name, user: `${name}-admin`, context: name };
  await writeFileAtomic(kubeconfig, kubeconfigText(admin, names), { mode: 0o600 });
  await writeClusterState(env, state);
}

/** The nodes that the cluster starts with; they end before the control plane does. */
async function startClusterNodes(
  { context, clock, trace, onProgress }: ClusterDeps,
  { name, url, kubeVersion, kubeletVersion = kubeVersion, nodes: count, systemPods, ...state }: ClusterState,
  controlPlane: ControlPlane,
  { nodeLabels = [], simulated }: Pick<ClusterOptions, "nodeLabels" | "simulated">,
): Promise<AsyncDisposable | undefined> {
  if (count === 0 && systemPods !== true) return undefined;
  const { admin, nodeNames } = controlPlane;
  const { startNodes } = await import("../node/cluster-nodes.js");
  const close = async () => {};
  const description = `cluster ${name} at ${url}`;
  const target = { kind: "joined", admin, description, kubeVersion, close, [Symbol.asyncDispose]: close } as const;
  const labelsOf = (nodeName: string) =>
    Object.assign({}, ...nodeLabels.filter(({ node = nodeName }) => node === nodeName).map(({ labels }) => labels));
  const workers = await nodeNames.claim(count, workerName);
  // Labels name nodes by their place among those of this server.
  const specs: NodeSpec[] = workers.map((one, index) => ({ name: one, labels: labelsOf(workerName(index + 1)) }));
  if (simulated !== undefined) {
    const { startSimulatedNodes } = await import("../simulated/start.js");
    const ctx = { clock, trace, random: context.random };
    const onRegistered = (done: number) => onProgress?.(`${done} of ${count} simulated nodes`);
    const shape = { kubeVersion: kubeletVersion, specs, onRegistered, ...simulated };
    return startSimulatedNodes(ctx, controlPlane, shape, context.signal);
  }
  const folder = clusterNodesFolder(context.env, name);
  await rm(folder, { recursive: true, force: true });
  const sharedFolder = state.networkFolder ?? networkFolder(context.env, url);
  const options = {
    specs,
    target,
    kubeletVersion,
    folder,
    networkFolder: sharedFolder,
    ...defined({ anyImage: state.anyImage }),
  };
  if (systemPods !== true) return startNodes(context, { clock, trace }, options);
  const { CONTROL_PLANE_NODE, controlPlaneNode, createSystemPods } = await import("../system-pods/start.js");
  const nameOf = (number: number) => (number === 1 ? CONTROL_PLANE_NODE : `${CONTROL_PLANE_NODE}-${number}`);
  const [nodeName = CONTROL_PLANE_NODE] = await nodeNames.claim(1, nameOf);
  specs.unshift(await controlPlaneNode(nodeName, folder, target, state));
  const onRegistered = (deps: Ctx) => createSystemPods(deps, nodeName, target, context.signal);
  return startNodes(context, { clock, trace }, { ...options, onRegistered });
}

function workerName(number: number): string {
  return `node-${number}`;
}
