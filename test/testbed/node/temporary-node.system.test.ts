import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import type { ControlPlane } from "../../../src/cluster/control-plane/control-plane.js";
import { startControlPlane } from "../../../src/cluster/control-plane/start.js";
import { kubeconfigText } from "../../../src/staging/client-go/clientcmd/kubeconfig-text.js";
import { createClient } from "../../../src/staging/client-go/rest/create-client.js";
import { NODE_LEASES, NODES, objectPath } from "../../../src/staging/client-go/rest/paths.js";
import { Trace } from "../../../src/trace/trace.js";
import { SystemClock } from "../../../src/util/clock.js";
import { SystemRandom } from "../../../src/util/random.js";
import { runInProcess } from "../../support/run-cli.js";

const root = mkdtempSync(join(tmpdir(), "kubelab-own-node-"));
const kubeconfig = join(root, "admin.conf");
const clock = new SystemClock();
const deps = { clock, random: new SystemRandom(), trace: new Trace(clock) };
const { signal } = new AbortController();
let cluster: ControlPlane;
let admin: ReturnType<typeof createClient>;

beforeAll(async () => {
  cluster = await startControlPlane({ ...deps, kubeVersion: "1.25" });
  writeFileSync(kubeconfig, kubeconfigText(cluster.admin, { cluster: "c", user: "admin", context: "c" }));
  admin = createClient(cluster.admin, { ...deps, actor: "user" });
});
afterAll(async () => {
  await admin.close();
  await cluster.close();
  rmSync(root, { recursive: true, force: true });
});

const open = (name: string) =>
  runInProcess(["static-pod", "--node", name, "--duration", "10ms", "--kubeconfig", kubeconfig, "--yes"]);
const makeNode = (name: string, annotations: Record<string, string>) =>
  admin.expect({ method: "POST", path: "/api/v1/nodes", body: { metadata: { name, annotations } }, signal });
const statusOf = async (name: string) =>
  (await admin.request({ method: "GET", path: objectPath(NODES, name), signal })).status;

describe("the node of a window, on a cluster that goes on without it", () => {
  test("is made, and taken away again", async () => {
    const { code, stderr } = await open("w1");
    assert.equal(code, 0, stderr);
    assert.match(stderr.replace(/\s+/g, " "), /node w1 has been taken out of the cluster again/);
    assert.equal(await statusOf("w1"), 404);
  });

  test("is never somebody else's: exit 4, and that node stays", async () => {
    await makeNode("theirs", {});
    const { code, stderr } = await open("theirs");
    assert.equal(code, 4, stderr);
    assert.match(stderr.replace(/\s+/g, " "), /there is a node theirs in the cluster already/);
    assert.equal(await statusOf("theirs"), 200);
  });

  test("is what a window left that was killed, once its Lease is old", async () => {
    await makeNode("left", { "kubelab/inspector": "static-pod" });
    const path = `/apis/${NODE_LEASES.apiVersion}/namespaces/kube-node-lease/leases`;
    const renewTime = new Date(clock.now()).toISOString().replace("Z", "000Z");
    const lease = { metadata: { name: "left" }, spec: { holderIdentity: "left", leaseDurationSeconds: 40, renewTime } };
    await admin.expect({ method: "POST", path, body: lease, signal });
    const { code, stderr } = await open("left");
    assert.equal(code, 4, stderr);
    assert.match(stderr.replace(/\s+/g, " "), /another command has made and still runs, or ran until just now/);
    assert.equal(await statusOf("left"), 200);

    await admin.expect({ method: "DELETE", path: objectPath(NODE_LEASES, "left"), signal });
    // Nobody has called it not Ready yet.
    const body = { status: { conditions: [{ type: "Ready", status: "True" }] } };
    const contentType = "application/merge-patch+json";
    await admin.expect({ method: "PATCH", path: `${objectPath(NODES, "left")}/status`, body, contentType, signal });
    assert.equal((await open("left")).code, 0);
    assert.equal(await statusOf("left"), 404);
  });
});
