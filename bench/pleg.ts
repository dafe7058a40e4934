// `npm run bench:pleg [-- --cri ENDPOINT]`: what relists cost, on synthetic runtimes of three sizes or on any endpoint.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { printTable } from "./measure.js";
import { type Measured, measureRelists } from "./pleg/relists.js";
import { serveSynthetic } from "./pleg/synthetic-runtime.js";

/** The real Go PLEG and remote client on a synthetic runtime in Go, two containers a pod. */
const GO = [
  { pods: 110, listMs: 1.5, relistMs: 1.9, firstMs: 72, residentMb: 45 },
  { pods: 1000, listMs: 15.5, relistMs: 18, firstMs: 780, residentMb: 65 },
  { pods: 5000, listMs: 77, relistMs: 89, firstMs: 2926, residentMb: 153 },
];

const [flag, value] = process.argv.slice(2);
if (flag === "--serve") await serve(Number(value));
else if (flag === "--measure") process.stdout.write(JSON.stringify(await measureRelists(value ?? "")));
else if (flag === "--cri" && value !== undefined) report([await measureInChild(value)]);
else if (flag === undefined) await measureSynthetic();
else throw new Error("usage: npm run bench:pleg [-- --cri ENDPOINT]");

/** Tells its endpoint, then serves until it is killed. */
async function serve(podCount: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "kubelab-bench-"));
  const server = await serveSynthetic(podCount, `unix://${join(folder, "s.sock")}`);
  process.stdout.write(server.endpoint);
  await new Promise((resolve) => process.once("SIGTERM", resolve));
  await server.close();
  rmSync(folder, { recursive: true, force: true });
}

async function measureSynthetic(): Promise<void> {
  const results: Measured[] = [];
  for (const { pods } of GO) {
    const server = child("--serve", String(pods));
    try {
      results.push(await measureInChild(await firstOutput(server)));
    } finally {
      server.kill("SIGTERM");
      await new Promise((resolve) => server.once("close", resolve));
    }
  }
  report(results);
  process.stdout.write(
    "\nfirst relist: in a fresh process; Go inspects one pod after the other. The synthetic runtime is a Node process: one in Go answers\nsingle calls faster (--cri ENDPOINT measures any runtime).\n",
  );
}

/** In a process of its own, so that memory is what one kubelet would take, and nothing is warm. */
async function measureInChild(endpoint: string): Promise<Measured> {
  const process_ = child("--measure", endpoint);
  let text = "";
  process_.stdout?.on("data", (chunk) => {
    text += String(chunk);
  });
  const code = await new Promise((resolve) => process_.once("close", resolve));
  if (code !== 0) throw new Error(`measuring ${endpoint} ended with ${code}`);
  return JSON.parse(text) as Measured;
}

/** This file again. */
function child(...args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [fileURLToPath(import.meta.url), ...args], { stdio: ["ignore", "pipe", "inherit"] });
}

function firstOutput(process_: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    process_.stdout?.once("data", (chunk) => resolve(String(chunk)));
    process_.once("close", (code) => reject(new Error(`the synthetic runtime ended with ${code}`)));
  });
}

function report(results: readonly Measured[]): void {
  const rows = results.map((one) => {
    const go = GO.find(({ pods }) => pods === one.pods);
    const beside = (ms: number, goMs: number | undefined, digits: number) =>
      goMs === undefined
        ? [ms.toFixed(digits), "", ""]
        : [ms.toFixed(digits), String(goMs), `${(ms / goMs).toFixed(2)}x`];
    return [
      String(one.pods),
      ...beside(one.listMs, go?.listMs, 1),
      ...beside(one.relistMs, go?.relistMs, 1),
      ...beside(one.firstMs, go?.firstMs, 0),
      ...beside(one.residentMb, go?.residentMb, 0),
      `${one.idlePercent.toFixed(2)} %`,
      one.eventedIdlePercent === null ? "no events" : `${one.eventedIdlePercent.toFixed(2)} %`,
    ];
  });
  const group = (name: string) => [name, "Go", ""];
  const head = ["pods", ...group("list ms"), ...group("with cache ms"), ...group("first ms"), ...group("MB")];
  printTable([[...head, "idle second", "evented"], ...rows]);
}
