import { expect, test } from "vitest";
import type { ContainerState, ContainerStatus, PodStatus } from "../../../src/kubelet/container/runtime.js";
import { ContainerDeletor } from "../../../src/kubelet/sync/container-deletor.js";
import { FakeClock } from "../../support/fake-clock.js";
import { recordingTrace } from "../../support/trace.js";
import { emptyPodStatus } from "../podworkers/pods.js";

const container = (containerId: string, name: string, createdAtMs: number, state: ContainerState): ContainerStatus => ({
  containerId,
  name,
  state,
  createdAtMs,
  exitCode: 0,
  image: "",
  imageId: "",
  hash: 0,
  restartCount: 0,
});

const podStatus: PodStatus = {
  ...emptyPodStatus("uid-a"),
  containerStatuses: [
    container("a3", "a", 3, "running"),
    container("a2", "a", 2, "exited"),
    container("a1", "a", 1, "exited"),
    container("b1", "b", 1, "exited"),
    container("b2", "b", 2, "exited"),
    container("b0", "b", 0, "exited"),
  ],
};

const table: [string, string | undefined, number, boolean, string][] = [
  // what                          filter     keep  all    removed
  ["an older one of its name", "a2", 1, false, "a1"],
  ["the newest counts as kept, whichever has ended", "b1", 1, false, "b1 b0"],
  ["a sandbox has ended", "sandbox", 1, false, ""],
  ["without a name, of all together", undefined, 1, false, "b2 a1 b1 b0"],
  ["the pod is over", "b1", 1, true, "a2 b2 a1 b1 b0"],
  ["the pod is over, and its sandbox", "sandbox", 1, true, "a2 b2 a1 b1 b0"],
];
for (const [what, filter, keep, removeAll, want] of table) {
  test(`${what}: [${want}]`, async () => {
    const removed: string[] = [];
    const { trace } = recordingTrace(new FakeClock());
    const runtime = { deleteContainer: async (id: string) => void removed.push(id) };
    const deletor = new ContainerDeletor({ runtime, trace }, keep, new AbortController().signal);
    deletor.deleteContainersInPod(filter, podStatus, removeAll);
    await deletor.idle();
    expect(removed.join(" ")).toBe(want);
  });
}

test("one that is being removed is not removed twice; a failure does not stop the others; then it may be tried again", async () => {
  const removed: string[] = [];
  let deleted = 0;
  const { trace } = recordingTrace(new FakeClock());
  const runtime = {
    deleteContainer: async (id: string) => {
      removed.push(id);
      if (id === "b1") throw new Error("busy");
    },
  };
  const deps = { runtime, trace, onDeleted: () => deleted++ };
  const deletor = new ContainerDeletor(deps, 1, new AbortController().signal);
  deletor.deleteContainersInPod("b2", podStatus, false);
  deletor.deleteContainersInPod("b2", podStatus, false);
  await deletor.idle();
  expect(removed).toEqual(["b1", "b0"]);
  expect(deleted).toBe(1);
  deletor.deleteContainersInPod("b2", podStatus, false);
  await deletor.idle();
  expect(removed).toEqual(["b1", "b0", "b1", "b0"]);
});
