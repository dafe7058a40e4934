import { expect, test } from "vitest";
import type { CliContext, PrintedResult } from "../../../src/commands/cli/context.js";
import { printRunning } from "../../../src/commands/cluster/running.js";
import type { ClusterState } from "../../../src/testbed/target/cluster-state.js";

const STATE: ClusterState = {
  version: 1,
  name: "b",
  pid: 7,
  url: "https://127.0.0.1:1002",
  kubeconfig: "/b.kubeconfig",
  kubeVersion: "1.25",
  speed: 1,
  nodes: 2,
};

/** What a status prints: the note, and the lines of stdout. */
function printed(state: ClusterState, details: Parameters<typeof printRunning>[3]): readonly string[] {
  const said: string[] = [];
  const context = {
    session: () => ({ trace: { emit: ({ text }: { readonly text: string }) => said.push(text) } }),
    print: ({ text }: PrintedResult) =>
      said.push(...(typeof text === "string" ? text : text((one) => one)).split("\n")),
  };
  printRunning(context as unknown as CliContext, state, "is running", details);
  return said;
}

test("servers of one etcd: nodes of its own, who leads, and where the others are", () => {
  const leaders = [
    { component: "kube-controller-manager", holder: "vm_1", isHere: false, cluster: "a" },
    { component: "kube-scheduler", holder: "vm_2", isHere: true, cluster: "b" },
    { component: "c", holder: "vm_3", isHere: false },
    { component: "d", holder: "", isHere: false },
  ];
  const servers = ["https://127.0.0.1:1001", STATE.url];
  expect(printed({ ...STATE, etcd: ["http://127.0.0.1:2379"] }, { leaders, servers })).toEqual([
    "cluster b is running: v1.25 at https://127.0.0.1:1002, with 2 nodes of its own (pid 7)",
    "kubectl --kubeconfig /b.kubeconfig",
    "kube-controller-manager  led by cluster a",
    "kube-scheduler           led by this server",
    "c                        led by another server, vm_3",
    "d                        no leader",
    "another server           https://127.0.0.1:1001",
  ]);
});

test("the only server has all nodes", () => {
  expect(printed(STATE, {})[0]).toBe("cluster b is running: v1.25 at https://127.0.0.1:1002, with 2 nodes (pid 7)");
});
