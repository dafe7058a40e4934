import { createHash } from "node:crypto";
import { readdir, readFile, rm } from "node:fs/promises";
import { createConnection } from "node:net";
import { basename, join } from "node:path";
import type { EtcdConfig } from "../../cluster/apiserver/storage/etcd/config.js";
import type { ClockReading } from "../../util/clock.js";
import { LabError } from "../../util/errors.js";
import { describeFileError, makeFolder, removeAbandoned, writeFileAtomic } from "../../util/os/files.js";
import { type LockOutcome, tryLock } from "../../util/os/pid-lock.js";
import { isAlive, markOf } from "../../util/os/processes.js";
import { stateFolder } from "./state-folder.js";

/** The state of a running `kubelab cluster up`, in the state folder for other commands. */
export interface ClusterState {
  readonly version: 1;
  readonly name: string;
  readonly pid: number;
  /** distinguishes the process from a later one with the same number; "" on systems other than Linux */
  readonly processStart?: string;
  /** `https://127.0.0.1:PORT` */
  readonly url: string;
  /** path of the administrator's kubeconfig (0600) */
  readonly kubeconfig: string;
  readonly kubeVersion: string;
  /** the release of its nodes; absent: `kubeVersion` */
  readonly kubeletVersion?: string;
  readonly speed: number;
  /**
   * A reading of its clock, which a process that joins follows: by the machine's monotonic time, so that both read the
   * same after a suspend or a change of the system's time. Absent for a clock without its own speed.
   */
  readonly clock?: ClockReading;
  /** path of the socket at which its clock is held, for `kubelab time`; absent: it follows no command */
  readonly timeSocket?: string;
  /** how many nodes it keeps Ready by itself: `node-1`, `node-2`, … */
  readonly nodes: number;
  /** its nodes have no containers; absent: they have */
  readonly simulated?: boolean;
  /** it has a control-plane node, and its components as pods; absent: no */
  readonly systemPods?: boolean;
  /** the servers of the etcd that has its state */
  readonly etcd?: readonly string[];
  /** the files with which it is reached */
  readonly etcdFiles?: Omit<EtcdConfig, "servers">;
  /** the folder that has its state; absent, like `etcd`: it is in memory */
  readonly data?: string;
  /** the folder through which the runtimes of its nodes find each other, if its etcd has other servers; absent: `networkFolder` */
  readonly networkFolder?: string;
  /** problems at the API server's start: data that recovery cut off */
  readonly startProblems?: readonly string[];
  /** absent: it accepts any kubelet's certificate */
  readonly verifyKubelets?: boolean;
  /** it is a lab's: a command joins it only by its name; absent: no */
  readonly isLab?: boolean;
  /** its nodes pull any image; absent: only those of the registry */
  readonly anyImage?: boolean;
  /** absent: it serves HTTP/1.1 only */
  readonly http2?: boolean;
}

type Env = Readonly<Record<string, string | undefined>>;

/** `$XDG_STATE_HOME/kubelab/clusters`, by default below `~/.local/state`. */
function clustersFolder(env: Env): string {
  return join(stateFolder(env), "clusters");
}

function stateFile(env: Env, name: string): string {
  return join(clustersFolder(env), `${name}.json`);
}

/** The path of the kubeconfig of the cluster `name`. */
export function clusterKubeconfig(env: Env, name: string): string {
  return join(clustersFolder(env), `${name}.kubeconfig`);
}

/** The folder with the keys and kubeconfigs of the nodes of cluster `name`, each in a folder of its name. */
export function clusterNodesFolder(env: Env, name: string): string {
  return join(clustersFolder(env), `${name}.nodes`);
}

/** The name of this cluster's server among those of its etcd; it survives a restart. */
export function clusterServerId(env: Env, name: string): string {
  return createHash("sha256").update(stateFile(env, name)).digest("hex").slice(0, 12);
}

/** The log file of a detached cluster's process. */
export function clusterLog(env: Env, name: string): string {
  return join(clustersFolder(env), `${name}.log`);
}

/** @throws LabError BAD_FILE */
export async function makeClustersFolder(env: Env): Promise<void> {
  const folder = clustersFolder(env);
  try {
    await makeFolder(folder, 0o700);
  } catch (cause) {
    const why = describeFileError(cause);
    throw new LabError("BAD_FILE", `cannot make the folder ${folder}: ${why}`, "Name another with XDG_STATE_HOME.", {
      cause,
    });
  }
}

/**
 * Makes this process the only one that may run a cluster of this name. Without the lock, two processes that start
 * together would overwrite each other's state, and no command could stop the first one.
 * @throws LabError BAD_FILE
 */
export async function lockCluster(env: Env, name: string): Promise<LockOutcome> {
  await makeClustersFolder(env);
  const answer = await tryLock(join(clustersFolder(env), `${name}.lock`), "Name another folder with XDG_STATE_HOME.");
  if (answer.outcome === "taken") await removeTemporaryFiles(env, name);
  return answer;
}

/** Removes half-written state files and kubeconfigs, which contain a client's key. */
async function removeTemporaryFiles(env: Env, name: string): Promise<void> {
  const targets = [stateFile(env, name), clusterKubeconfig(env, name)].map((path) => basename(path));
  await removeAbandoned(clustersFolder(env), targets);
}

export async function writeClusterState(env: Env, state: ClusterState): Promise<void> {
  await makeClustersFolder(env);
  const text = JSON.stringify({ ...state, processStart: await markOf(state.pid) }, null, 2);
  await writeFileAtomic(stateFile(env, state.name), `${text}\n`, { mode: 0o600 });
}

/** Removes the state, the kubeconfig and the nodes' folders, if they exist. */
export async function removeClusterState(env: Env, name: string): Promise<void> {
  await rm(clusterNodesFolder(env, name), { recursive: true, force: true });
  await rm(stateFile(env, name), { force: true });
  await rm(clusterKubeconfig(env, name), { force: true });
  await rm(clusterLog(env, name), { force: true });
}

/** undefined: no such file, or not one of ours (a half-written or foreign file counts as none). */
export async function readClusterState(env: Env, name: string): Promise<ClusterState | undefined> {
  try {
    const state: unknown = JSON.parse(await readFile(stateFile(env, name), "utf8"));
    return isClusterState(state) ? state : undefined;
  } catch {
    // Missing or unreadable: both mean that there is no cluster to join.
    return undefined;
  }
}

function isClusterState(value: unknown): value is ClusterState {
  const state = value as Partial<ClusterState> | null;
  return (
    typeof state === "object" && state?.version === 1 && typeof state.pid === "number" && typeof state.url === "string"
  );
}

/** Names of all clusters that left a state file, running or not. */
export async function clusterNames(env: Env): Promise<string[]> {
  const files = await readdir(clustersFolder(env)).catch(() => []);
  return files
    .filter((file) => file.endsWith(".json"))
    .map((file) => file.slice(0, -".json".length))
    .sort();
}

/**
 * Whether the cluster's process exists. It removes its state before it ends, and can be too busy to answer. Without a start
 * time, its port must answer: after kill -9 the state stays, and another process may get the number.
 */
export async function isRunning(state: ClusterState): Promise<boolean> {
  const { pid, processStart = "", url } = state;
  if (!(await isAlive(pid))) return false;
  return processStart === "" ? canConnect(new URL(url)) : processStart === (await markOf(pid));
}

function canConnect(url: URL): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ host: url.hostname, port: Number(url.port), timeout: 1000 });
    const answer = (open: boolean) => {
      socket.destroy();
      resolve(open);
    };
    socket.once("connect", () => answer(true));
    socket.once("timeout", () => answer(false));
    socket.once("error", () => answer(false));
  });
}

/** The names of the running clusters. @param isWanted default: all */
export async function runningClusterNames(
  env: Env,
  isWanted: (state: ClusterState) => boolean = () => true,
): Promise<readonly string[]> {
  const running: string[] = [];
  for (const name of await clusterNames(env)) {
    const state = await readClusterState(env, name);
    if (state !== undefined && isWanted(state) && (await isRunning(state))) running.push(name);
  }
  return running;
}
