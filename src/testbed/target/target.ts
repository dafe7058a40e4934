import type { EtcdConfig } from "../../cluster/apiserver/storage/etcd/config.js";
import type { RestConfig } from "../../staging/client-go/rest/client.js";
import type { Trace } from "../../trace/trace.js";
import { type Clock, type ClockReading, SystemClock } from "../../util/clock.js";
import { defined } from "../../util/defined.js";
import { LabError } from "../../util/errors.js";
import { pathFrom } from "../../util/os/paths.js";
import type { Random } from "../../util/random.js";
import { parseKubeVersion } from "../../util/release/facts.js";
import { clusterForKubelet, skewProblem } from "../../util/release/skew.js";
import type { ProcessContext } from "../context.js";
import { type ClusterState, clusterNames, isRunning, readClusterState } from "./cluster-state.js";
import { type EtcdOptions, etcdConfig, etcdFlags } from "./etcd-options.js";

/** The choice of a cluster. */
export interface TargetOptions extends EtcdOptions {
  readonly mock?: boolean;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly real?: boolean;
  /** name of a running `kubelab cluster up` */
  readonly cluster?: string;
  readonly yes?: boolean;
  readonly kubeVersion?: string;
  /** the release of the joining kubelet: an embedded cluster starts with it (or the oldest that it can), a running one can be newer. See `skewProblem` */
  readonly kubeletVersion?: string;
  readonly speed?: number;
}

/** The cluster that a command works on. */
export interface Target extends AsyncDisposable {
  /** `embedded`: started for this command; `joined`: a running `kubelab cluster up`; `real`: named by a flag */
  readonly kind: "embedded" | "joined" | "real";
  /** the identity of the target's administrator (a real cluster: as its kubeconfig defines it) */
  readonly admin: RestConfig;
  /** for headers and questions: `embedded control plane v1.25 at https://127.0.0.1:4001` */
  readonly description: string;
  /** the kubeconfig with which kubectl reaches the same cluster, if there is one */
  readonly kubeconfigPath?: string;
  /** behaves like this release; a real cluster's own version is asked for when it matters */
  readonly kubeVersion: string;
  /** the cluster of a lab */
  readonly isLab?: boolean;
  close(): Promise<void>;
}

type Env = Readonly<Record<string, string | undefined>>;

/** The parts of a command that opening a target needs. */
export interface TargetHost extends Pick<ProcessContext, "cwd" | "env" | "random" | "signal"> {
  /** the command's clock and trace: a joined cluster sets the speed */
  session(options: ClockOptions): { readonly clock: Clock; readonly trace: Trace };
}

/** The initial state of a command's clock. */
export interface ClockOptions {
  readonly speed?: number;
  /** the clock of a joined cluster, which the command's follows */
  readonly clock?: ClockReading;
}

/**
 * Opens the cluster that the flags name: a real one, a running `kubelab cluster up`, or an embedded control plane that is started here.
 * @param traceFor the trace of a control plane that is started here; default: the command's own
 * @throws LabError USAGE, BAD_FILE, CLUSTER_UNREACHABLE
 */
export async function openTarget(
  host: TargetHost,
  given: TargetOptions,
  traceFor: (trace: Trace, clock: Clock) => Trace = (own) => own,
): Promise<Target> {
  const options = labCluster(host.env, given);
  if (chooseTarget(options) === "real") return openReal(host, options);
  const kubeVersion = parseKubeVersion(options.kubeVersion ?? clusterForKubelet(options.kubeletVersion ?? "1.25"));
  const etcd = etcdConfig(options);
  const { running, passedBy } = await findRunningCluster(host.env, options);
  if (running !== undefined) {
    const { clock } = host.session(running);
    const following = await followCluster(clock, running);
    return joinCluster(running, async () => following?.[Symbol.dispose]());
  }
  const { clock, trace } = host.session(defined({ speed: options.speed }));
  if (passedBy !== undefined) {
    const text = `Cluster ${passedBy.name} ${passedBy.why}: this command starts a control plane of its own.`;
    trace.emit({ kind: "note", text }, { actor: "user", level: 0 });
  }
  return startEmbedded({ clock, random: host.random, trace: traceFor(trace, clock) }, kubeVersion, etcd);
}

/** In a lab on a real cluster, commands without a target flag use that cluster: the learner agreed before the lab began. */
function labCluster(env: Env, options: TargetOptions): TargetOptions {
  const kubeconfig = env["KUBELAB_LAB_KUBECONFIG"];
  const isNamed = [options.mock, options.kubeconfig, options.context, options.real, options.cluster].some(
    (one) => one !== undefined,
  );
  return kubeconfig === undefined || kubeconfig === "" || isNamed ? options : { ...options, kubeconfig };
}

/**
 * The cluster that the flags select. A real one needs an explicit flag, and none that only an embedded one understands.
 * @throws LabError USAGE for combinations that contradict each other
 */
function chooseTarget(options: TargetOptions): "embedded" | "real" {
  const realFlag =
    options.kubeconfig !== undefined
      ? "--kubeconfig"
      : options.context !== undefined
        ? "--context"
        : options.real
          ? "--real"
          : undefined;
  if (realFlag === undefined) return "embedded";
  const embeddedFlag =
    options.mock === true
      ? "--mock"
      : options.speed !== undefined
        ? "--speed"
        : options.kubeVersion !== undefined
          ? "--kube-version"
          : options.cluster !== undefined
            ? "--cluster"
            : options.etcd !== undefined
              ? "--etcd"
              : undefined;
  if (embeddedFlag !== undefined) {
    throw new LabError(
      "USAGE",
      `${embeddedFlag} is for the embedded control plane, and ${realFlag} names a real cluster`,
      `Leave out ${embeddedFlag} or ${realFlag}: a real cluster has its own release and its own clock.`,
    );
  }
  return "real";
}

interface RunningClusters {
  /** the one to join */
  readonly running?: ClusterState;
  /** a lab's cluster, or one with another speed or release than requested: a new one is started instead, and a note reports it */
  readonly passedBy?: { readonly name: string; readonly why: string };
}

/**
 * The running `kubelab cluster up` to join: the one that --cluster or KUBELAB_CLUSTER names, else the one named `kubelab`,
 * else any but a lab's: a second terminal must not change a lab unasked.
 * @throws LabError CLUSTER_UNREACHABLE if the named cluster does not run; USAGE if it has another speed or release than the flags
 */
async function findRunningCluster(env: Env, options: TargetOptions): Promise<RunningClusters> {
  let passedBy: RunningClusters["passedBy"];
  const wanted = options.cluster ?? namedCluster(env);
  const names = wanted === undefined ? preferDefault(await clusterNames(env)) : [wanted];
  for (const name of names) {
    const state = await readClusterState(env, name);
    if (state === undefined || !(await isRunning(state))) continue;
    const why = wanted === undefined && state.isLab ? OF_LAB : conflictOf(state, options);
    if (why === undefined) return { running: state };
    passedBy ??= { name, why };
  }
  if (wanted === undefined) return defined({ passedBy });
  if (passedBy === undefined) {
    throw new LabError(
      "CLUSTER_UNREACHABLE",
      `cluster ${wanted} is not running`,
      `Start it: ${upCommand(wanted, options)}`,
    );
  }
  const hint = `Leave out the flag, or start a cluster of your own with it: ${upCommand("NAME", options)}`;
  throw new LabError("USAGE", `cluster ${wanted} ${passedBy.why}`, hint);
}

const OF_LAB = "belongs to a lab (`kubelab learn shell` opens it)";

/** The name of the cluster that a command without flags joins. @returns undefined if none runs */
export async function clusterToJoin(env: Env): Promise<string | undefined> {
  return namedCluster(env) ?? (await findRunningCluster(env, {})).running?.name;
}

/** The cluster that the environment names. */
export function namedCluster(env: Env): string | undefined {
  return env["KUBELAB_CLUSTER"] || undefined;
}

/** `runs at speed 1, but --speed 10 was given` @returns undefined if the cluster fits the flags */
function conflictOf(state: ClusterState, options: TargetOptions): string | undefined {
  const { speed, kubeVersion, kubeletVersion, ...etcd } = options;
  const skew = kubeletVersion === undefined ? undefined : skewProblem(kubeletVersion, state.kubeVersion);
  if (skew !== undefined) return `runs v${state.kubeVersion}, but ${skew}`;
  const servers = etcdConfig(etcd)?.servers.join();
  const wanted = kubeVersion === undefined ? state.kubeVersion : parseKubeVersion(kubeVersion);
  const has = [
    ...(speed === undefined || speed === state.speed ? [] : [[`at speed ${state.speed}`, `--speed ${speed}`]]),
    ...(wanted === state.kubeVersion ? [] : [[`v${state.kubeVersion}`, `--kube-version ${wanted}`]]),
    ...(servers === undefined || servers === state.etcd?.join() ? [] : [["with another state", `--etcd ${servers}`]]),
  ];
  if (has.length === 0) return undefined;
  const [is, given] = [0, 1].map((part) => has.map((one) => one[part]).join(" and "));
  return `runs ${is}, but ${given} was given`;
}

export const DEFAULT_CLUSTER = "kubelab";

/** The command that starts the cluster of this name, to paste. */
export function upCommand(
  name: string,
  { speed, kubeVersion, ...etcd }: Pick<TargetOptions, "speed" | "kubeVersion" | keyof EtcdOptions> = {},
): string {
  const flags = [
    ...(name === DEFAULT_CLUSTER ? [] : [`--name ${name}`]),
    ...(speed === undefined ? [] : [`--speed ${speed}`]),
    ...(kubeVersion === undefined ? [] : [`--kube-version ${kubeVersion}`]),
    ...etcdFlags(etcd),
  ];
  return ["kubelab cluster up --detach", ...flags].join(" ");
}

function preferDefault(names: readonly string[]): string[] {
  return [...names].sort((a, b) => Number(b === DEFAULT_CLUSTER) - Number(a === DEFAULT_CLUSTER) || a.localeCompare(b));
}

/** A running cluster of ours as a target: nothing to stop when the command ends. */
export async function joinCluster(state: ClusterState, close?: () => Promise<void>): Promise<Target> {
  const { loadKubeconfig } = await import("../../staging/client-go/clientcmd/kubeconfig.js");
  const { config } = await loadKubeconfig(state.kubeconfig);
  const description = `running cluster ${state.name}, v${state.kubeVersion}, at ${state.url}`;
  const joined = target("joined", config, description, state.kubeVersion, close);
  return { ...joined, kubeconfigPath: state.kubeconfig, ...defined({ isLab: state.isLab }) };
}

/**
 * Keeps this process on the cluster's clock, which somebody may hold.
 * @returns undefined if the cluster's clock cannot be held, or is this process's own, as that of a lab's commands
 */
async function followCluster(clock: Clock, { timeSocket, pid }: ClusterState): Promise<Disposable | undefined> {
  if (timeSocket === undefined || pid === process.pid || !(clock instanceof SystemClock)) return undefined;
  const { followClock } = await import("../time/follower.js");
  return followClock(clock, timeSocket);
}

/** Starts a control plane in this process; it ends with the target. */
async function startEmbedded(
  deps: { readonly clock: Clock; readonly random: Random; readonly trace: Trace },
  kubeVersion: string,
  etcd: EtcdConfig | undefined,
): Promise<Target> {
  const { startEmbeddedControlPlane } = await import("./embedded-control-plane.js");
  const controlPlane = await startEmbeddedControlPlane({ ...deps, kubeVersion, ...defined({ etcd }) });
  return target(
    "embedded",
    controlPlane.admin,
    `embedded control plane v${kubeVersion} at ${controlPlane.url}`,
    kubeVersion,
    () => controlPlane.close(),
  );
}

/** The learner's own cluster, by kubectl's loading rules. */
async function openReal({ env, cwd, signal }: TargetHost, given: TargetOptions): Promise<Target> {
  const kubeconfig = given.kubeconfig === undefined ? undefined : pathFrom(cwd, given.kubeconfig);
  const options = kubeconfig === undefined ? given : { ...given, kubeconfig };
  const { loadRealKubeconfig } = await import("../../staging/client-go/clientcmd/kubeconfig.js");
  const { config, contextName } = await loadRealKubeconfig(env, { ...options, signal });
  const real = target("real", config, `real cluster ${contextName} at ${config.server}`, "1.25");
  return kubeconfig === undefined ? real : { ...real, kubeconfigPath: kubeconfig };
}

function target(
  kind: Target["kind"],
  admin: RestConfig,
  description: string,
  kubeVersion: string,
  close: () => Promise<void> = async () => {},
): Target {
  return { kind, admin, description, kubeVersion, close, [Symbol.asyncDispose]: close };
}
