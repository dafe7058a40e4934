import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "vitest";
import { type ClusterState, clusterKubeconfig, writeClusterState } from "../../../src/testbed/target/cluster-state.js";
import { clusterToJoin } from "../../../src/testbed/target/target.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "kubelab-target-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe("the cluster that a command without flags joins", () => {
  const lab = { name: "learn", isLab: true };
  const other = { name: "zoo" };
  const table: readonly (readonly [
    running: readonly Partial<ClusterState>[],
    named: string,
    joined: string | undefined,
  ])[] = [
    [[], "", undefined],
    [[other], "", "zoo"],
    [[lab], "", undefined],
    [[lab, other], "", "zoo"],
    [[lab, other], "learn", "learn"],
  ];
  for (const [running, named, joined] of table) {
    const names = running.map(({ name }) => name).join(" and ") || "none";
    test(`${names} running, ${named || "none"} named: ${joined ?? "none"}`, async () => {
      const env = { XDG_STATE_HOME: folder, KUBELAB_CLUSTER: named };
      for (const one of running) await writeClusterState(env, stateOf(env, one));
      assert.equal(await clusterToJoin(env), joined);
    });
  }
});

/** The state of a cluster in this process. */
function stateOf(env: NodeJS.ProcessEnv, given: Partial<ClusterState>): ClusterState {
  const name = given.name ?? "";
  const state = { version: 1, pid: process.pid, url: "https://127.0.0.1:1", kubeVersion: "1.25", speed: 1 } as const;
  return { ...state, nodes: 0, ...given, name, kubeconfig: clusterKubeconfig(env, name) };
}
