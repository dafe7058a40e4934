import { afterEach, beforeEach, expect, test } from "vitest";
import type { Container, Sandbox } from "../../../src/cluster/runtime/state/container.js";
import { metricDescriptors, sandboxMetrics } from "../../../src/cluster/runtime/stats/metrics.js";
import { containerStats, sandboxStats } from "../../../src/cluster/runtime/stats/usage.js";
import { ContainerStats, PodSandboxMetrics } from "../../../src/staging/cri/messages/stats.js";
import { RuntimeLab } from "./lab.js";

let lab: RuntimeLab;
let sandbox: Sandbox;
let container: Container;

beforeEach(() => {
  lab = new RuntimeLab();
  sandbox = lab.sandbox();
  container = lab.run({ command: ["sleep", "infinity"] }, sandbox);
});
afterEach(() => lab.stop());

const WORK = "for i in $(seq 64000); do :; done";
const WRITE = "head -c 5000 /dev/zero > /tmp/written";

/** Each metric with a script that changes it. */
const METRICS: Readonly<Record<string, string>> = {
  container_cpu_usage_seconds_total: WORK,
  container_memory_working_set_bytes: "sleep infinity &",
  container_fs_usage_bytes: WRITE,
};

test("every metric of the runtime has a row", () => {
  expect(metricDescriptors().map(({ name }) => name)).toEqual(Object.keys(METRICS));
});

for (const [name, script] of Object.entries(METRICS)) {
  test(`${name} follows its subject, and only that`, async () => {
    const read = () => {
      const { containerMetrics } = PodSandboxMetrics.create(sandboxMetrics(sandbox, lab.core));
      const metrics = containerMetrics[0]?.metrics ?? [];
      return metrics.find((metric) => metric.name === name)?.value?.value ?? -1n;
    };
    const before = read();
    // A number that grows by itself is no measurement of the container.
    await lab.clock.advance(60_000);
    expect(read()).toBe(before);
    await lab.sh(script, container);
    expect(read()).toBeGreaterThan(before);
  });
}

/** Each number of the statistics with a script that changes it. */
const STATS: Readonly<Record<string, string>> = {
  "cpu.usageCoreNanoSeconds": "true",
  "memory.workingSetBytes": METRICS["container_memory_working_set_bytes"] ?? "",
  "memory.usageBytes": METRICS["container_memory_working_set_bytes"] ?? "",
  "memory.rssBytes": METRICS["container_memory_working_set_bytes"] ?? "",
  "writableLayer.usedBytes": WRITE,
  "writableLayer.inodesUsed": WRITE,
};
const POD_STATS: Readonly<Record<string, string>> = {
  "cpu.usageCoreNanoSeconds": "true",
  "memory.workingSetBytes": METRICS["container_memory_working_set_bytes"] ?? "",
  "memory.usageBytes": METRICS["container_memory_working_set_bytes"] ?? "",
  "memory.rssBytes": METRICS["container_memory_working_set_bytes"] ?? "",
  "process.processCount": METRICS["container_memory_working_set_bytes"] ?? "",
};

/** The numbers of a message by their paths, without nested lists and times. */
function numbers(message: object): Map<string, bigint> {
  const found = new Map<string, bigint>();
  for (const [part, fields] of Object.entries(message)) {
    if (Array.isArray(fields)) continue;
    for (const [name, field] of Object.entries(fields as object)) {
      const { value } = (field ?? {}) as { readonly value?: unknown };
      if (typeof value === "bigint") found.set(`${part}.${name}`, value);
    }
  }
  return found;
}

for (const [what, rows, read] of [
  ["container", STATS, () => numbers(containerStats(container, lab.core))],
  ["pod", POD_STATS, () => numbers(sandboxStats(sandbox, lab.core).linux ?? {})],
] as const) {
  test(`every number of a ${what}'s statistics follows its subject`, async () => {
    expect([...read().keys()]).toEqual(Object.keys(rows));
    for (const [name, script] of Object.entries(rows)) {
      const before = read().get(name) ?? -1n;
      await lab.sh(script.replace("written", name), container);
      expect(read().get(name), name).toBeGreaterThan(before);
    }
  });
}

const LIMIT_BYTES = 50_000_000;

function runLimited(): Container {
  return lab.run({
    command: ["sleep", "infinity"],
    linux: { resources: { memoryLimitInBytes: BigInt(LIMIT_BYTES) } },
  });
}

test("top shows the memory of the container, and what its limit leaves", async () => {
  const limited = runLimited();
  const read = async (script: string) => {
    const { stdout } = await lab.sh(script, limited);
    const [, used, free] = /^Mem: (\d+)K used, (\d+)K free$/m.exec(String(stdout)) ?? [];
    return { used: Number(used), free: Number(free) };
  };
  const alone = await read("top -b -n 1");
  expect(alone.used + alone.free).toBe(Math.floor(LIMIT_BYTES / 1024));
  expect((await read("sleep infinity & top -b -n 1")).used).toBeGreaterThan(alone.used);
});

test("availableBytes is what the limit leaves", async () => {
  const limited = runLimited();
  const { availableBytes, usageBytes } = ContainerStats.create(containerStats(limited, lab.core)).memory ?? {};
  expect((availableBytes?.value ?? 0n) + (usageBytes?.value ?? 0n)).toBe(BigInt(LIMIT_BYTES));
});

test("memory is counted in pages", async () => {
  const container = lab.run({ command: ["sh", "-c", "x=$(head -c 100001 /dev/zero | tr '\\0' x); sleep infinity"] });
  const held = () => container.running?.machine.memory.usedBytes ?? 0;
  for (let turn = 0; turn < 100 && held() < 100_000; turn++) await lab.clock.advance(10);
  expect(held() % 4096).not.toBe(0);
  const { usageBytes } = ContainerStats.create(containerStats(container, lab.core)).memory ?? {};
  expect(Number(usageBytes?.value) % 4096).toBe(0);
});
