import assert from "node:assert/strict";
import { test } from "vitest";
import { skewProblem } from "../../../src/util/release/skew.js";

const table = [
  // kubelet, cluster, problem
  ["1.25", "1.25", undefined],
  ["1.25", "1.27", undefined],
  ["1.25", "1.28", undefined],
  ["1.23", "1.25", undefined],
  ["1.24", "1.26", undefined],
  ["1.22", "1.25", /v1.22 is too old: v1.25 accepts kubelets of v1.23 to v1.25/],
  ["1.25", "1.29", /v1.25 is too old: v1.29 accepts kubelets of v1.26 to v1.29/],
  ["1.24", "1.27", /v1.24 is too old: v1.27 accepts kubelets of v1.25 to v1.27/],
  ["1.26", "1.25", /v1.26 cannot be newer than the API server: v1.25 accepts kubelets of v1.23 to v1.25/],
] as const;
for (const [kubelet, cluster, problem] of table) {
  test(`a kubelet of v${kubelet} in a cluster of v${cluster}: ${problem ?? "fine"}`, () => {
    if (problem === undefined) assert.equal(skewProblem(kubelet, cluster), undefined);
    else assert.match(skewProblem(kubelet, cluster) ?? "", problem);
  });
}
