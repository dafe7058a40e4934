import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { ReleaseFact } from "../../../src/util/release/fact.js";
import { FACTS } from "../../../src/util/release/fact-table.js";
import { constantFor, type FactName, factFor, isAtLeast, parseKubeVersion } from "../../../src/util/release/facts.js";

describe("parseKubeVersion", () => {
  for (const [text, want] of [
    ["1.25", "1.25"],
    ["v1.32", "1.32"],
    ["v1.32.5", "1.32"],
    [" 1.34 ", "1.34"],
  ] as const) {
    test(`${JSON.stringify(text)} is ${want}`, () => expect(parseKubeVersion(text)).toBe(want));
  }
  for (const text of ["", "1", "1.24", "1.35", "2.30", "latest", "1.x", "1.32-rc1"]) {
    test(`${JSON.stringify(text)} is refused, and the hint names the range`, () => {
      expect(() => parseKubeVersion(text)).toThrow(
        expect.objectContaining({ code: "USAGE", hint: "use --kube-version 1.25 to 1.34" }),
      );
    });
  }
});

describe("factFor", () => {
  for (const [release, wantMs] of [
    ["1.25", 40_000],
    ["1.31", 40_000],
    ["1.32", 50_000],
    ["1.34", 50_000],
  ] as const) {
    test(`nodeMonitorGracePeriod in ${release} is ${wantMs} ms`, () => {
      const graceMs: number = factFor("nodeMonitorGracePeriod", release);
      expect(graceMs).toBe(wantMs);
    });
  }

  test("a gate is a boolean", () => {
    const enabled: boolean = factFor("podDisruptionConditions", "1.26");
    expect([factFor("podDisruptionConditions", "1.25"), enabled]).toEqual([false, true]);
  });
});

test("a quoted constant contains its release and its former value", () => {
  expect(constantFor("nodeMonitorGracePeriod", "1.25")).toEqual({
    name: "nodeMonitorGracePeriod",
    value: "40 s",
    release: "v1.25",
  });
  expect(constantFor("nodeMonitorGracePeriod", "1.33")).toEqual({
    name: "nodeMonitorGracePeriod",
    value: "50 s",
    release: "v1.32 (40 s before)",
  });
  expect(constantFor("leaseBackoffInitial", "1.25").value).toBe("200 ms");
  expect(constantFor("nodeStatusReportFrequency", "1.25").value).toBe("5 min");
  expect(constantFor("bootstrapTokenTtl", "1.25").value).toBe("24 h");
});

test("every row begins at 1.25, ascends, and never repeats a value", () => {
  for (const fact of Object.values<ReleaseFact<unknown>>(FACTS)) {
    expect(fact.values[0]?.since, fact.name).toBe("1.25");
    for (let i = 1; i < fact.values.length; i++) {
      const [before, after] = [fact.values[i - 1], fact.values[i]];
      expect(isAtLeast(after?.since ?? "", `1.${Number(before?.since.slice(2)) + 1}`), fact.name).toBe(true);
      expect(after?.value, fact.name).not.toEqual(before?.value);
    }
  }
});

const GOLDEN = "../shared/golden/facts.json";

describe.skipIf(!existsSync(GOLDEN))(`constants of the real kubelet (${GOLDEN}; skipped where it is missing)`, () => {
  const SECONDS: Partial<Record<FactName, string>> = {
    leaseRenewInterval: "node.leaseRenewInterval",
    nodeStatusUpdateFrequency: "node.statusUpdateFrequency",
    nodeStatusReportFrequency: "node.statusReportFrequency",
    nodeMonitorGracePeriod: "node.monitorGracePeriod",
    nodeStartupGracePeriod: "node.startupGracePeriod",
    nodeMonitorPeriod: "node.monitorPeriod",
    csrApprovedExpiration: "csrCleaner.approvedExpiration",
    csrDeniedExpiration: "csrCleaner.deniedExpiration",
    csrPendingExpiration: "csrCleaner.pendingExpiration",
    bootstrapCsrTimeout: "csr.bootstrapTimeout",
    csrRotationTimeout: "csr.rotationTimeout",
    plegRelistPeriod: "pleg.relistPeriod",
    plegRelistThreshold: "pleg.relistThreshold",
    podResyncInterval: "kubelet.resyncInterval",
    podWorkerBackOffPeriod: "podWorkers.backOffPeriod",
    podWorkerTransientBackOffPeriod: "podWorkers.backOffOnTransientErrorPeriod",
  };
  const PLAIN: Partial<Record<FactName, string>> = {
    leaseDurationSeconds: "node.leaseDurationSeconds",
    leaseRenewIntervalFraction: "node.leaseRenewIntervalFraction",
    leaseJitterFactor: "node.leaseRenewJitterFactor",
    leaseMaxUpdateRetries: "node.leaseMaxUpdateRetries",
    nodeStatusUpdateRetry: "node.statusUpdateRetry",
    nodeEvictionRate: "node.evictionRate",
    podWorkerResyncJitterFactor: "podWorkers.resyncJitterFactor",
    podWorkerBackOffJitterFactor: "podWorkers.backOffJitterFactor",
    defaultNotReadyTolerationSeconds: "pod.defaultNotReadyTolerationSeconds",
    defaultUnreachableTolerationSeconds: "pod.defaultUnreachableTolerationSeconds",
  };
  const golden = () =>
    new Map(
      (
        JSON.parse(readFileSync(GOLDEN, "utf8")) as { facts: { name: string; value: unknown; file: string }[] }
      ).facts.map((fact) => [fact.name, fact]),
    );

  for (const [name, theirs] of Object.entries(SECONDS) as [FactName, string][]) {
    test(`${name} = ${theirs}`, () => {
      expect(Number(factFor(name, "1.25")) / 1000).toBe(golden().get(theirs)?.value);
      expect(FACTS[name].file).toBe(golden().get(theirs)?.file);
    });
  }
  for (const [name, theirs] of Object.entries(PLAIN) as [FactName, string][]) {
    test(`${name} = ${theirs}`, () => expect(factFor(name, "1.25")).toBe(golden().get(theirs)?.value));
  }
  test("the lease's backoff begins and ends as measured", () => {
    const sleeps = golden().get("node.leaseEnsureBackoffSequence")?.value as number[];
    expect([sleeps[0], sleeps.at(-1)]).toEqual([
      factFor("leaseBackoffInitial", "1.25") / 1000,
      factFor("leaseBackoffMax", "1.25") / 1000,
    ]);
  });
});
