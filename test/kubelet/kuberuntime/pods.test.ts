import { describe, expect, test } from "vitest";
import { groupIntoPods } from "../../../src/kubelet/kuberuntime/kube-runtime.js";
import type { ListedContainer, ListedSandbox } from "../../../src/kubelet/kuberuntime/runtime-service.js";
import { POD_UID_LABEL } from "../../../src/staging/cri/labels.js";
import { container, sandbox } from "./listed.js";

describe("groupIntoPods", () => {
  /** `uid[containers|sandboxes]` with each one's state */
  const text = (sandboxes: ListedSandbox[], containers: ListedContainer[]) =>
    groupIntoPods(sandboxes, containers).map(({ podUid, containers: own, sandboxes: homes }) => {
      const list = (items: typeof own) => items.map(({ containerId, state }) => `${containerId}:${state}`).join(",");
      return `${podUid}[${list(own)}|${list(homes)}]`;
    });

  const table: readonly [string, ListedSandbox[], ListedContainer[], string[]][] = [
    [
      "a pod of a sandbox and two containers",
      [sandbox("s1")],
      [container("c1"), container("c2", 2)],
      ["u1[c1:running,c2:exited|s1:running]"],
    ],
    ["two sandboxes with one uid are one pod", [sandbox("s1", 1), sandbox("s2")], [], ["u1[|s1:exited,s2:running]"]],
    [
      "the newest pod comes first",
      [sandbox("s1", 0, 1n, "old"), sandbox("s2", 0, 2n, "new")],
      [],
      ["new[|s2:running]", "old[|s1:running]"],
    ],
    ["a container whose sandbox is gone", [], [container("c1", 2)], ["u1[c1:exited|]"]],
    ["a sandbox without metadata is left out", [{ ...sandbox("s1"), metadata: undefined }], [], []],
    ["a container without metadata is left out", [], [{ ...container("c1"), metadata: undefined }], []],
    ["a container without labels belongs to a pod without a uid", [], [container("c1", 1, null)], ["[c1:running|]"]],
    [
      "all such containers are one pod",
      [],
      [container("c1", 1, null), container("c2", 1, null)],
      ["[c1:running,c2:running|]"],
    ],
    [
      "a container without an image is left out, its pod is not",
      [],
      [{ ...container("c1"), image: undefined }],
      ["u1[|]"],
    ],
    ["an entry without an ID is left out, its pod is not", [sandbox("")], [container("")], ["u1[|]"]],
    ["states of tomorrow are unknown", [sandbox("s1", 7)], [container("c1", 9)], ["u1[c1:unknown|s1:unknown]"]],
    ["created and unknown containers", [], [container("c1", 0), container("c2", 3)], ["u1[c1:created,c2:unknown|]"]],
  ];
  for (const [name, sandboxes, containers, want] of table) {
    test(name, () => expect(text(sandboxes, containers)).toEqual(want));
  }
  test("a label called __proto__ is only a label", () => {
    const labels = JSON.parse(`{"__proto__":"x","${POD_UID_LABEL}":"u1"}`) as Record<string, string>;
    expect(groupIntoPods([], [{ ...container("c1"), labels }])).toHaveLength(1);
  });
});
