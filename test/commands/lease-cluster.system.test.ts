import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import type { ControlPlane } from "../../src/cluster/control-plane/control-plane.js";
import { startControlPlane } from "../../src/cluster/control-plane/start.js";
import { kubeconfigText } from "../../src/staging/client-go/clientcmd/kubeconfig-text.js";
import { Trace } from "../../src/trace/trace.js";
import { SystemClock } from "../../src/util/clock.js";
import { SystemRandom } from "../../src/util/random.js";
import { runInProcess } from "../support/run-cli.js";

const root = mkdtempSync(join(tmpdir(), "kubelab-lease-cluster-"));
const kubeconfig = join(root, "admin.conf");
const clock = new SystemClock();
let cluster: ControlPlane;

beforeAll(async () => {
  const deps = { clock, random: new SystemRandom(), trace: new Trace(clock) };
  cluster = await startControlPlane({ ...deps, kubeVersion: "1.25" });
  writeFileSync(kubeconfig, kubeconfigText(cluster.admin, { cluster: "c", user: "admin", context: "c" }));
});
afterAll(async () => {
  await cluster.close();
  rmSync(root, { recursive: true, force: true });
});

/** On the running cluster, as if it were a real one. */
const run = (...words: string[]) => runInProcess([...words, "--kubeconfig", kubeconfig, "--yes"]);

test("lease --duration keeps a node Ready that long", async () => {
  const dir = join(root, "n7");
  const { code, stderr } = await run("lease", "--node", "n7", "--dir", dir, "--duration", "10ms");
  assert.equal(code, 0, stderr);
  assert.match(stderr, /Keeping n7 Ready for 10 ms/);
});

describe("kubelab lease --revive where nothing lapsed", () => {
  test("a Ready node: it reports that and ends", async () => {
    const dir = join(root, "n8");
    assert.equal((await run("bootstrap", "--node", "n8", "--dir", dir)).code, 0);
    const { code, stdout, stderr } = await run("lease", "--node", "n8", "--dir", dir, "--revive");
    assert.equal(code, 0, stderr);
    assert.equal(stdout, "node n8 is Ready: nothing to revive\n");
    assert.doesNotMatch(stderr.replace(/\s+/g, " "), /although its Lease is renewed|Renew the Lease/);
  });

  test("a node that never was: exit 4, and it does not wait for it", async () => {
    const { code, stderr } = await run("lease", "--node", "n9", "--dir", join(root, "n9"), "--revive");
    assert.equal(code, 4, stderr);
    assert.match(stderr.replace(/\s+/g, " "), /there is no Node n9 to revive.*kubelab bootstrap --node n9/);
    assert.doesNotMatch(stderr, /Request a certificate/);
  });
});
