import { SystemClock } from "../util/clock.js";
import { clusterNames, isRunning, readClusterState } from "./cluster-state.js";

/**
 * The clock of the API server at `url`, from what its process left in the state folder.
 * @returns undefined for a server of another machine, or one that is no `kubelab cluster up` and no lab: it has the machine's time
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
