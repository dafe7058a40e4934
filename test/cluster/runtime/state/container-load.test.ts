import assert from "node:assert/strict";
import { afterEach, beforeAll, beforeEach, describe, test } from "vitest";
import type { Container } from "../../../../src/cluster/runtime/state/container.js";
import { containerStats } from "../../../../src/cluster/runtime/stats/usage.js";
import { ContainerStats } from "../../../../src/staging/cri/messages/stats.js";
import { loadPrograms, RuntimeLab, stateOf } from "../lab.js";

const MIB = 2 ** 20;
const S = 1_000_000_000;

let lab: RuntimeLab;
beforeAll(loadPrograms);
beforeEach(() => {
  lab = new RuntimeLab();
});
afterEach(() => lab.stop());

function usageOf(container: Container) {
  const { cpu, memory, writableLayer } = ContainerStats.create(containerStats(container, lab.core));
  return {
    cpu: Number(cpu?.usageCoreNanoSeconds?.value ?? 0n),
    memory: Number(memory?.workingSetBytes?.value ?? 0n),
    disk: Number(writableLayer?.usedBytes?.value ?? 0n),
  };
}

const sleeping = (resources = {}) => lab.run({ command: ["sleep", "infinity"], linux: { resources } });

describe("what the control makes a container use", () => {
  test("burn: CPU time that grows with the clock, until it is 0", async () => {
    const container = sleeping();
    const before = usageOf(container).cpu;
    const { control } = lab.runtime;
    control.loadContainer(container.containerId, { burnMilliCores: 250 });
    await lab.clock.advance(4_000);
    assert.equal(usageOf(container).cpu - before, S);
    control.loadContainer(container.containerId, { burnMilliCores: 1_500 });
    await lab.clock.advance(2_000);
    assert.equal(usageOf(container).cpu - before, 4 * S);
    control.loadContainer(container.containerId, { burnMilliCores: 0 });
    await lab.clock.advance(60_000);
    assert.equal(usageOf(container).cpu - before, 4 * S);
  });

  test("burn: not more than the container's quota", async () => {
    const container = sleeping({ cpuQuota: 20_000, cpuPeriod: 100_000 });
    const before = usageOf(container).cpu;
    lab.runtime.control.loadContainer(container.containerId, { burnMilliCores: 1_000 });
    await lab.clock.advance(10_000);
    assert.equal(usageOf(container).cpu - before, 2 * S);
  });

  test("leak: memory that grows each second, and stays when it ends", async () => {
    const container = sleeping();
    const before = usageOf(container).memory;
    const { control } = lab.runtime;
    control.loadContainer(container.containerId, { leakBytesPerSecond: 5 * MIB });
    await lab.clock.advance(3_000);
    assert.equal(usageOf(container).memory - before, 15 * MIB);
    control.loadContainer(container.containerId, { leakBytesPerSecond: 0 });
    await lab.clock.advance(60_000);
    assert.equal(usageOf(container).memory - before, 15 * MIB);
  });

  test("leak: the container's limit kills it, as containerd reports it", async () => {
    const container = sleeping({ memoryLimitInBytes: 20 * MIB });
    lab.runtime.control.loadContainer(container.containerId, { leakBytesPerSecond: 8 * MIB });
    await lab.clock.advance(2_000);
    assert.equal(stateOf(container), "running");
    await lab.clock.advance(1_000);
    await lab.settle();
    assert.equal(stateOf(container), "exited (137, OOMKilled)");
    assert.equal(lab.clock.sleeping, 0);
  });

  test("fill: bytes of the writable layer, also of the runtime's file system", async () => {
    const container = sleeping();
    const before = usageOf(container).disk;
    const { control } = lab.runtime;
    control.loadContainer(container.containerId, { fillBytes: 3 * MIB });
    assert.equal(usageOf(container).disk - before, 3 * MIB);
    const info = await lab.runtime.handlers.image.imageFsInfo?.({}, { rpc: { name: "ImageFsInfo" } } as never);
    assert.ok(Number((info as never as FsInfo).containerFilesystems[0]?.usedBytes.value) >= 3 * MIB);
    control.loadContainer(container.containerId, { fillBytes: 0 });
    assert.equal(usageOf(container).disk, before);
  });

  test("one setting leaves the others; the snapshot shows them", () => {
    const { containerId } = sleeping();
    const { control } = lab.runtime;
    const shown = () => control.snapshot().sandboxes[0]?.containers[0]?.load;
    assert.equal(shown(), undefined);
    control.loadContainer(containerId, { burnMilliCores: 5 });
    control.loadContainer(containerId, { fillBytes: 6 });
    assert.deepEqual(shown(), { leakBytesPerSecond: 0, burnMilliCores: 5, fillBytes: 6 });
  });

  test("a container that does not run, or does not exist", async () => {
    const container = sleeping();
    await lab.runtime.control.killContainer(container.containerId);
    assert.throws(() => lab.runtime.control.loadContainer(container.containerId, {}), { code: "FailedPrecondition" });
    assert.throws(() => lab.runtime.control.loadContainer("none", {}), { code: "NotFound" });
  });
});

describe("what an image's program uses", () => {
  const table: readonly [image: string, command: readonly string[], wantMib: number][] = [
    ["nginx", [], 3],
    ["nginx", ["nginx", "-g", "daemon off;"], 3],
    ["nginx", ["sleep", "infinity"], 0],
    ["busybox", ["sleep", "infinity"], 0],
  ];
  for (const [image, command, wantMib] of table) {
    test(`${image} ${command.join(" ")}: ${wantMib} MiB`, async () => {
      const container = lab.run({ image: { image }, command: [...command] });
      await lab.settle();
      assert.equal(Math.floor(usageOf(container).memory / MIB), wantMib);
    });
  }
});

interface FsInfo {
  readonly containerFilesystems: readonly { readonly usedBytes: { readonly value: number } }[];
}

for (const [what, resources, wantCores] of [
  ["no limit", {}, 2],
  ["a limit of 200m", { cpuQuota: 20_000n, cpuPeriod: 100_000n }, 0.2],
  ["a limit of four cores", { cpuQuota: 400_000n, cpuPeriod: 100_000n }, 2],
] as const) {
  test(`stress --cpu 2 with ${what} uses about ${wantCores} cores`, async () => {
    const command = ["stress", "--cpu", "2"];
    const container = lab.run({ image: { image: "stress" }, command, linux: { resources } });
    await lab.clock.advance(1_000);
    const before = usageOf(container).cpu;
    await lab.clock.advance(10_000);
    const cores = (usageOf(container).cpu - before) / (10 * S);
    assert.ok(cores > 0.75 * wantCores && cores < 1.25 * wantCores, `${cores} cores`);
  });
}
