import { describe, expect, test } from "vitest";
import { type EvictionStatements, parseThresholdConfig } from "../../../src/kubelet/eviction/parse.js";
import { type Threshold, thresholdAmount, thresholdText } from "../../../src/kubelet/eviction/threshold.js";

/** `memory.available<100Mi`, `@30000` for a grace period in ms, `+1Gi` for a minimum reclaim */
function text({ signal, value, gracePeriodMs, minReclaim }: Threshold): string {
  const grace = gracePeriodMs === 0 ? "" : `@${gracePeriodMs}`;
  return `${signal}<${thresholdText(value)}${grace}${minReclaim === undefined ? "" : `+${thresholdText(minReclaim)}`}`;
}

function statements(pairs: string, separator: string): Record<string, string> {
  return Object.fromEntries(
    pairs
      .split(" ")
      .filter(Boolean)
      .map((pair) => pair.split(separator)),
  );
}

function config(hard: string, soft = "", grace = "", reclaim = ""): EvictionStatements {
  return {
    evictionHard: statements(hard, "<"),
    evictionSoft: statements(soft, "<"),
    evictionSoftGracePeriod: statements(grace, "="),
    evictionMinimumReclaim: statements(reclaim, "="),
    enforceNodeAllocatable: ["pods"],
  };
}

describe("valid", () => {
  const table = [
    // hard  soft  grace periods  minimum reclaims  thresholds
    ["", "", "", "", ""],
    [
      "memory.available<150Mi",
      "memory.available<300Mi",
      "memory.available=30s",
      "memory.available=0",
      "memory.available<150Mi+0 memory.available<300Mi@30000+0 allocatableMemory.available<150Mi+0",
    ],
    [
      "memory.available<10%",
      "memory.available<30%",
      "memory.available=30s",
      "memory.available=5%",
      "memory.available<10%+5% memory.available<30%@30000+5% allocatableMemory.available<10%+5%",
    ],
    [
      "imagefs.available<150Mi nodefs.available<100Mi",
      "imagefs.available<300Mi nodefs.available<200Mi",
      "imagefs.available=30s nodefs.available=30s",
      "imagefs.available=2Gi nodefs.available=1Gi",
      "imagefs.available<150Mi+2Gi nodefs.available<100Mi+1Gi imagefs.available<300Mi@30000+2Gi nodefs.available<200Mi@30000+1Gi",
    ],
    [
      "imagefs.inodesFree<150Mi nodefs.inodesFree<100Mi",
      "imagefs.inodesFree<300Mi nodefs.inodesFree<200Mi",
      "imagefs.inodesFree=30s nodefs.inodesFree=30s",
      "imagefs.inodesFree=2Gi nodefs.inodesFree=1Gi",
      "imagefs.inodesFree<150Mi+2Gi nodefs.inodesFree<100Mi+1Gi imagefs.inodesFree<300Mi@30000+2Gi nodefs.inodesFree<200Mi@30000+1Gi",
    ],
    ["memory.available<0% nodefs.available<100%", "", "", "", ""],
    ["memory.available<0% nodefs.available<10%", "", "", "", "nodefs.available<10%"],
    ["pid.available<20%", "", "", "", "pid.available<20%"],
    ["", "memory.available<1Gi", "memory.available=1m30s", "", "memory.available<1Gi@90000"],
    // A soft threshold without a grace period in time is a hard one.
    ["", "memory.available<1Gi", "memory.available=0", "", "memory.available<1Gi allocatableMemory.available<1Gi"],
    // Grace periods and minimum reclaims of other signals are checked and not used.
    ["nodefs.available<1Gi", "", "memory.available=1h", "pid.available=5", "nodefs.available<1Gi"],
  ] as const;
  for (const [hard, soft, grace, reclaim, want] of table) {
    test(`hard ${hard || "-"}, soft ${soft || "-"}: ${want || "none"}`, () => {
      const thresholds = parseThresholdConfig(config(hard, soft, grace, reclaim));
      expect(thresholds.map(text).join(" ")).toBe(want);
    });
  }
});

test("without limits for all pods together there is no threshold for them", () => {
  const thresholds = parseThresholdConfig({
    evictionHard: { "memory.available": "100Mi" },
    enforceNodeAllocatable: [],
  });
  expect(thresholds.map(text)).toEqual(["memory.available<100Mi"]);
});

describe("invalid: upstream's message", () => {
  const quantity = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
  const table = [
    // hard  soft  grace  reclaim  message
    ["mem.available<1Gi", "", "", "", "unsupported eviction signal mem.available"],
    ["", "ram<1Gi", "", "", "unsupported eviction signal ram"],
    ["", "", "ram=1m", "", "unsupported eviction signal ram"],
    ["", "", "", "ram=1Gi", "unsupported eviction signal ram"],
    ["toString<1Gi", "", "", "", "unsupported eviction signal toString"],
    ["memory.available<-150Mi", "", "", "", "eviction threshold memory.available must be positive: -150Mi"],
    ["memory.available<0", "", "", "", "eviction threshold memory.available must be positive: 0"],
    ["memory.available<-5%", "", "", "", "eviction percentage threshold memory.available must be >= 0%: -5%"],
    ["memory.available<120%", "", "", "", "eviction percentage threshold memory.available must be <= 100%: 120%"],
    ["memory.available<ten%", "", "", "", 'strconv.ParseFloat: parsing "ten": invalid syntax'],
    ["memory.available<%", "", "", "", 'strconv.ParseFloat: parsing "": invalid syntax'],
    ["memory.available<lots", "", "", "", quantity],
    ["memory.available<1GB", "", "", "", quantity],
    [
      "",
      "memory.available<150Mi",
      "",
      "",
      "grace period must be specified for the soft eviction threshold memory.available",
    ],
    [
      "",
      "memory.available<150Mi",
      "memory.available=-30s",
      "",
      "invalid eviction grace period specified: -30s, must be a positive value",
    ],
    ["", "", "memory.available=30", "", 'time: missing unit in duration "30"'],
    ["", "", "memory.available=soon", "", 'time: invalid duration "soon"'],
    [
      "memory.available<150Mi",
      "",
      "",
      "memory.available=-300Mi",
      "negative eviction minimum reclaim specified for memory.available",
    ],
    [
      "memory.available<15%",
      "",
      "",
      "memory.available=-15%",
      "eviction percentage minimum reclaim memory.available must be positive: -15%",
    ],
    ["", "", "", "memory.available=0%", "eviction percentage minimum reclaim memory.available must be positive: 0%"],
  ] as const;
  for (const [hard, soft, grace, reclaim, message] of table) {
    test(`${[hard, soft, grace, reclaim].filter(Boolean).join(", ")}: ${message}`, () => {
      expect(() => parseThresholdConfig(config(hard, soft, grace, reclaim))).toThrow(message);
    });
  }
});

describe("amounts", () => {
  const table = [
    // value  capacity  amount
    ["150Mi", 10, 157_286_400],
    ["10%", 1_000, 100],
    // 10 % as a 32 bit float is slightly more than a tenth: upstream's own figure
    ["10%", 21_462_233_088, 2_146_223_340],
    ["33%", 100, 33],
    // and half a percent slightly less
    ["0.5%", 1_000, 4],
    ["15%", 0, 0],
  ] as const;
  for (const [value, capacity, want] of table) {
    test(`${value} of ${capacity}: ${want}`, () => {
      const [threshold] = parseThresholdConfig(config(`nodefs.available<${value}`));
      expect(threshold && thresholdAmount(threshold.value, capacity)).toBe(want);
      expect(threshold && thresholdText(threshold.value)).toBe(value);
    });
  }
});
