// `npm run bench:bootstrap`: TLS bootstrap as a whole process, on a control plane of its own and on a running one.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TraceEvent } from "../src/trace/events.js";
import { measure, median, printTable, spread } from "./measure.js";

const RUNS = 11;
const folder = mkdtempSync(join(tmpdir(), "kubelab-bench-"));
const env = { XDG_STATE_HOME: join(folder, "state") };
let nodes = 0;

/** One bootstrap of a new node into a folder of its own. */
async function bootstrap() {
  const name = `bench-${nodes++}`;
  const trace = join(folder, `${name}.ndjson`);
  const args = ["dist/cli.js", "bootstrap", "--node", name, "--dir", join(folder, name), "--trace", trace, "--json"];
  const run = await measure(args, env);
  const events = readFileSync(trace, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as TraceEvent);
  return { run, events };
}

/** ms from the process's start to the answer of the first PUT of the lease. */
function firstRenewalMs(startedMs: number, events: readonly TraceEvent[]): number {
  const renewal = events.find(
    (event) => event.kind === "request" && event.method !== "GET" && event.path.includes("/leases"),
  );
  if (renewal === undefined) throw new Error("no renewal in the trace");
  return renewal.atMs - startedMs;
}

/** What the time goes into: how long each step lasted, by the time at which the next one began. */
function stages(startedMs: number, events: readonly TraceEvent[]): [string, number][] {
  const steps = events.filter((event) => event.kind === "step");
  const ends = [...steps.slice(1).map((event) => event.atMs), events.at(-1)?.atMs ?? 0];
  const first = events[0]?.atMs ?? 0;
  return [
    ["start of the process", first - startedMs],
    ...steps.map((step, i): [string, number] => [step.title, (ends[i] ?? step.atMs) - step.atMs]),
  ];
}

async function several(label: string) {
  await bootstrap();
  const results = [];
  for (let i = 0; i < RUNS; i++) results.push(await bootstrap());
  const walls = results.map(({ run }) => run.wallMs);
  const renewals = results.map(({ run, events }) => firstRenewalMs(run.startedMs, events));
  const peaks = results.map(({ run }) => run.peakMb);
  return {
    row: [label, median(walls).toFixed(0), spread(walls), median(renewals).toFixed(0), median(peaks).toFixed(0)],
    stages: stages(results.at(-1)?.run.startedMs ?? 0, results.at(-1)?.events ?? []),
  };
}

try {
  const embedded = await several("control plane of its own");
  const cluster = spawn(process.execPath, ["dist/cli.js", "cluster", "up", "-v", "0"], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  await new Promise((resolve) => cluster.stdout.once("data", resolve));
  const running = await several("running control plane");
  cluster.kill("SIGTERM");
  await new Promise((resolve) => cluster.once("close", resolve));
  printTable([
    ["kubelab bootstrap", "whole ms", "min-max", "to first renewal ms", "peak MB"],
    embedded.row,
    running.row,
  ]);
  process.stdout.write("\nwhat the time goes into (last run)\n");
  for (const [label, { stages: list }] of [
    ["control plane of its own", embedded],
    ["running control plane", running],
  ] as const) {
    process.stdout.write(`\n${label}\n`);
    printTable(list.map(([title, ms]) => [`  ${title.slice(0, 60)}`, `${ms.toFixed(0)} ms`]));
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
