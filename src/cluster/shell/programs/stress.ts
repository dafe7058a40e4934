import { NS_PER_UNIT } from "../process/cpu.js";
import type { Self } from "../process/process.js";
import { print, usage } from "./console.js";
import { untilKilled } from "./system.js";

const UNITS: Readonly<Record<string, number>> = { "": 1, K: 1024, M: 1024 ** 2, G: 1024 ** 3 };
/** Memory grows in steps, so that statistics show it. */
const STEPS = 10;
const STEP_MS = 100;
const UNITS_PER_STEP = (STEP_MS * 1_000_000) / NS_PER_UNIT;

/**
 * `stress --cpu N --vm N --vm-bytes 250M`: counts the work of N cores, or as much as the container's limit allows, and
 * reports memory to its container, until it is killed. The flags of vish/stress also work: `-cpus N -mem-total 150Mi`.
 */
export async function stress(self: Self): Promise<number> {
  const option = (...names: string[]) => {
    const at = self.argv.findIndex((arg) => names.includes(arg));
    return at === -1 ? undefined : (self.argv[at + 1] ?? "?");
  };
  const total = option("-mem-total");
  const cores = Number(option("--cpu", "-cpus") ?? 0);
  const workers = total === undefined ? Number(option("--vm") ?? 0) : 1;
  const size = /^(\d+)([KMG]?)[Bi]?$/i.exec(total ?? option("--vm-bytes") ?? "256M");
  if (![cores, workers].every((one) => Number.isInteger(one) && one >= 0) || size === null) return usage(self);
  await print(self, `stress: info: [${self.pid}] dispatching hogs: ${cores} cpu, 0 io, ${workers} vm, 0 hdd\n`);
  const bytes = workers * Number(size[1]) * (UNITS[(size[2] ?? "").toUpperCase()] ?? 1);
  for (let step = 0; step < STEPS || cores > 0; step++) {
    if (step < STEPS) self.memory.report(bytes / STEPS);
    await self.machine.clock.sleep(STEP_MS, self.signal);
    const { cpu } = self.machine;
    const allowed = Math.min(cores, (cpu.limitMilliCores() ?? Number.POSITIVE_INFINITY) / 1000);
    await cpu.turn(allowed * UNITS_PER_STEP, () => self.signal.aborted);
  }
  return untilKilled(self);
}
