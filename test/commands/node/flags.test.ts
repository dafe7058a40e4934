import { describe, expect, test } from "vitest";
import { parseNodeLabels, parseOffset, parseTaints } from "../../../src/commands/node/flags.js";

describe("--node-labels", () => {
  const good: readonly [string, Record<string, string>][] = [
    ["zone=a", { zone: "a" }],
    ["zone=a, disk=ssd,", { zone: "a", disk: "ssd" }],
    ["zone=", { zone: "" }],
    ["", {}],
    ["example.com/rack=r1", { "example.com/rack": "r1" }],
    ["topology.kubernetes.io/zone=a", { "topology.kubernetes.io/zone": "a" }],
    ["gpu.node.kubernetes.io/x=y", { "gpu.node.kubernetes.io/x": "y" }],
    ["kubernetes.io/hostname=other", { "kubernetes.io/hostname": "other" }],
  ];
  test.each(good)("%j", (text, labels) => {
    expect(parseNodeLabels(text)).toEqual(labels);
  });

  const bad: readonly [string, RegExp][] = [
    ["zone", /"zone" is not a label; expected key=value/],
    ["=a", /"=a": name part must be non-empty/],
    ["zone=a b", /"zone=a b": a valid label must be/],
    ["a/b/c=d", /"a\/b\/c=d": a qualified name/],
    [
      "node-role.kubernetes.io/control-plane=",
      /may not set node-role.kubernetes.io\/control-plane: .*kubectl label node/,
    ],
    ["k8s.io/x=1,zone=a,kubernetes.io/y=2", /may not set k8s.io\/x, kubernetes.io\/y/],
  ];
  test.each(bad)("%j is refused", (text, message) => {
    expect(() => parseNodeLabels(text)).toThrow(message);
  });

  test("a second flag adds to the first, and its value wins", () => {
    expect(parseNodeLabels("zone=b,size=big", parseNodeLabels("zone=a,disk=ssd"))).toEqual({
      zone: "b",
      disk: "ssd",
      size: "big",
    });
  });
});

describe("--register-with-taints", () => {
  test("with a value, without one, several flags", () => {
    const first = parseTaints("dedicated=db:NoSchedule,gpu:NoExecute");
    expect(parseTaints("slow=:PreferNoSchedule", first)).toEqual([
      { key: "dedicated", value: "db", effect: "NoSchedule" },
      { key: "gpu", effect: "NoExecute" },
      { key: "slow", value: "", effect: "PreferNoSchedule" },
    ]);
  });

  const bad: readonly [string, RegExp][] = [
    ["gpu", /"gpu" is not a taint; expected key=value:effect/],
    ["gpu:Never", /"gpu:Never" is not a taint/],
    ["gpu=a=b:NoSchedule", /is not a taint/],
    ["-gpu:NoSchedule", /"-gpu:NoSchedule": name part/],
    ["gpu=a b:NoSchedule", /a valid label must be/],
    ["gpu=a:NoSchedule,gpu=b:NoSchedule", /gpu has the effect NoSchedule twice/],
  ];
  test.each(bad)("%j is refused", (text, message) => {
    expect(() => parseTaints(text)).toThrow(message);
  });
});

describe("--clock-offset", () => {
  test.each([
    ["-10m", -600_000],
    ["2h30m", 9_000_000],
    ["0s", 0],
  ] as const)("%s", (text, ms) => {
    expect(parseOffset(text)).toBe(ms);
  });
  test.each(["", "10", "late"])("%j is refused", (text) => {
    expect(() => parseOffset(text)).toThrow(/expected for example -10m or 2h30m/);
  });
});
