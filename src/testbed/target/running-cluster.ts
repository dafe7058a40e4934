import { SystemClock } from "../../util/clock.js";
import { LabError } from "../../util/errors.js";
import type { ProcessContext } from "../context.js";
import {
  type ClusterState,
  clusterNames,
  isRunning,
  lockCluster,
  readClusterState,
  removeClusterState,
} from "./cluster-state.js";
import { networkFolder } from "./state-folder.js";

const CLAIM_POLL_MS = 50;
const CLAIM_TIMEOUT_MS = 15_000;
const STOP_POLL_MS = 20;
const STOP_TIMEOUT_MS = 5000;

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

/** The cluster on this machine with its API server at the address: `https://127.0.0.1:6443`. */
async function ownCluster(env: ProcessContext["env"], server: string): Promise<ClusterState | undefined> {
  const { host } = new URL(server);
  for (const name of await clusterNames(env)) {
    const state = await readClusterState(env, name);
    if (state !== undefined && new URL(state.url).host === host && (await isRunning(state))) return state;
  }
  return undefined;
}

/** Whether a cluster on this machine has its API server at the address. */
export async function isOwnServer(env: ProcessContext["env"], server: string): Promise<boolean> {
  return (await ownCluster(env, server)) !== undefined;
}

/** The folder through which the embedded runtimes of a cluster's nodes find each other. @param server of its API server */
export async function networkFolderOf(env: ProcessContext["env"], server: string): Promise<string> {
  return (await ownCluster(env, server))?.networkFolder ?? networkFolder(env, server);
}

/**
 * Ends a cluster's process and waits for its end, which is after that of its nodes. Kills a process that does not end, and
 * removes its files.
 * @returns whether it was killed
 * @throws LabError TIMED_OUT if it does not end and is possibly not the cluster's process
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
