import { Command } from "commander";
import { describe, expect, test } from "vitest";
import { readConfiguration } from "../../../src/commands/node/configuration.js";
import {
  addContainerGcFlags,
  type ContainerGcFlags,
  gcPolicyOf,
} from "../../../src/commands/node/container-gc-flags.js";
import { addKubeletFlags, kubeletFields } from "../../../src/commands/node/kubelet-flags.js";

function parsed(line: string): ContainerGcFlags {
  const command = addKubeletFlags(
    addContainerGcFlags(new Command().option("--cri <url>").option("--manifest-dir <dir>")),
  )
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
  command.action(() => undefined).parse(line.split(" ").filter(Boolean), { from: "user" });
  return command.opts<ContainerGcFlags>();
}

describe("flags stand for fields of the configuration", () => {
  const table = [
    ["", {}],
    [
      "--eviction-hard memory.available<1Gi,nodefs.available<10%",
      { evictionHard: { "memory.available": "1Gi", "nodefs.available": "10%" } },
    ],
    [
      "--eviction-hard memory.available<1Gi --eviction-hard nodefs.available<10%,",
      { evictionHard: { "memory.available": "1Gi", "nodefs.available": "10%" } },
    ],
    [
      "--eviction-soft memory.available<2Gi --eviction-soft-grace-period memory.available=1m30s",
      {
        evictionSoft: { "memory.available": "2Gi" },
        evictionSoftGracePeriod: { "memory.available": "1m30s" },
      },
    ],
    ["--eviction-minimum-reclaim imagefs.available=2Gi", { evictionMinimumReclaim: { "imagefs.available": "2Gi" } }],
    ["--eviction-pressure-transition-period 30s", { evictionPressureTransitionPeriod: "30s" }],
    ["--eviction-max-pod-grace-period 60", { evictionMaxPodGracePeriod: 60 }],
    [
      "--image-gc-high-threshold 90 --image-gc-low-threshold 70 --minimum-image-ttl-duration 5m",
      { imageGCHighThresholdPercent: 90, imageGCLowThresholdPercent: 70, imageMinimumGCAge: "5m0s" },
    ],
  ] as const;
  for (const [line, want] of table) {
    test(line || "none", () => {
      expect(kubeletFields(parsed(line))).toEqual(want);
    });
  }

  const wrong = [
    ["--eviction-hard memory.available=1Gi", '"memory.available=1Gi": expected key<value.'],
    ["--eviction-soft memory.available=1Gi", '"memory.available=1Gi": expected key<value.'],
    ["--eviction-soft-grace-period memory.available", '"memory.available": expected key=value.'],
    ["--eviction-pressure-transition-period 30", 'time: missing unit in duration "30"'],
    ["--image-gc-high-threshold 90%", "expected a whole number"],
  ] as const;
  for (const [line, message] of wrong) {
    test(`${line}: ${message}`, () => {
      expect(() => parsed(line)).toThrow(message);
    });
  }
});

describe("what cannot be is an error before the node joins, in upstream's words", () => {
  const table = [
    ["--eviction-hard memory<1Gi", '--eviction-hard memory "1Gi": unsupported eviction signal memory'],
    [
      "--eviction-soft memory.available<1Gi",
      '--eviction-soft memory.available "1Gi": grace period must be specified for the soft eviction threshold memory.available',
    ],
  ] as const;
  for (const [line, message] of table) {
    test(`${line}: ${message}`, async () => {
      const options = { node: "n1", cpu: "4", memory: "8Gi", ...parsed(line) };
      await expect(readConfiguration({ cwd: "/" }, options, "1.25")).rejects.toMatchObject({ code: "USAGE", message });
    });
  }

  test("flags replace the default thresholds", async () => {
    const options = { node: "n1", cpu: "4", memory: "8Gi", ...parsed("--eviction-hard memory.available<2Gi") };
    const { config } = await readConfiguration({ cwd: "/" }, options, "1.25");
    expect(config.evictionHard).toEqual({ "memory.available": "2Gi" });
  });
});

const policies = [
  ["", { minAgeMs: 0, maxPerPodContainer: 1, maxContainers: -1 }],
  [
    "--minimum-container-ttl-duration 1m30s --maximum-dead-containers-per-container 0 --maximum-dead-containers 100",
    { minAgeMs: 90_000, maxPerPodContainer: 0, maxContainers: 100 },
  ],
  ["--maximum-dead-containers-per-container -1", { minAgeMs: 0, maxPerPodContainer: -1, maxContainers: -1 }],
] as const;
for (const [line, want] of policies) {
  test(`dead containers: ${line || "the defaults"}`, () => expect(gcPolicyOf(parsed(line))).toEqual(want));
}

test("dead containers: a negative age is upstream's error", () => {
  expect(() => gcPolicyOf({ minimumContainerTtlDuration: "-1s" })).toThrow(
    "invalid minimum garbage collection age: -1s",
  );
});
