import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync, rmSync } from "node:fs";
import type { CliContext } from "../../cli/context.js";
import { type ClusterState, clusterLog, makeClustersFolder, readClusterState } from "../../testbed/cluster-state.js";
import type { Level } from "../../trace/trace.js";
import { SystemClock } from "../../util/clock.js";
import { LabError } from "../../util/errors.js";
import { type ClusterOptions, runningCluster, showAsAsked, showRunning } from "./cluster.js";

const POLL_MS = 10;
const READY_TIMEOUT_MS = 20_000;

interface DetachOptions extends ClusterOptions {
  readonly verbosity: Level;
}

/** @throws LabError USAGE: nobody would see what is asked for */
function checkVerbosity({ verbosity }: DetachOptions): void {
  if (verbosity <= 1) return;
  const hint = "Keep it in a file: --trace trace.ndjson. Or leave out --detach.";
  throw new LabError("USAGE", `--detach shows no trace, and -v ${verbosity} asks for one`, hint);
}

/**
 * Starts `kubelab cluster up` as a process of its own, and returns when it is ready. What it says goes to a log file: a
 * pipe would break, and end it, when this process has gone.
 * @throws LabError FAILED with what the process said when it ended instead
 */
export async function startDetached(context: CliContext, options: DetachOptions): Promise<void> {
  checkVerbosity(options);
  const trace = context.handOverTrace();
  const running = await runningCluster(context, options.name);
  if (running !== undefined) return showAsAsked(context, running, options);
  const [program = "kubelab", ...first] = context.self;
  const logFile = clusterLog(context.env, options.name);
  await makeClustersFolder(context.env);
  const log = openSync(logFile, "w", 0o600);
  const child = spawn(program, [...first, "cluster", "up", "-v", "0", ...flags(options, trace)], {
    detached: true,
    stdio: ["ignore", log, log],
    env: { ...context.env },
  });
  closeSync(log);
  child.unref();
  const state = await ready(child, context, options.name, logFile);
  if (state !== undefined) return showRunning(context, state, "is ready, in the background");
  const faster = await runningCluster(context, options.name);
  if (faster !== undefined) return showAsAsked(context, faster, options);
  throw new LabError("FAILED", `cluster ${options.name} ended as soon as it was ready`, "Start it again.");
}

/** @param trace path of the file that the cluster's own process writes */
function flags(options: ClusterOptions, trace: string | undefined): string[] {
  const { name, port, kubeVersion, speed, nodes, verifyKubelets } = options;
  const words = ["--name", name, "--port", String(port), "--kube-version", kubeVersion, "--nodes", String(nodes)];
  if (verifyKubelets === true) words.push("--verify-kubelets");
  if (trace !== undefined) words.push("--trace", trace);
  return speed === undefined ? words : [...words, "--speed", String(speed)];
}

/**
 * Its state file is the last thing that a starting cluster writes.
 * @returns undefined: it has found that somebody else was faster
 */
async function ready(
  child: ChildProcess,
  context: CliContext,
  name: string,
  logFile: string,
): Promise<ClusterState | undefined> {
  let isBeaten = false;
  let ended: LastWords | undefined;
  child.once("error", (error) => {
    ended = { message: error.message };
  });
  child.once("exit", (code) => {
    isBeaten = code === 0;
    if (isBeaten) return;
    const log = readFileSync(logFile, "utf8");
    ended ??= lastWords(log) ?? { message: `exit ${code}, without a word (is the disk full?)` };
    // Its end is told here; no cluster is there that the log would be of.
    rmSync(logFile, { force: true });
  });
  const clock = new SystemClock();
  for (let waitedMs = 0; waitedMs < READY_TIMEOUT_MS && ended === undefined; waitedMs += POLL_MS) {
    if (isBeaten) return undefined;
    const state = await readClusterState(context.env, name);
    if (state?.pid === child.pid && state !== undefined) return state;
    await clock.sleep(POLL_MS, context.signal).catch((error: unknown) => {
      child.kill("SIGTERM");
      throw error;
    });
  }
  child.kill("SIGTERM");
  const { message, hint } = ended ?? {
    message: "it was not ready within 20 s",
    hint: `What it said is in ${logFile}.`,
  };
  throw new LabError(
    "FAILED",
    `cluster ${name} did not start: ${message}`,
    hint ?? "Run `kubelab cluster up` without --detach to see more.",
  );
}

interface LastWords {
  readonly message: string;
  readonly hint?: string;
}

/** The error that ended it, and what it says to do about it. */
function lastWords(log: string): LastWords | undefined {
  const [, message, hint] = /^error: (.*)(?:\n(.+))?$/m.exec(log) ?? [];
  if (message !== undefined) return hint === undefined ? { message } : { message, hint };
  return log.trim() === "" ? undefined : { message: log.trim() };
}
