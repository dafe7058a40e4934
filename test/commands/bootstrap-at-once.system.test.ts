import assert from "node:assert/strict";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished, test } from "vitest";
import { keyMatchesCertificate } from "../../src/staging/pki/keys.js";
import { CliProcess, newHome, runCliProcess } from "../support/cli-process.js";

test("commands that join the same node at once succeed, and leave one pair of key and certificate", async () => {
  const home = newHome();
  const cluster = new CliProcess(home, ["cluster", "up"]);
  onTestFinished(async () => {
    await cluster.kill("SIGTERM");
    rmSync(home, { recursive: true, force: true });
  });
  await cluster.printed(/kubectl --kubeconfig/);
  const bootstrapThrice = (...flags: string[]) =>
    Promise.all([1, 2, 3].map(() => runCliProcess(home, "bootstrap", "--node", "n1", ...flags)));
  // The second time they exchange a pair that is in use.
  for (const flags of [[], ["--force"], ["--force"]]) {
    for (const { code, stderr } of await bootstrapThrice(...flags)) assert.equal(code, 0, stderr);
    const folder = join(home, "state", "kubelab", "nodes", "n1");
    assert.deepEqual(readdirSync(folder).sort(), ["kubelet.config", "kubelet.key", "kubelet.pem"]);
    const read = (name: string) => readFileSync(join(folder, name), "utf8");
    assert.ok(keyMatchesCertificate(read("kubelet.key"), read("kubelet.pem")));
  }
});
