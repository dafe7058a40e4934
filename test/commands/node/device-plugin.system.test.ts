import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "vitest";
import { CliProcess, newHome } from "../../support/cli-process.js";
import { missingPath } from "../../support/missing-path.js";
import { runInProcess } from "../../support/run-cli.js";

test("device-plugin: registers with a node that runs, and ends with Ctrl-C", async () => {
  const home = newHome();
  const node = new CliProcess(home, ["node"]);
  await node.printed(/kubectl --kubeconfig/);
  const plugin = new CliProcess(home, ["device-plugin", "--count", "3", "--unhealthy", "gpu-1"]);
  await plugin.printed(/list 3 of example\.com\/gpu\s+unhealthy: gpu-1/);
  await node.printed(/devices of example\.com\/gpu: healthy 0 of 0 → 2\s+of 3: gpu-0\s+gpu-2/);
  // Its result comes after the registration, which the node can report first.
  await plugin.printed(/^\S+\/device-plugins\/gpu\.sock$/m);
  const { code, stdout } = await plugin.kill("SIGINT");
  assert.equal(code, 130);
  assert.match(stdout, /^\S+\/device-plugins\/gpu\.sock\n$/);
  assert.equal(existsSync(stdout.trim()), false);
  await node.printed(/mark all devices of example\.com\/gpu as unhealthy/);
  await node.kill("SIGINT");
});

for (const [args, code, said] of [
  [[], 3, /no kubelet listens at \S+\/nodes\/node-1\/device-plugins\/kubelet\.sock/],
  [["--root-dir", missingPath()], 2, /cannot listen on \S+: its folder does not exist/],
  [["--root-dir", "/tmp", "--unhealthy", "gpu-7"], 2, /--unhealthy gpu-7: no such device/],
  [["--count", "0"], 2, /expected a number from 1 to 1000/],
] as const) {
  test(`device-plugin ${args.join(" ")}: exits with ${code}`, async () => {
    const result = await runInProcess(["device-plugin", ...args]);
    assert.equal(result.code, code);
    assert.match(result.stderr.replace(/\s+/g, " "), said);
  });
}
