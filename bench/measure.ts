import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Run {
  readonly wallMs: number;
  readonly peakMb: number;
  readonly code: number | null;
  readonly stdout: string;
  /** Unix ms at which the process was started */
  readonly startedMs: number;
}

/** Written by the measured process itself as it ends: the system counts its peak for us. */
const REPORT = `import{writeFileSync}from"node:fs";process.on("exit",()=>writeFileSync(process.env.KUBELAB_BENCH_RSS,String(process.resourceUsage().maxRSS)))`;

/** Runs a node program to its end, as a process of its own. */
export async function measure(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Run> {
  const folder = mkdtempSync(join(tmpdir(), "kubelab-bench-"));
  const rssFile = join(folder, "rss");
  const withReport = env["KUBELAB_BENCH_PLAIN"] === undefined ? ["--import", `data:text/javascript,${REPORT}`] : [];
  const startedMs = Date.now();
  const started = performance.now();
  const child = spawn(process.execPath, [...withReport, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env, KUBELAB_BENCH_RSS: rssFile },
  });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk) => {
    stdout += String(chunk);
  });
  child.stderr.on("data", (chunk) => {
    stderr += String(chunk);
  });
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  const wallMs = performance.now() - started;
  const peakMb = withReport.length === 0 ? Number.NaN : Number(readFileSync(rssFile, "utf8")) / 1024;
  rmSync(folder, { recursive: true, force: true });
  if (code !== 0) throw new Error(`${args.join(" ")} ended with ${code}: ${stderr}`);
  return { wallMs, peakMb, code, stdout, startedMs };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** @param part 0.99 for p99 */
export function percentile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * part) - 1)] ?? Number.NaN;
}

export function spread(values: readonly number[]): string {
  return `${Math.min(...values).toFixed(0)}-${Math.max(...values).toFixed(0)}`;
}

/** Rows of cells, the first column left, the others right aligned. */
export function printTable(rows: readonly (readonly string[])[]): void {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? "").length)));
  for (const row of rows) {
    const cells = row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)));
    process.stdout.write(`${cells.join("  ").trimEnd()}\n`);
  }
}
