// `npm run bench:pleg [-- --cri ENDPOINT]`: measures relists on synthetic runtimes of three sizes or on any endpoint.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { LAB_ERRORS, LabError } from "../src/util/errors.js";
import { printTable } from "./measure.js";
import { type Measured, measureIdle, measureRelists } from "./pleg/relists.js";
import { serveSynthetic } from "./pleg/synthetic-runtime.js";

/** The real Go PLEG and remote client on a synthetic runtime in Go, two containers a pod. */
const GO = [
  { pods: 110, listMs: 1.5, relistMs: 1.9, firstMs: 72, residentMb: 45 },
  { pods: 1000, listMs: 15.5, relistMs: 18, firstMs: 780, residentMb: 65 },
  { pods: 5000, listMs: 77, relistMs: 89, firstMs: 2926, residentMb: 153 },
];

/** Rounds of everything except the idle seconds. The table shows the round with the median first relist. */
const ROUNDS = 3;

/** One line of the table. Idle cost is in percent of one core; null: the runtime has no events. */
interface Row extends Measured {
  readonly idlePercent: number | null;
  readonly eventedPercent: number | null;
}

try {
  await run(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof LabError)) throw error;
  // The child process has already printed it.
  if (error.message !== "") process.stderr.write(`error: ${error.message}\n${error.hint}\n`);
  process.exitCode = error.exitCode;
}

async function run([flag, value = "", third]: readonly string[]): Promise<void> {
  if (flag === "--serve") await serve(Number(value));
  else if (flag === "--measure") answer(await measureRelists(value, third === undefined ? [] : [Number(third)]));
  else if (flag === "--idle") answer(await measureIdle(value, third === "evented"));
  else if (flag === "--cri" && value !== "") {
    report([{ ...(await inChild<Measured>("--measure", value)), ...(await measureIdleInChildren(value)) }]);
  } else if (flag === undefined) await measureSynthetic();
  else throw new LabError("USAGE", `${flag} is unknown`, "Usage: npm run bench:pleg [-- --cri ENDPOINT]");
}

function answer(result: unknown): void {
  process.stdout.write(JSON.stringify(result));
}

/** Prints its endpoint, then serves until SIGTERM. */
async function serve(podCount: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "kubelab-bench-"));
  const path = join(folder, "s.sock");
  const server = await serveSynthetic(podCount, path);
  process.stdout.write(`unix://${path}`);
  await new Promise((resolve) => process.once("SIGTERM", resolve));
  await server.close();
  rmSync(folder, { recursive: true, force: true });
}

async function measureSynthetic(): Promise<void> {
  const results: Row[] = [];
  for (const { pods } of GO) {
    const rounds: Measured[] = [];
    for (let i = 0; i < ROUNDS; i++) {
      rounds.push(await withRuntime(pods, (endpoint, pid) => inChild<Measured>("--measure", endpoint, pid)));
    }
    rounds.sort((one, other) => one.firstMs - other.firstMs);
    const middle = rounds[Math.floor(ROUNDS / 2)];
    if (middle === undefined) throw new Error("no round was measured");
    results.push({ ...middle, ...(await withRuntime(pods, measureIdleInChildren)) });
  }
  report(results);
}

/** With a freshly started synthetic runtime, whose code is as cold as the client's. */
async function withRuntime<T>(podCount: number, body: (endpoint: string, serverPid: string) => Promise<T>): Promise<T> {
  const server = child("--serve", String(podCount));
  try {
    return await body(await firstOutput(server), String(server.pid));
  } finally {
    server.kill("SIGTERM");
    await new Promise((resolve) => server.once("close", resolve));
  }
}

/** In fresh processes. */
async function measureIdleInChildren(endpoint: string): Promise<Pick<Row, "idlePercent" | "eventedPercent">> {
  return {
    idlePercent: await inChild<number | null>("--idle", endpoint),
    eventedPercent: await inChild<number | null>("--idle", endpoint, "evented"),
  };
}

/** In a fresh process, so that memory is that of one kubelet and all code is cold. */
async function inChild<T>(...args: readonly string[]): Promise<T> {
  const process_ = child(...args);
  let text = "";
  process_.stdout?.on("data", (chunk) => {
    text += String(chunk);
  });
  const code = await new Promise((resolve) => process_.once("close", resolve));
  const told = (["RUNTIME_UNREACHABLE", "USAGE"] as const).find((name) => LAB_ERRORS[name].exitCode === code);
  if (told !== undefined) throw new LabError(told, "", "");
  if (code !== 0) throw new Error(`${args.join(" ")} ended with ${code}`);
  return JSON.parse(text) as T;
}

/** Runs this file in a child process. */
function child(...args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [fileURLToPath(import.meta.url), ...args], { stdio: ["ignore", "pipe", "inherit"] });
}

function firstOutput(process_: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    process_.stdout?.once("data", (chunk) => resolve(String(chunk)));
    process_.once("close", (code) => reject(new Error(`the synthetic runtime ended with ${code}`)));
  });
}

function report(results: readonly Row[]): void {
  const rows = results.map((one) => {
    const go = GO.find(({ pods }) => pods === one.pods);
    const besideGo = (ms: number, goMs: number | undefined, digits: number) =>
      goMs === undefined
        ? [ms.toFixed(digits), "", ""]
        : [ms.toFixed(digits), String(goMs), `${(ms / goMs).toFixed(2)}x`];
    const percent = (found: number | null) => (found === null ? "no events" : `${found.toFixed(2)} %`);
    return [
      String(one.pods),
      ...besideGo(one.listMs, go?.listMs, 1),
      ...besideGo(one.relistMs, go?.relistMs, 1),
      ...besideGo(one.firstMs, go?.firstMs, 0),
      ...besideGo(one.residentMb, go?.residentMb, 0),
      percent(one.idlePercent),
      percent(one.eventedPercent),
    ];
  });
  const group = (name: string) => [name, "Go", ""];
  const head = ["pods", ...group("list ms"), ...group("with cache ms"), ...group("first ms"), ...group("MB")];
  printTable([[...head, "idle second", "evented"], ...rows]);
  process.stdout.write("\nfirst relist, CPU ms (in a fresh process; Go inspects one pod after the other)\n");
  const cpu = (ms: number | null) => (ms === null ? "?" : ms.toFixed(0));
  printTable([
    ["pods", "own code", "V8's compiling and collecting beside it", "the runtime's"],
    ...results.map(({ pods, firstCpu }) => [
      String(pods),
      cpu(firstCpu.main),
      cpu(firstCpu.others),
      cpu(firstCpu.server),
    ]),
  ]);
}
