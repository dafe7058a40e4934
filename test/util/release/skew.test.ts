import assert from "node:assert/strict";
import { test } from "vitest";
import { skewProblem } from "../../../src/util/release/skew.js";

const table = [
  // kubelet, cluster, problem
  ["1.25", "1.25", undefined],
  ["1.25", "1.27", undefined],
  ["1.25", "1.28", undefined],
  ["1.25", "1.29", /too old: v1.29 accepts kubelets that are at most three minor versions older/],
  ["1.26", "1.25", /v1.26 is newer: it cannot be newer than the API server/],
] as const;
for (const [kubelet, cluster, problem] of table) {
  test(`a kubelet of v${kubelet} in a cluster of v${cluster}: ${problem ?? "fine"}`, () => {
    if (problem === undefined) assert.equal(skewProblem(kubelet, cluster), undefined);
    else assert.match(skewProblem(kubelet, cluster) ?? "", problem);
  });
}
