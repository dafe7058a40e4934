import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CliProcess, newHome, runCliProcess } from "../support/cli-process.js";
import { suiteNeeding } from "../support/requirements.js";

describe("kubelab lease on a control plane of its own", () => {
  test("renews until Ctrl-C: exit 130, nothing on stdout", async () => {
    const run = new CliProcess(newHome(), ["lease", "--speed", "100", "--no-color"]);
    await run.printed(/(Lease node-1: renewTime[\s\S]*){3}/);
    const { code, stdout, stderr } = await run.kill("SIGINT");
    assert.equal(code, 130, stderr);
    assert.equal(stdout, "");
    assert.match(stderr, /interrupted/);
  });
});

describe("kubelab bootstrap --keep", () => {
  test("rotates the certificate and keeps renewing with the new one", async () => {
    const home = newHome();
    // Faster, the old certificate expires during the rotation if the machine is busy.
    const args = ["bootstrap", "--keep", "--cert-duration", "10m", "--speed", "60", "-v", "2", "--dir", "node"];
    const run = new CliProcess(home, args);
    await run.printed(/certificate\s+serial [\s\S]*PUT\s[\s\S]*Lease node-1: renewTime/);
    const { code, stderr } = await run.kill("SIGINT");
    assert.equal(code, 130, stderr);
    const text = stderr.replace(/\s+/g, " ");
    assert.match(text, /rotate the client certificate in \d+ (s|min)/);
    assert.match(text, /Auto approving self kubelet client certificate/);
    // The renewals after it are not refused: the server knows the new certificate.
    assert.doesNotMatch(text.split("serial")[1] ?? "", /→ 40[13]\b/);
  });
});

suiteNeeding(["kubectl"], "kubelab lease on a running cluster", () => {
  const home = newHome();
  const kubectl = (...args: string[]) =>
    execFileSync(
      "kubectl",
      ["--kubeconfig", join(home, "state", "kubelab", "clusters", "kubelab.kubeconfig"), ...args],
      { encoding: "utf8", env: { ...process.env, HOME: home } },
    );
  const readyOf = (node: string) =>
    kubectl("get", "node", node, "-o", "jsonpath={.status.conditions[?(@.type=='Ready')].status}");

  beforeAll(async () => {
    const up = await runCliProcess(home, "cluster", "up", "--detach", "--speed", "50");
    expect(up.code, up.stderr).toBe(0);
  });
  afterAll(async () => {
    await runCliProcess(home, "cluster", "down");
  });

  test("the only node lapses: Unknown, explained from outside, and no NoExecute taint", async () => {
    const { code, stdout, stderr } = await runCliProcess(home, "lease", "--node", "n1", "--stop-after", "1", "--json");
    assert.equal(code, 0, stderr);
    const { lapse } = JSON.parse(stdout) as { lapse: { taints: string[] } };
    assert.deepEqual(lapse.taints, ["node.kubernetes.io/unreachable:NoSchedule"]);
    const text = stderr.replace(/\s+/g, " ");
    assert.match(text, /set Ready of node n1 to Unknown/);
    assert.match(text, /gets no NoExecute taint, and nothing is evicted no node is Ready/);
    assert.match(text, /Node\/n1 NodeNotReady/);
    assert.equal(readyOf("n1"), "Unknown");
  });

  test("--revive brings it back, with the certificate it has", async () => {
    const { code, stdout, stderr } = await runCliProcess(home, "lease", "--node", "n1", "--revive", "--json");
    assert.equal(code, 0, stderr);
    const { lapse, revival } = JSON.parse(stdout) as { lapse: unknown; revival: { readyAfterSeconds: number } };
    assert.equal(lapse, null);
    assert.ok(revival.readyAfterSeconds >= 5);
    assert.match(stderr.replace(/\s+/g, " "), /n1 is not Ready: revive it/);
  });
});
