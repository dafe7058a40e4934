import assert from "node:assert/strict";
import { test } from "vitest";
import {
  containersToRemove,
  type DeadContainer,
  evictableContainers,
  sandboxesToRemove,
} from "../../../src/kubelet/kuberuntime/container-gc.js";
import { POD_UID_LABEL } from "../../../src/staging/cri/labels.js";
import { Container } from "../../../src/staging/cri/messages/container.js";
import { PodSandbox } from "../../../src/staging/cri/messages/sandbox.js";

/** `pod/name@time` */
function dead(text: string): DeadContainer {
  const [, podUid = "", name = "", time = "0"] = /^(\w+)\/(\w+)@(\d+)$/.exec(text) ?? [];
  return { containerId: text, podUid, name, createdAtMs: Number(time), isUnknown: false };
}

const table = [
  // the dead                                 per container  on the node  gone      what goes, in this order
  ["a/c@1 a/c@2 a/c@3", 1, -1, "", "a/c@1 a/c@2"],
  ["a/c@3 a/c@1 a/c@2", 1, -1, "", "a/c@1 a/c@2"],
  ["a/c@1 a/d@2 b/c@3", 1, -1, "", ""],
  ["a/c@1 a/c@2", 0, -1, "", "a/c@1 a/c@2"],
  ["a/c@1 a/c@2", -1, -1, "", ""],
  ["a/c@1 a/c@2 b/c@3", 1, -1, "a", "a/c@1 a/c@2"],
  ["a/c@1 b/c@2 c/c@3", 1, 2, "", "a/c@1"],
  ["a/c@1 a/c@2 a/c@3 b/c@4", -1, 2, "", "a/c@1 a/c@2"],
  ["a/c@1 a/c@2 b/c@3 b/c@4", -1, 3, "", "a/c@1 b/c@3"],
  ["a/c@1 b/c@2", 1, 0, "", "a/c@1 b/c@2"],
  ["", 1, 0, "", ""],
] as const;
for (const [seen, maxPerPodContainer, maxContainers, gone, want] of table) {
  test(`collection: ${seen || "nothing"}, ${maxPerPodContainer}/${maxContainers}, gone: ${gone || "none"}: ${want || "nothing"} goes`, () => {
    const policy = { minAgeMs: 0, maxPerPodContainer, maxContainers };
    const removed = containersToRemove(seen.split(" ").filter(Boolean).map(dead), policy, (uid) => uid === gone);
    assert.equal(removed.map(({ containerId }) => containerId).join(" "), want);
  });
}

test("collection: running, young and foreign containers stay", () => {
  const container = (id: string, more: object) =>
    Container.create({
      id,
      metadata: { name: "c" },
      state: 2,
      createdAt: 5_000_000n,
      labels: { [POD_UID_LABEL]: "u" },
      ...more,
    });
  const found = evictableContainers(
    [
      container("old", {}),
      container("created", { state: 0 }),
      container("unknown", { state: 3 }),
      container("running", { state: 1 }),
      container("young", { createdAt: 6_000_001n }),
      container("foreign", { labels: {} }),
    ],
    6,
  );
  assert.deepEqual(
    found.map(({ containerId, isUnknown }) => `${containerId}${isUnknown ? "?" : ""}`),
    ["old", "created", "unknown?"],
  );
});

/** `id:pod@time`, `!` when it is ready, `+` when it holds containers */
const sandboxes = [
  ["s1:a@1 s2:a@2", "", "s1"],
  ["s2:a@2 s1:a@1", "", "s1"],
  ["s1:a@1", "", ""],
  ["s1:a@1", "a", "s1"],
  ["s1:a@1! s2:a@2", "a", "s2"],
  ["s1:a@1+ s2:a@2", "", ""],
  ["s1:a@1 s2:a@2 s3:a@3!", "", "s1 s2"],
  ["s1:a@1! s2:a@2!", "a", ""],
  ["s1:a@1 s2:b@1", "b", "s2"],
] as const;
for (const [seen, gone, want] of sandboxes) {
  test(`collection: of sandboxes ${seen}, gone: ${gone || "none"}: ${want || "none"} goes`, () => {
    const used = new Set<string>();
    const list = seen.split(" ").map((text) => {
      const [, id = "", uid = "", time = "0", mark] = /^(\w+):(\w+)@(\d+)([!+]?)$/.exec(text) ?? [];
      if (mark === "+") used.add(id);
      return PodSandbox.create({
        id,
        metadata: { uid },
        createdAt: BigInt(time) * 1_000_000n,
        state: mark === "!" ? 0 : 1,
      });
    });
    assert.equal(sandboxesToRemove(list, used, (uid) => uid === gone).join(" "), want);
  });
}
