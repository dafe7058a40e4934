import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { clockOfNamedCluster } from "../../../src/testbed/target/cluster-clock.js";
import { writeClusterState } from "../../../src/testbed/target/cluster-state.js";
import { SystemClock } from "../../../src/util/clock.js";

const HOUR_MS = 3_600_000;

test("a process that belongs to a cluster begins with the clock of that cluster", async () => {
  const env = { XDG_STATE_HOME: mkdtempSync(join(tmpdir(), "kubelab-clock-")) };
  const late = new SystemClock(1, HOUR_MS);
  await writeClusterState(env, {
    version: 1,
    name: "late",
    pid: process.pid,
    url: "https://127.0.0.1:1",
    kubeconfig: "/k",
    kubeVersion: "1.25",
    speed: 1,
    clock: late.reading,
    nodes: 0,
  });
  const found = await clockOfNamedCluster({ ...env, KUBELAB_CLUSTER: "late" });
  assert.ok(found?.clock !== undefined);
  const clock = new SystemClock();
  clock.follow(found.clock);
  assert.ok(Math.abs(clock.now() - late.now()) < 1_000);
  assert.equal(await clockOfNamedCluster(env), undefined, "no cluster is named");
  assert.equal(await clockOfNamedCluster({ ...env, KUBELAB_CLUSTER: "gone" }), undefined, "it does not run");
});
