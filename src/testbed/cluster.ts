import { rm } from "node:fs/promises";
import { kubeconfigText } from "../client-go/clientcmd/kubeconfig-text.js";
import type { RestConfig } from "../client-go/rest/client.js";
import type { ControlPlane } from "../controlplane/control-plane.js";
import type { DiskConfig } from "../controlplane/storage/disk/config.js";
import type { EtcdConfig } from "../controlplane/storage/etcd/config.js";
import type { Ctx } from "../trace/ctx.js";
import type { Trace } from "../trace/trace.js";
import { type Clock, SystemClock } from "../util/clock.js";
import { untilAborted } from "../util/concurrency.js";
import { defined } from "../util/defined.js";
import { LabError } from "../util/errors.js";
import { writeFileAtomic } from "../util/files.js";
import type { NodeSpec } from "./cluster-nodes.js";
import {
  type ClusterState,
  clusterKubeconfig,
  clusterNames,
  clusterNodesFolder,
  clusterServerId,
  isRunning,
  lockCluster,
  makeClustersFolder,
  readClusterState,
  removeClusterState,
  writeClusterState,
} from "./cluster-state.js";
import type { NodeContext, ProcessContext } from "./context.js";
import { countEarlierNodes } from "./earlier-nodes.js";
import type { Stage } from "./simulated/stage.js";
import { networkFolder, sharedNetworkFolder } from "./state-folder.js";

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
  readonly speed?: number;
  /** how many nodes are joined and kept Ready; 0 with `disk`: as many as the cluster had */
  readonly nodes: number;
  readonly nodeLabels?: readonly NodeLabels[];
  /** the nodes have no containers: their pods take these stages, and the built-in ones */
  readonly simulated?: SimulatedNodes;
  /** a control-plane node with its static pods, CoreDNS and kube-proxy; see `createSystemPods` */
  readonly systemPods?: boolean;
  /** the API server checks kubelets' certificates with the cluster's CA */
  readonly verifyKubelets?: boolean;
  /** the API server serves HTTP/2, too */
  readonly http2?: boolean;
  /** keeps the cluster there; default: in memory */
  readonly etcd?: EtcdConfig;
  /** the same, in a folder */
  readonly disk?: DiskConfig;
}

export interface ClusterDeps {
  readonly context: ProcessContext & NodeContext;
  readonly clock: Clock;
  readonly trace: Trace;
}

const CLAIM_POLL_MS = 50;
const CLAIM_TIMEOUT_MS = 15_000;
const STOP_POLL_MS = 20;
const STOP_TIMEOUT_MS = 5000;

/**
 * Runs the control plane and its nodes in this process until the signal aborts.
 * @param onReady called when other processes can connect
 * @throws LabError USAGE when the port is taken; CLUSTER_UNREACHABLE, CLUSTER_NOT_TRUSTED when etcd does not answer;
 * USAGE, BAD_FILE when the folder cannot be used
 */
export async function runCluster(
  { context, clock, trace }: ClusterDeps,
  options: ClusterOptions,
  onReady: (state: ClusterState) => void,
): Promise<void> {
  const { name, port, kubeVersion, speed = 1, systemPods, verifyKubelets = false } = options;
  const { etcd, disk, http2, simulated } = options;
  const { env, random, signal } = context;
  const { startEmbeddedControlPlane } = await import("./embedded-control-plane.js");
  await using controlPlane = await startEmbeddedControlPlane({
    clock,
    random,
    trace,
    kubeVersion,
    port,
    verifyKubelets,
    dnsInPods: systemPods === true,
    ...defined({ disk, http2 }),
    ...(etcd === undefined ? {} : { etcd, serverId: clusterServerId(env, name) }),
  });
  const { admin, url, caPem } = controlPlane;
  const isContinued = disk !== undefined && options.nodes === 0;
  const earlier = () => countEarlierNodes(admin, workerName, { clock, random, trace }, signal);
  const count = isContinued ? await earlier() : options.nodes;
  const state: ClusterState = {
    version: 1,
    name,
    pid: process.pid,
    url,
    kubeconfig: clusterKubeconfig(env, name),
    kubeVersion,
    speed,
    ...(clock instanceof SystemClock ? { clock: clock.reading } : {}),
    nodes: count,
    ...defined({ data: disk?.folder, http2 }),
    ...(etcd === undefined ? {} : { etcd: etcd.servers, networkFolder: await sharedNetworkFolder(caPem) }),
    ...(verifyKubelets ? { verifyKubelets } : {}),
    ...(systemPods === true ? { systemPods } : {}),
    ...(simulated === undefined ? {} : { simulated: true }),
  };
  await using _nodes = await startClusterNodes({ context, clock, trace }, state, controlPlane, options);
  await writeClusterFiles(env, state, admin);
  onReady(state);
  try {
    await untilAborted(signal);
  } finally {
    await removeClusterState(env, name);
  }
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
  { context, clock, trace }: ClusterDeps,
  { name, url, kubeVersion, nodes: count, systemPods, ...state }: ClusterState,
  { admin, nodeNames }: ControlPlane,
  { nodeLabels = [], simulated }: Pick<ClusterOptions, "nodeLabels" | "simulated">,
): Promise<AsyncDisposable | undefined> {
  if (count === 0 && systemPods !== true) return undefined;
  const { startNodes } = await import("./cluster-nodes.js");
  const close = async () => {};
  const description = `cluster ${name} at ${url}`;
  const target = { kind: "joined", admin, description, kubeVersion, close, [Symbol.asyncDispose]: close } as const;
  const labelsOf = (nodeName: string) =>
    Object.assign({}, ...nodeLabels.filter(({ node = nodeName }) => node === nodeName).map(({ labels }) => labels));
  const workers = await nodeNames.claim(count, workerName);
  // Labels name nodes by their place among those of this server.
  const specs: NodeSpec[] = workers.map((one, index) => ({ name: one, labels: labelsOf(workerName(index + 1)) }));
  if (simulated !== undefined) {
    const { startSimulatedNodes } = await import("./simulated/start.js");
    const ctx = { clock, trace, random: context.random };
    return startSimulatedNodes(ctx, { admin, kubeVersion, specs, ...simulated }, context.signal);
  }
  const folder = clusterNodesFolder(context.env, name);
  await rm(folder, { recursive: true, force: true });
  const options = { specs, target, folder, networkFolder: state.networkFolder ?? networkFolder(context.env, url) };
  if (systemPods !== true) return startNodes(context, { clock, trace }, options);
  const { CONTROL_PLANE_NODE, controlPlaneNode, createSystemPods } = await import("./system-pods/start.js");
  const nameOf = (number: number) => (number === 1 ? CONTROL_PLANE_NODE : `${CONTROL_PLANE_NODE}-${number}`);
  const [nodeName = CONTROL_PLANE_NODE] = await nodeNames.claim(1, nameOf);
  specs.unshift(await controlPlaneNode(nodeName, folder, target, state));
  const onRegistered = (deps: Ctx) => createSystemPods(deps, nodeName, target, context.signal);
  return startNodes(context, { clock, trace }, { ...options, onRegistered });
}

function workerName(number: number): string {
  return `node-${number}`;
}

/** Reports that the state of a killed cluster was removed. */
export type ReportStale = (text: string) => void;

/**
 * Finds the running cluster of this name, or claims the name. Waits while another process starts or ends it.
 * @throws LabError FAILED when that takes too long
 */
export async function claimClusterName(
  context: ProcessContext,
  name: string,
  report: ReportStale,
): Promise<{ readonly running: ClusterState } | { readonly lock: AsyncDisposable }> {
  const clock = new SystemClock();
  for (let waitedMs = 0; ; waitedMs += CLAIM_POLL_MS) {
    const running = await runningCluster(context, name, report);
    if (running !== undefined) return { running };
    const answer = await lockCluster(context.env, name);
    if (answer.outcome === "taken") return { lock: answer.lock };
    if (waitedMs >= CLAIM_TIMEOUT_MS) {
      const message = `another process has been starting the cluster ${name} for 15 s (pid ${answer.pid})`;
      throw new LabError("FAILED", message, `End it by hand: kill ${answer.pid}`);
    }
    await clock.sleep(CLAIM_POLL_MS, context.signal);
  }
}

/** The state of a cluster that answers. Removes and reports the state of one that was killed. */
export async function runningCluster(
  { env }: Pick<ProcessContext, "env">,
  name: string,
  report: ReportStale,
): Promise<ClusterState | undefined> {
  const state = await readClusterState(env, name);
  if (state === undefined || (await isRunning(state))) return state;
  await removeClusterState(env, name);
  report(`cluster ${name} (pid ${state.pid}) ended without cleaning up: its state file is removed`);
  return undefined;
}

/** The cluster that runs here with its API server at the address: `https://127.0.0.1:6443`. */
async function ownCluster(env: ProcessContext["env"], server: string): Promise<ClusterState | undefined> {
  const { host } = new URL(server);
  for (const name of await clusterNames(env)) {
    const state = await readClusterState(env, name);
    if (state !== undefined && new URL(state.url).host === host && (await isRunning(state))) return state;
  }
  return undefined;
}

/** Whether one of the clusters that run here has its API server at the address. */
export async function isOwnServer(env: ProcessContext["env"], server: string): Promise<boolean> {
  return (await ownCluster(env, server)) !== undefined;
}

/** Where the embedded runtimes of a cluster's nodes find one another. @param server of its API server */
export async function networkFolderOf(env: ProcessContext["env"], server: string): Promise<string> {
  return (await ownCluster(env, server))?.networkFolder ?? networkFolder(env, server);
}

/**
 * Ends a cluster's process and waits for its end, which is after that of its nodes. Kills a process that does not end, and
 * removes its files.
 * @returns whether it was killed
 * @throws LabError TIMED_OUT when it does not end and may not be the cluster's process
 */
export async function stopCluster(
  context: ProcessContext,
  state: ClusterState,
): Promise<{ readonly isKilled: boolean }> {
  const { name, pid, processStart = "" } = state;
  const clock = new SystemClock();
  process.kill(pid, "SIGTERM");
  // A stopped process handles the signal only after it continues.
  process.kill(pid, "SIGCONT");
  for (let waitedMs = 0; waitedMs < STOP_TIMEOUT_MS; waitedMs += STOP_POLL_MS) {
    if (!(await isRunning(state))) return { isKilled: false };
    await clock.sleep(STOP_POLL_MS, context.signal);
  }
  if (processStart === "") {
    const message = `cluster ${name} (pid ${pid}) did not end within 5 s`;
    throw new LabError("TIMED_OUT", message, `End it by hand: kill -9 ${pid}`);
  }
  if (await isRunning(state)) process.kill(pid, "SIGKILL");
  while (await isRunning(state)) await clock.sleep(STOP_POLL_MS, context.signal);
  await removeClusterState(context.env, name);
  return { isKilled: true };
}
