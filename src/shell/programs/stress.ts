import type { Self } from "../process/process.js";
import { print, usage } from "./console.js";
import { untilKilled } from "./system.js";

const UNITS: Readonly<Record<string, number>> = { "": 1, K: 1024, M: 1024 ** 2, G: 1024 ** 3 };
/** Memory grows in steps, so that statistics show it. */
const STEPS = 10;
const STEP_MS = 100;

/** `stress --vm N --vm-bytes 250M`: reports memory to its container until it is done or killed. */
export async function stress(self: Self): Promise<number> {
  const option = (name: string) => self.argv[self.argv.indexOf(name) + 1];
  const workers = self.argv.includes("--vm") ? Number(option("--vm")) : 0;
  const size = /^(\d+)([KMG]?)B?$/i.exec(self.argv.includes("--vm-bytes") ? (option("--vm-bytes") ?? "") : "256M");
  if (!Number.isInteger(workers) || workers < 0 || size === null)
    return usage(self, "usage: stress --vm N --vm-bytes 250M");
  await print(self, `stress: info: [${self.pid}] dispatching hogs: 0 cpu, 0 io, ${workers} vm, 0 hdd\n`);
  const bytes = workers * Number(size[1]) * (UNITS[(size[2] ?? "").toUpperCase()] ?? 1);
  for (let step = 0; step < STEPS; step++) {
    self.memory.report(bytes / STEPS);
    await self.machine.clock.sleep(STEP_MS, self.signal);
  }
  return untilKilled(self);
}
