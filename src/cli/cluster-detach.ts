import { spawn } from "node:child_process";
import { LabError } from "../util/errors.js";
import { type ClusterOptions, runningCluster, showRunning } from "./cluster.js";
import { readClusterState } from "./cluster-state.js";
import type { CliContext } from "./context.js";

/**
 * Starts `kubelab cluster up` as a process of its own, and returns when it is ready.
 * @throws LabError FAILED with what the process said when it ended instead
 */
export async function startDetached(context: CliContext, options: ClusterOptions): Promise<void> {
  const running = await runningCluster(context, options.name);
  if (running !== undefined) return showRunning(context, running, "is running already");
  const [program = "kubelab", ...first] = context.self;
  const child = spawn(program, [...first, "cluster", "up", "-v", "0", ...flags(options)], {
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...context.env },
  });
  await ready(child, context.signal);
  child.stdout?.destroy();
  child.stderr?.destroy();
  child.unref();
  const state = await readClusterState(context.env, options.name);
  if (state !== undefined) showRunning(context, state, "is ready, in the background");
}

function flags(options: ClusterOptions): string[] {
  const { name, port, kubeVersion, speed } = options;
  const words = ["--name", name, "--port", String(port), "--kube-version", kubeVersion];
  return speed === undefined ? words : [...words, "--speed", String(speed)];
}

/** The first thing on its stdout is the kubectl line: then the state file is there. */
function ready(child: ReturnType<typeof spawn>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    let complaint = "";
    const onAbort = () => {
      child.kill("SIGTERM");
      reject(signal.reason);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    child.stderr?.on("data", (chunk) => {
      complaint += String(chunk);
    });
    child.stdout?.once("data", () => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
    child.once("error", reject);
    child.once("exit", (code) => {
      const said = complaint.trim().replace(/^error: /, "");
      reject(
        new LabError(
          "FAILED",
          `the cluster's process ended with ${code}: ${said}`,
          "Run `kubelab cluster up` without --detach to see more.",
        ),
      );
    });
  });
}
