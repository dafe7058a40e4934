import assert from "node:assert/strict";
import { describe, test } from "vitest";
import {
  calculateSandboxResources,
  generateLinuxContainerResources,
  milliCpuToQuota,
  milliCpuToShares,
  oomScoreAdjust,
} from "../../../src/kubelet/kuberuntime/linux-resources.js";
import { podOf } from "./lab.js";

const GI = 2 ** 30;
const first = (pod: ReturnType<typeof podOf>) => (pod.spec.containers?.[0] ?? { name: "" }) as never;

describe("resources", () => {
  const shares = [
    [0, 2],
    [1, 2],
    [2, 2],
    [100, 102],
    [1000, 1024],
    [1_000_000, 262_144],
  ] as const;
  for (const [milli, want] of shares) {
    test(`${milli}m are ${want} shares`, () => assert.equal(milliCpuToShares(milli), want));
  }
  const quotas = [
    [0, 0],
    [1, 1000],
    [10, 1000],
    [100, 10_000],
    [1500, 150_000],
  ] as const;
  for (const [milli, want] of quotas) {
    test(`${milli}m are a quota of ${want}`, () => assert.equal(milliCpuToQuota(milli), want));
  }
  const options = { cpuCfsQuota: true, memoryCapacityBytes: 4 * GI };
  const table = [
    [{}, { cpuShares: 2, cpuQuota: 0, cpuPeriod: 100_000, oomScoreAdj: 1000 }],
    [
      { requests: { cpu: "500m", memory: "1Gi" } },
      { cpuShares: 512, cpuQuota: 0, cpuPeriod: 100_000, oomScoreAdj: 750 },
    ],
    [
      { limits: { cpu: "2", memory: "1Gi" }, requests: { cpu: "2", memory: "1Gi" } },
      { cpuShares: 2048, memoryLimitInBytes: GI, cpuQuota: 200_000, cpuPeriod: 100_000, oomScoreAdj: -997 },
    ],
    [{ limits: { cpu: "1" } }, { cpuShares: 1024, cpuQuota: 100_000, cpuPeriod: 100_000, oomScoreAdj: 999 }],
  ] as const;
  for (const [resources, want] of table) {
    test(`of ${JSON.stringify(resources)}`, () => {
      const pod = podOf([{ resources }]);
      assert.deepEqual(generateLinuxContainerResources(pod, first(pod), options), want);
    });
  }
  test("without quotas limits of cpu are shares only", () => {
    const pod = podOf([{ resources: { limits: { cpu: "1" } } }]);
    const made = generateLinuxContainerResources(pod, first(pod), { ...options, cpuCfsQuota: false });
    assert.deepEqual(made, { cpuShares: 1024, oomScoreAdj: 999 });
  });
  test("a pod gets its containers' sum, or what the greatest init container needs", () => {
    const of = (cpu: string, memory: string) => ({ resources: { requests: { cpu, memory }, limits: { cpu, memory } } });
    const pod = podOf([of("1", "1Gi"), of("1", "1Gi")], { initContainers: [of("500m", "3Gi")] });
    assert.deepEqual(calculateSandboxResources(pod, true), {
      cpuShares: 2048,
      memoryLimitInBytes: 3 * GI,
      cpuQuota: 200_000,
      cpuPeriod: 100_000,
    });
  });
  const scores = [
    [{ requests: { memory: "64Gi" } }, {}, 3],
    [{ requests: { memory: "1" } }, {}, 999],
    [{}, { priorityClassName: "system-node-critical", priority: 2_000_001_000 }, -997],
    [{}, { priorityClassName: "system-cluster-critical", priority: 2_000_000_000 }, 1000],
  ] as const;
  for (const [resources, spec, want] of scores) {
    test(`oom score of ${JSON.stringify({ ...resources, ...spec })}: ${want}`, () => {
      const pod = podOf([{ resources }], spec);
      assert.equal(oomScoreAdjust(pod, first(pod), 4 * GI), want);
    });
  }
});
