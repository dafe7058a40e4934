import assert from "node:assert/strict";
import { afterAll, beforeAll, describe, test } from "vitest";
import { newHome, runCliProcess } from "../support/cli-process.js";

describe("a kubelet and a cluster of other releases", () => {
  const home = newHome();
  const up = (...flags: string[]) =>
    runCliProcess(home, "cluster", "up", "--detach", "--kube-version", "1.26", ...flags);

  beforeAll(async () => {
    const { code, stderr } = await up("--nodes", "1", "--kubelet-version", "1.24");
    assert.equal(code, 0, stderr);
  }, 60_000);
  afterAll(async () => {
    await runCliProcess(home, "cluster", "down");
  });

  test("the cluster's nodes are as old as --kubelet-version says", async () => {
    const { stdout } = await runCliProcess(home, "cluster", "status", "--json");
    const { kubeVersion, kubeletVersion } = JSON.parse(stdout) as Readonly<Record<string, string>>;
    assert.deepEqual([kubeVersion, kubeletVersion], ["1.26", "1.24"]);
  });

  for (const [what, argv, said] of [
    [
      "a node",
      ["node", "--cluster", "kubelab", "--kube-version", "1.23"],
      /v1\.26 accepts kubelets of v1\.24 to v1\.26/,
    ],
    [
      "a newer node",
      ["node", "--cluster", "kubelab", "--kube-version", "1.27"],
      /v1\.27 cannot be newer than the API server/,
    ],
    [
      "bootstrap",
      ["bootstrap", "--cluster", "kubelab", "--kube-version", "1.23"],
      /accepts kubelets of v1\.24 to v1\.26/,
    ],
    [
      "cluster up",
      ["cluster", "up", "--name", "b", "--kube-version", "1.26", "--kubelet-version", "1.23"],
      /Use --kubelet-version 1\.24 to 1\.26/,
    ],
    ["a release that no cluster here takes", ["node", "--kube-version", "1.22"], /use --kube-version 1\.23 to 1\.34/],
  ] as const) {
    test(`${what} outside the range is refused, with the range`, async () => {
      const { code, stderr } = await runCliProcess(home, ...argv);
      assert.equal(code, 2, stderr);
      assert.match(stderr.replaceAll(/\s+/g, " "), said);
    });
  }

  test("bootstrap joins as an older kubelet", { timeout: 60_000 }, async () => {
    const { code, stderr } = await runCliProcess(home, "bootstrap", "--node", "old", "--kube-version", "1.24");
    assert.equal(code, 0, stderr);
    assert.match(stderr.replaceAll(/\s+/g, " "), /running cluster kubelab, v1\.26/);
  });
});
