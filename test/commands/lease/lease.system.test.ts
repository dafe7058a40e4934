import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { runInProcess } from "../../support/run-cli.js";

interface LeaseJson {
  readonly lapse: {
    readonly unknownAfterSeconds: number;
    readonly taints: readonly string[];
    readonly pods: readonly { readonly pod: string; readonly evictedAfterSeconds?: number }[];
  } | null;
  readonly revival: { readonly readyAfterSeconds: number; readonly untaintedAfterSeconds: number } | null;
}

describe("kubelab lease", () => {
  test("--stop-after and --revive: Unknown after the grace period, taints, an eviction, and the way back", async () => {
    const { code, stdout, stderr } = await runInProcess([
      "lease",
      "--stop-after",
      "1",
      "--revive",
      "--speed",
      "40",
      "--json",
    ]);
    assert.equal(code, 0, stderr);
    const { lapse, revival } = JSON.parse(stdout) as LeaseJson;
    assert.ok(lapse !== null && revival !== null);
    // A grace period of 40 s, looked at every 5 s; the machine may be slow, and time runs 40 times as fast here.
    assert.ok(lapse.unknownAfterSeconds >= 39, `${lapse.unknownAfterSeconds}`);
    assert.deepEqual([...lapse.taints].sort(), [
      "node.kubernetes.io/unreachable:NoExecute",
      "node.kubernetes.io/unreachable:NoSchedule",
    ]);
    const [hasty, patient] = lapse.pods;
    assert.equal(hasty?.pod, "default/hasty");
    assert.ok((hasty?.evictedAfterSeconds ?? 0) >= lapse.unknownAfterSeconds + 19);
    assert.equal(patient?.evictedAfterSeconds, undefined);
    assert.ok(revival.untaintedAfterSeconds >= revival.readyAfterSeconds);
    const trace = stderr.replace(/\s+/g, " ").replaceAll("->", "→");
    for (const line of [
      "of the grace period left",
      "nodeMonitorGracePeriod = 40 s (v1.25)",
      "node node-1: Ready True → Unknown",
      "node node-1: add node.kubernetes.io/unreachable:NoExecute",
      "is still Unknown although its Lease is renewed",
      "Ready Unknown → True",
      "node node-1: remove node.kubernetes.io/unreachable:NoExecute",
    ]) {
      assert.ok(trace.includes(line), `no "${line}" in\n${stderr}`);
    }
    // The controllers report in this process, so the watcher does not repeat their actions.
    for (const line of ["Node node-1: Ready True → Unknown", "Node node-1: taint", "Pod default/hasty: Ready"]) {
      assert.ok(!trace.includes(line), `"${line}" in\n${stderr}`);
    }
  });

  test("the silence counts from the last heartbeat, not from the start of the fixture", async () => {
    const args = ["lease", "--stop-after", "1", "--speed", "100"];
    const { code, stdout, stderr } = await runInProcess(args);
    assert.equal(code, 0, stderr);
    const [, seconds] = /declared Unknown (\d+) s after its last heartbeat/.exec(stdout) ?? [];
    assert.ok(Number(seconds) >= 40, stdout);
    assert.match(stdout, /hasty: evicted \d+ s after that heartbeat/);
  });

  test("a newer release has another grace period, and the trace names the release that changed it", async () => {
    const args = ["lease", "--stop-after", "1", "--speed", "40", "--kube-version", "1.32", "--json"];
    const { code, stdout, stderr } = await runInProcess(args);
    assert.equal(code, 0, stderr);
    const { lapse } = JSON.parse(stdout) as LeaseJson;
    assert.ok((lapse?.unknownAfterSeconds ?? 0) >= 49, stdout);
    assert.match(stderr.replace(/\s+/g, " "), /nodeMonitorGracePeriod = 50 s \(v1\.32 \(40 s before\)\)/);
  });

  for (const [words, sentence] of [
    [["--stop-after", "0"], /1 or more renewals/],
    [["--stop-after", "x"], /expected 1 or more renewals, or a time such as 30s/],
    [["--node", "-"], /cannot be a node's name/],
    [["--kubeconfig", "x", "--speed", "2"], /--speed is for the embedded/],
  ] as const) {
    test(`${words.join(" ")}: exit 2`, async () => {
      const { code, stderr } = await runInProcess(["lease", ...words]);
      assert.equal(code, 2);
      assert.match(stderr, sentence);
    });
  }
});
