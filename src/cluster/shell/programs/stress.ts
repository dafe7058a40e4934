import { NS_PER_UNIT } from "../process/cpu.js";
import type { Self } from "../process/process.js";
import { print, usage } from "./console.js";
import { untilKilled } from "./system.js";

const UNITS: Readonly<Record<string, number>> = { "": 1, K: 1024, M: 1024 ** 2, G: 1024 ** 3 };
const TIMES_MS: Readonly<Record<string, number>> = { "": 1000, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** Memory grows in steps, so that statistics show it. */
const STEPS = 10;
const STEP_MS = 100;
const UNITS_PER_MS = 1_000_000 / NS_PER_UNIT;

/**
 * `stress --cpu N --vm N --vm-bytes 250M --timeout 60s`: counts the work of N cores, or as much as the container's limit
 * allows, and reports memory to its container. The flags of vish/stress also work: `-cpus N -mem-total 150Mi`.
 */
export async function stress(self: Self): Promise<number> {
  const option = (...names: string[]) => {
    const at = self.argv.findIndex((arg) => names.includes(arg));
    return at === -1 ? undefined : (self.argv[at + 1] ?? "?");
  };
  const total = option("-mem-total");
  const cores = Number(option("--cpu", "-c", "-cpus") ?? 0);
  const workers = total === undefined ? Number(option("--vm", "-m") ?? 0) : 1;
  const size = /^(\d+)([KMG]?)[Bi]?$/i.exec(total ?? option("--vm-bytes") ?? "256M");
  const time = /^(\d+)([smhd]?)$/.exec(option("--timeout", "-t") ?? "0");
  if (![cores, workers].every((one) => Number.isInteger(one) && one >= 0) || size === null || time === null)
    return usage(self);
  await print(self, `stress: info: [${self.pid}] dispatching hogs: ${cores} cpu, 0 io, ${workers} vm, 0 hdd\n`);
  const bytes = workers * Number(size[1]) * (UNITS[(size[2] ?? "").toUpperCase()] ?? 1);
  const timeoutMs = Number(time[1]) * (TIMES_MS[time[2] ?? ""] ?? 0) || Number.POSITIVE_INFINITY;
  const startMs = self.machine.clock.now();
  const isOver = () => self.machine.clock.now() - startMs >= timeoutMs;
  for (let step = 0; !isOver() && (step < STEPS || cores > 0 || timeoutMs < Number.POSITIVE_INFINITY); step++) {
    if (step < STEPS) self.memory.report(bytes / STEPS);
    await consumeCpu(self, cores, STEP_MS);
  }
  if (!isOver()) return untilKilled(self);
  await print(self, `stress: info: [${self.pid}] successful run completed in ${Math.round(timeoutMs / 1000)}s\n`);
  return 0;
}

/** The most cores that the container's processes can use. */
export function allowedCores({ machine: { cpu } }: Self): number {
  return (cpu.limitMilliCores() ?? Number.POSITIVE_INFINITY) / 1000;
}

/** Counts the work of `cores` for a time, or as much as the container's limit allows. */
export async function consumeCpu(self: Self, cores: number, ms: number): Promise<void> {
  for (let leftMs = ms; leftMs > 0; leftMs -= STEP_MS) {
    const stepMs = Math.min(leftMs, STEP_MS);
    await self.machine.clock.sleep(stepMs, self.signal);
    await self.turn(Math.min(Math.max(0, cores), allowedCores(self)) * stepMs * UNITS_PER_MS);
  }
}
