import { SystemClock } from "../../util/clock.js";
import { type ClusterState, clusterNames, isRunning, readClusterState } from "./cluster-state.js";
import { namedCluster } from "./target.js";

/**
 * The clock of the API server at `url`, from its process's file in the state folder.
 * @returns undefined for a server of another machine, or one that is neither a `kubelab cluster up` nor a lab, and so
 * has the machine's time
 */
export async function clockOfServer(
  env: Readonly<Record<string, string | undefined>>,
  url: string,
): Promise<SystemClock | undefined> {
  for (const name of await clusterNames(env)) {
    const state = await readClusterState(env, name);
    if (state?.clock === undefined || state.url !== url || !(await isRunning(state))) continue;
    const clock = new SystemClock();
    clock.follow(state.clock);
    return clock;
  }
  return undefined;
}

/**
 * The initial clock reading of a process that belongs to a cluster without joining it.
 * @returns undefined unless `KUBELAB_CLUSTER`, which each program of a lab has, names a running cluster
 */
export async function clockOfNamedCluster(
  env: Readonly<Record<string, string | undefined>>,
): Promise<Pick<ClusterState, "speed" | "clock"> | undefined> {
  const name = namedCluster(env);
  const state = name === undefined ? undefined : await readClusterState(env, name);
  return state !== undefined && (await isRunning(state)) ? state : undefined;
}
