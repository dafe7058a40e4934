import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadKubeconfig } from "../../src/staging/client-go/clientcmd/kubeconfig.js";
import type { RestConfig } from "../../src/staging/client-go/rest/client.js";

/** The API server that is measured, and what can be told about its processes. */
export interface BenchTarget {
  readonly config: RestConfig;
  /** of the server; empty: not known */
  readonly pids: readonly number[];
  /** ms from the start of the process to its first line; undefined: it ran already */
  readonly readyMs: number | undefined;
  close(): Promise<void>;
}

export async function runningTarget(kubeconfig: string, pids: readonly number[]): Promise<BenchTarget> {
  const { config } = await loadKubeconfig(kubeconfig);
  return { config, pids, readyMs: undefined, close: async () => {} };
}

/**
 * `kubelab cluster up` in a process of its own: client and server have a core each.
 * @param cli the built program
 * @param nodeOptions for that process: `--cpu-prof`
 * @param upOptions of `cluster up`
 */
export async function embeddedTarget(
  cli: string,
  nodeOptions: readonly string[],
  upOptions: readonly string[] = [],
): Promise<BenchTarget> {
  const folder = mkdtempSync(join(tmpdir(), "kubelab-bench-"));
  const startMs = performance.now();
  const child = spawn(process.execPath, [...nodeOptions, cli, "cluster", "up", "--json", ...upOptions], {
    env: { ...process.env, XDG_STATE_HOME: folder },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const line = await firstLine(child);
  const readyMs = performance.now() - startMs;
  const { kubeconfig } = JSON.parse(line) as { readonly kubeconfig: string };
  const { config } = await loadKubeconfig(kubeconfig);
  return {
    config,
    pids: child.pid === undefined ? [] : [child.pid],
    readyMs,
    async close() {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let seen = "";
    child.stdout?.on("data", (chunk) => {
      seen += String(chunk);
      if (seen.includes("\n")) resolve(seen);
    });
    child.once("exit", (code) => reject(new Error(`the cluster ended with ${code} before it was ready`)));
  });
}

export interface Usage {
  /** user and system time since its start */
  readonly cpuMs: number;
  readonly residentMb: number;
  readonly peakMb: number;
}

/** Linux counts in ticks of 10 ms for everyone who asks. */
const TICK_MS = 10;

/** Of all the server's processes together; undefined where they are not known or the system does not tell. */
export function usageOf(pids: readonly number[]): Usage | undefined {
  if (pids.length === 0) return undefined;
  const all = pids.map(usageOfOne);
  if (all.some((one) => one === undefined)) return undefined;
  const sum = (key: keyof Usage) => all.reduce((total, one) => total + (one?.[key] ?? 0), 0);
  return { cpuMs: sum("cpuMs"), residentMb: sum("residentMb"), peakMb: sum("peakMb") };
}

function usageOfOne(pid: number): Usage | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name in parentheses may hold spaces: the fields after it are counted from its end.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const megabytes = (key: string) => Number(new RegExp(`^${key}:\\s+(\\d+)`, "m").exec(status)?.[1]) / 1024;
    return {
      cpuMs: (Number(fields[11]) + Number(fields[12])) * TICK_MS,
      residentMb: megabytes("VmRSS"),
      peakMb: megabytes("VmHWM"),
    };
  } catch {
    return undefined; // no /proc here, or the process is somebody else's
  }
}
