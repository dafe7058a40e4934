import type { RestConfig } from "../client-go/rest/client.js";
import { parseKubeVersion } from "../release/facts.js";
import type { Trace } from "../trace/trace.js";
import type { Clock } from "../util/clock.js";
import { LabError } from "../util/errors.js";
import type { Random } from "../util/random.js";
import { type ClusterState, clusterNames, isRunning, readClusterState } from "./cluster-state.js";
import type { Target, TargetOptions } from "./context.js";
import { pathFrom } from "./paths.js";

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Which cluster the flags ask for. A real one only by an explicit flag, and never with flags that only an embedded one
 * understands.
 * @throws LabError USAGE for combinations that contradict each other
 */
export function chooseTarget(options: TargetOptions): "embedded" | "real" {
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

export interface RunningClusters {
  /** the one to join */
  readonly running?: ClusterState;
  /** one that runs but has another speed or release than was asked for: a fresh one is started instead, and this is said */
  readonly passedBy?: ClusterState;
}

/**
 * The running `kubelab cluster up` to join: the one that --cluster or KUBELAB_CLUSTER names, else the one named `kubelab`,
 * else any.
 * @throws LabError CLUSTER_UNREACHABLE when the one that is named does not run
 */
export async function findRunningCluster(env: Env, options: TargetOptions): Promise<RunningClusters> {
  let passedBy: ClusterState | undefined;
  const wanted = options.cluster ?? (env["KUBELAB_CLUSTER"] || undefined);
  const names = wanted === undefined ? preferDefault(await clusterNames(env)) : [wanted];
  for (const name of names) {
    const state = await readClusterState(env, name);
    if (state === undefined || !(await isRunning(state))) continue;
    const isAnotherSpeed = options.speed !== undefined && options.speed !== state.speed;
    const isAnotherRelease =
      options.kubeVersion !== undefined && parseKubeVersion(options.kubeVersion) !== state.kubeVersion;
    if (!isAnotherSpeed && !isAnotherRelease) return { running: state };
    passedBy ??= state;
  }
  if (wanted === undefined) return passedBy === undefined ? {} : { passedBy };
  const why = passedBy === undefined ? "is not running" : `runs v${passedBy.kubeVersion} at speed ${passedBy.speed}`;
  throw new LabError(
    "CLUSTER_UNREACHABLE",
    `cluster ${wanted} ${why}`,
    passedBy === undefined
      ? `Start it: ${upCommand(wanted)}`
      : `See what runs: kubelab cluster status --name ${wanted}`,
  );
}

export const DEFAULT_CLUSTER = "kubelab";

/** What starts the cluster of this name, to paste. */
export function upCommand(name: string): string {
  return `kubelab cluster up --detach${name === DEFAULT_CLUSTER ? "" : ` --name ${name}`}`;
}

function preferDefault(names: readonly string[]): string[] {
  return [...names].sort((a, b) => Number(b === DEFAULT_CLUSTER) - Number(a === DEFAULT_CLUSTER) || a.localeCompare(b));
}

/** A running cluster of ours as a target: nothing to stop when the command ends. */
export async function joinCluster(state: ClusterState): Promise<Target> {
  const { loadKubeconfig } = await import("../client-go/clientcmd/kubeconfig.js");
  const { config } = await loadKubeconfig(state.kubeconfig);
  const description = `running cluster ${state.name}, v${state.kubeVersion}, at ${state.url}`;
  return { ...target("joined", config, description, state.kubeVersion), kubeconfigPath: state.kubeconfig };
}

/** Starts a control plane in this process; it ends with the target. */
export async function startEmbedded(
  deps: { readonly clock: Clock; readonly random: Random; readonly trace: Trace },
  kubeVersion: string,
): Promise<Target> {
  const { startControlPlane } = await import("../controlplane/start.js");
  const controlPlane = await startControlPlane({ ...deps, kubeVersion });
  return target(
    "embedded",
    controlPlane.admin,
    `embedded control plane v${kubeVersion} at ${controlPlane.url}`,
    kubeVersion,
    () => controlPlane.close(),
  );
}

/** A cluster of the learner's, by kubectl's own loading rules. */
export async function openReal(env: Env, cwd: string, given: TargetOptions): Promise<Target> {
  const kubeconfig = given.kubeconfig === undefined ? undefined : pathFrom(cwd, given.kubeconfig);
  const options = kubeconfig === undefined ? given : { ...given, kubeconfig };
  const { loadRealKubeconfig } = await import("../client-go/clientcmd/kubeconfig.js");
  const { config, contextName } = await loadRealKubeconfig(env, options);
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
