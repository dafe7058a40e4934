import { resolve } from "node:path";
import { createClient } from "../../staging/client-go/rest/create-client.js";
import { Trace } from "../../trace/trace.js";
import { SystemClock } from "../../util/clock.js";
import { defined } from "../../util/defined.js";
import { LabError } from "../../util/errors.js";
import { SystemRandom } from "../../util/random.js";
import { parseKubeVersion } from "../../util/release/facts.js";
import type {
  Cluster,
  ClusterClock,
  ClusterNode,
  ClusterOptions,
  ContainerRuntime,
  NodeOptions,
  RuntimeOptions,
  VirtualNodeOptions,
} from "./api.js";
import { clientOf } from "./client.js";
import type { NodeRequest, StartedCluster } from "./messages.js";
import {
  checkOptions,
  flag,
  labels,
  milliseconds,
  nodeName,
  type Rule,
  speed,
  taints,
  text,
  texts,
  wholeNumber,
} from "./options.js";
import { TestbedProcess } from "./testbed-process.js";

/** As `kubelab cluster up --nodes`. */
const MAX_NODES = 100;
const MAX_SIMULATED_NODES = 5_000;

/** The process of each open cluster. */
const processes = new WeakMap<Cluster, TestbedProcess>();

/**
 * Starts a cluster on 127.0.0.1: an API server, its controllers, and as many nodes as the options name. Resolves when it
 * answers and its nodes are Ready.
 * @throws LabError USAGE for options; BAD_FILE for a folder; as `kubelab cluster up`
 */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  checkOptions("startCluster", options, {
    kubeVersion,
    speed,
    nodes: wholeNumber(0, options?.simulated === true ? MAX_SIMULATED_NODES : MAX_NODES),
    simulated: flag,
    dataFolder: text,
    anyImage: flag,
    port: wholeNumber(0, 65_535),
  });
  const { dataFolder } = options;
  const process = new TestbedProcess();
  try {
    const given = { ...options, ...(dataFolder === undefined ? {} : { dataFolder: resolve(dataFolder) }) };
    return clusterOf(process, await process.call("startCluster", given));
  } catch (error) {
    await process.close();
    throw error;
  }
}

function clusterOf(process: TestbedProcess, started: StartedCluster): Cluster {
  const { url, kubeVersion: release, kubeconfig, kubeconfigFile, admin } = started;
  const clock = new SystemClock();
  clock.follow(started.clock);
  const trace = new Trace(clock);
  const kube = createClient(admin, { clock, trace, random: new SystemRandom(), actor: "user", userAgent: "kubelab" });
  const close = async () => {
    await kube.close();
    await process.close();
  };
  const cluster: Cluster = {
    url,
    kubeVersion: release,
    kubeconfig,
    kubeconfigFile,
    client: clientOf(kube),
    clock: clockOf(process, clock),
    close,
    [Symbol.asyncDispose]: close,
  };
  processes.set(cluster, process);
  return cluster;
}

function clockOf(process: TestbedProcess, clock: SystemClock): ClusterClock {
  return {
    get speed() {
      return clock.speed;
    },
    now: () => clock.now(),
    sleep: (ms, signal) => clock.sleep(ms, signal),
    setSpeed: async (factor) => {
      checkOptions("setSpeed", { speed: factor }, { speed }, ["speed"]);
      clock.follow(await process.call("setSpeed", factor));
    },
  };
}

const NODE_RULES = { cluster: openCluster, name: nodeName, labels, taints };

/**
 * Joins a node to a cluster: a bootstrap token, a signed certificate, a kubelet with a container runtime. Resolves when it is Ready.
 * @throws LabError USAGE for options, and if a node of that name runs; as `kubelab node`
 */
export async function startNode(options: NodeOptions): Promise<ClusterNode> {
  checkOptions("startNode", options, NODE_RULES, ["cluster", "name"]);
  return joinNode(processOf(options.cluster), requestOf(options));
}

/**
 * Joins a node whose pods are calls of a function, without containers.
 * @throws LabError as `startNode`; BAD_FILE for a module that exports no function
 */
export async function createVirtualNode(options: VirtualNodeOptions): Promise<ClusterNode> {
  const rules = { ...NODE_RULES, handler: functionOrPath, timeoutMs: milliseconds };
  checkOptions("createVirtualNode", options, rules, ["cluster", "name", "handler"]);
  const { cluster, name, handler, timeoutMs } = options;
  const process = processOf(cluster);
  const rest = { ...requestOf(options), ...defined({ timeoutMs }) };
  if (typeof handler === "string") return joinNode(process, { ...rest, handler: { module: resolve(handler) } });
  return joinNode(process, { ...rest, handler: "function" }, () => process.keep(name, handler));
}

function requestOf({ name, labels: given = {}, taints: withTaints }: NodeOptions): NodeRequest {
  return { name, labels: given, ...defined({ taints: withTaints }) };
}

/** @param onStarted called before a pod can run */
async function joinNode(process: TestbedProcess, request: NodeRequest, onStarted = () => {}): Promise<ClusterNode> {
  const { name } = request;
  await process.call("claimNode", name);
  onStarted();
  await process.call("startNode", request);
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= process.isOpen ? process.call("closeNode", name) : Promise.resolve();
    return closed;
  };
  return { name, close, [Symbol.asyncDispose]: close };
}

/**
 * Starts a container runtime for crictl, or for a kubelet of another cluster. Resolves when it listens.
 * @throws LabError USAGE for options, and for an endpoint that is in use
 */
export async function startRuntime(options: RuntimeOptions = {}): Promise<ContainerRuntime> {
  checkOptions("startRuntime", options, { endpoint: text, pullMs: milliseconds, images: texts, anyImage: flag, speed });
  const process = new TestbedProcess();
  try {
    const endpoint = await process.call("startRuntime", options);
    const close = () => process.close();
    return { endpoint, close, [Symbol.asyncDispose]: close };
  } catch (error) {
    await process.close();
    throw error;
  }
}

function kubeVersion(value: unknown): string | undefined {
  if (typeof value !== "string") return 'a release as text, like "1.30"';
  try {
    parseKubeVersion(value);
    return undefined;
  } catch (error) {
    if (!(error instanceof LabError)) throw error;
    return "a release from 1.25 to 1.34";
  }
}

const functionOrPath: Rule = (value) =>
  typeof value === "function"
    ? undefined
    : text(value) === undefined
      ? undefined
      : "a function, or the path of a module";

function openCluster(value: unknown): string | undefined {
  const isCluster = typeof value === "object" && value !== null && processes.has(value as Cluster);
  return isCluster ? undefined : "a cluster that startCluster started";
}

function processOf(cluster: Cluster): TestbedProcess {
  const process = processes.get(cluster);
  if (process === undefined)
    throw new LabError("USAGE", "not a cluster of this process", "Start it with startCluster.");
  return process;
}
