import { setFlagsFromString } from "node:v8";
import type { CliContext } from "../../cli/context.js";
import { kubeconfigText } from "../../client-go/clientcmd/kubeconfig-text.js";
import type { RestConfig } from "../../client-go/rest/client.js";
import { parseKubeVersion } from "../../release/facts.js";
import type { ClusterNodes, NodeLine } from "../../testbed/cluster-nodes.js";
import {
  type ClusterState,
  clusterKubeconfig,
  clusterNames,
  clusterNodesFolder,
  isRunning,
  lockCluster,
  makeClustersFolder,
  readClusterState,
  removeClusterState,
  writeClusterState,
} from "../../testbed/cluster-state.js";
import { upCommand } from "../../testbed/target.js";
import type { Trace } from "../../trace/trace.js";
import { type Clock, SystemClock } from "../../util/clock.js";
import { defined } from "../../util/defined.js";
import { LabError } from "../../util/errors.js";
import { writeFileAtomic } from "../../util/files.js";
import { untilAborted } from "../../util/loops.js";

export interface ClusterOptions {
  readonly name: string;
  /** 0: a free one */
  readonly port: number;
  readonly kubeVersion: string;
  readonly speed?: number;
  /** how many nodes are joined and kept Ready */
  readonly nodes: number;
  /** the API server checks kubelets' certificates with the cluster's CA */
  readonly verifyKubelets?: boolean;
  /** `--trace`: a file for the trace of the cluster's own process */
  readonly trace?: string;
}

/**
 * Garbage is collected whenever the heap has grown by so much. Left alone, V8 lets it grow to several times of what is
 * needed; a cluster runs beside the learner's other programs, and collecting more often costs it hardly anything.
 */
const HEAP_GROWING_PERCENT = 30;

/**
 * Starts the control plane in this process and serves until the signal. A running cluster of the same name is only shown.
 * @throws LabError USAGE for an unknown release; FAILED when the port is taken
 */
export async function bringUp(context: CliContext, options: ClusterOptions): Promise<void> {
  const kubeVersion = parseKubeVersion(options.kubeVersion);
  const claim = await claimName(context, options.name);
  if ("running" in claim) return showAsAsked(context, claim.running, options);
  await using _lock = claim.lock;
  const { clock, trace } = context.session(defined({ speed: options.speed }));
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWING_PERCENT}`);
  const { startControlPlane } = await import("../../controlplane/start.js");
  await using controlPlane = await startControlPlane({
    clock,
    random: context.random,
    trace,
    kubeVersion,
    port: options.port,
    verifyKubelets: options.verifyKubelets === true,
  });
  const state: ClusterState = {
    version: 1,
    name: options.name,
    pid: process.pid,
    url: controlPlane.url,
    kubeconfig: clusterKubeconfig(context.env, options.name),
    kubeVersion,
    speed: options.speed ?? 1,
    epochMs: clock instanceof SystemClock ? clock.epochMs : clock.now(),
    nodes: options.nodes,
    ...(options.verifyKubelets === true ? { verifyKubelets: true } : {}),
  };
  await using nodes = await joinNodes(context, { clock, trace }, state, controlPlane.admin);
  await announce(context, state, kubeconfigText(controlPlane.admin, namesOf(state)));
  nodes?.startKubelets();
  try {
    await untilAborted(context.signal);
  } finally {
    await removeClusterState(context.env, options.name);
  }
}

const CLAIM_POLL_MS = 50;
const CLAIM_TIMEOUT_MS = 15_000;

/**
 * The cluster of this name that runs, or the right to be it. While another process begins one, or ends it, that is waited for.
 * @throws LabError FAILED when that takes too long
 */
async function claimName(
  context: CliContext,
  name: string,
): Promise<{ readonly running: ClusterState } | { readonly lock: AsyncDisposable }> {
  const clock = new SystemClock();
  for (let waitedMs = 0; ; waitedMs += CLAIM_POLL_MS) {
    const running = await runningCluster(context, name);
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

/** The nodes that the cluster brings along; they end before the control plane does. */
async function joinNodes(
  context: CliContext,
  session: { readonly clock: Clock; readonly trace: Trace },
  { name, url, kubeVersion, nodes: count }: ClusterState,
  admin: RestConfig,
): Promise<ClusterNodes | undefined> {
  if (count === 0) return undefined;
  const { startNodes } = await import("../../testbed/cluster-nodes.js");
  const close = async () => {};
  const description = `cluster ${name} at ${url}`;
  const target = { kind: "joined", admin, description, kubeVersion, close, [Symbol.asyncDispose]: close } as const;
  return startNodes(context, session, { count, target, folder: clusterNodesFolder(context.env, name) });
}

/** First the kubeconfig, then the state file: whoever finds the state can connect. */
async function announce(context: CliContext, state: ClusterState, kubeconfig: string): Promise<void> {
  await makeClustersFolder(context.env);
  await writeFileAtomic(state.kubeconfig, kubeconfig, { mode: 0o600 });
  await writeClusterState(context.env, state);
  showRunning(context, state, "is ready");
}

function namesOf(state: ClusterState): { cluster: string; user: string; context: string } {
  return { cluster: state.name, user: `${state.name}-admin`, context: state.name };
}

/**
 * What a script needs is on stdout: the line that kubectl is called with.
 * @param list the nodes, where they were asked for
 */
export function showRunning(context: CliContext, state: ClusterState, what: string, list?: readonly NodeLine[]): void {
  const speed = state.speed === 1 ? "" : `, time runs ${state.speed}x`;
  const nodes = state.nodes === 0 ? "" : `, with ${nodesOf(state)}`;
  const { trace } = context.session({});
  trace.emit(
    {
      kind: "note",
      text: `cluster ${state.name} ${what}: v${state.kubeVersion} at ${state.url}${nodes}${speed} (pid ${state.pid})`,
    },
    { actor: "user", level: 0 },
  );
  const width = Math.max(0, ...(list ?? []).map(({ name }) => name.length));
  const lines = (list ?? []).map(({ name, status }) => `${name.padEnd(width)}  ${status}`);
  context.print({
    text: [`kubectl --kubeconfig ${state.kubeconfig}`, ...lines].join("\n"),
    json: { ...state, running: true, ...defined({ nodes: list }) },
  });
}

function nodesOf({ nodes }: ClusterState): string {
  return nodes === 0 ? "no nodes" : `${nodes} ${nodes === 1 ? "node" : "nodes"}`;
}

/**
 * A second `up` of the same name is no failure, unless it asks for another release, speed, port, trace or number of nodes than what runs.
 * @throws LabError USAGE
 */
export async function showAsAsked(context: CliContext, running: ClusterState, options: ClusterOptions): Promise<void> {
  const kubeVersion = parseKubeVersion(options.kubeVersion);
  const wantsOtherNodes = options.nodes !== 0 && options.nodes !== running.nodes;
  const differs = [
    ...(kubeVersion === running.kubeVersion ? [] : [`v${running.kubeVersion}, not v${kubeVersion}`]),
    ...(options.speed === undefined || options.speed === running.speed ? [] : [`at speed ${running.speed}`]),
    ...(options.verifyKubelets !== true || running.verifyKubelets === true ? [] : ["without --verify-kubelets"]),
    ...(options.trace === undefined ? [] : ["and began without this --trace"]),
    ...(options.port === 0 || running.url.endsWith(`:${options.port}`) ? [] : [`at ${running.url}`]),
    ...(wantsOtherNodes ? [`with ${nodesOf(running)}, not ${options.nodes}`] : []),
  ];
  if (differs.length === 0) return showRunning(context, running, "is running already");
  const more = wantsOtherNodes ? " Or let `kubelab node --name NAME` join it as one node more." : "";
  throw new LabError(
    "USAGE",
    `cluster ${running.name} is running already, ${differs.join(", ")}`,
    `End it first (\`kubelab cluster down\`), or give this one a --name of its own.${more}`,
  );
}

/** The state of a cluster that answers. What a kill -9 left behind is taken away, and said. */
export async function runningCluster(context: CliContext, name: string): Promise<ClusterState | undefined> {
  const state = await readClusterState(context.env, name);
  if (state === undefined || (await isRunning(state))) return state;
  await removeClusterState(context.env, name);
  const text = `cluster ${name} (pid ${state.pid}) ended without cleaning up: its state file is removed`;
  context.session({}).trace.emit({ kind: "note", text }, { actor: "user", level: 0 });
  return undefined;
}

const DOWN_POLL_MS = 20;
const DOWN_TIMEOUT_MS = 5000;

/** Asks the cluster's process to end and waits until it has. @throws LabError FAILED when it does not run, or does not end */
export async function bringDown(context: CliContext, name: string): Promise<void> {
  const state = await runningCluster(context, name);
  if (state === undefined) throw notRunning(name, await runningInstead(context, "There is nothing to end."));
  process.kill(state.pid, "SIGTERM");
  const clock = new SystemClock();
  for (let waitedMs = 0; waitedMs < DOWN_TIMEOUT_MS; waitedMs += DOWN_POLL_MS) {
    if ((await readClusterState(context.env, name)) === undefined) {
      return context.print({ text: `cluster ${name} is down`, json: { name, running: false } });
    }
    await clock.sleep(DOWN_POLL_MS, context.signal);
  }
  throw new LabError(
    "TIMED_OUT",
    `cluster ${name} (pid ${state.pid}) did not end within 5 s`,
    `End it by hand: kill -9 ${state.pid}`,
  );
}

/** @throws LabError FAILED when it does not run: a script can ask by exit code */
export async function clusterStatus(context: CliContext, name: string): Promise<void> {
  const state = await runningCluster(context, name);
  if (state === undefined) throw notRunning(name, await runningInstead(context, `Start it: ${upCommand(name)}`));
  const { trace } = context.session({});
  const { loadKubeconfig } = await import("../../client-go/clientcmd/kubeconfig.js");
  const { listNodes } = await import("../../testbed/cluster-nodes.js");
  const { config } = await loadKubeconfig(state.kubeconfig);
  const nodes = await listNodes(config, { clock: trace.clock, trace, random: context.random }, context.signal);
  showRunning(context, state, "is running", nodes);
}

function notRunning(name: string, hint: string): LabError {
  return new LabError("FAILED", `no cluster named ${name} is running`, hint);
}

/** Who asks for a cluster that is not there may have meant another one. */
async function runningInstead({ env }: CliContext, otherwise: string): Promise<string> {
  const running: string[] = [];
  for (const name of await clusterNames(env)) {
    const state = await readClusterState(env, name);
    if (state !== undefined && (await isRunning(state))) running.push(name);
  }
  return running.length === 0 ? otherwise : `Running: ${running.join(", ")}. Name one with --name.`;
}
