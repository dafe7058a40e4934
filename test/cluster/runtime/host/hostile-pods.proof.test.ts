import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, test } from "vitest";
import { loadKubeconfig } from "../../../../src/staging/client-go/clientcmd/kubeconfig.js";
import { SystemClock } from "../../../../src/util/clock.js";
import { CliProcess, newHome, runCliProcess } from "../../../support/cli-process.js";
import { HttpsClient } from "../../../support/https-client.js";
import { childrenOf } from "../../../support/processes.js";
import { suiteNeeding } from "../../../support/requirements.js";

const SCRIPTS = {
  "fork-bomb": ":(){ :|:& };:; sleep 100",
  "endless-line": "read x < /dev/zero",
  "nested-repeats": `[[ ${"a".repeat(50)}b =~ ^(a+)+$ ]]`,
  "wide-case": `case ${"a".repeat(44)} in *${"a*".repeat(20)}c) ;; esac`,
  "wide-number": "printf '%0*d' 500000000 1 > /dev/null",
  doubling: "x=a; while :; do x=$x$x; done",
  "awk-fields": "awk 'BEGIN { $100000000 = 1 }' < /dev/null",
  "awk-text": "awk 'BEGIN { x = \"a\"; while (1) x = x x }' < /dev/null",
  "growing-array": "a=(); while :; do a+=(x); done",
};
const MAX_MEMORY_BYTES = 400e6;
const RUN_MS = 4_000;
const PAUSE_MS = 20;
const clock = new SystemClock();
const run = promisify(execFile);

suiteNeeding(["kubectl"], "pods with hostile scripts on node-1", () => {
  const home = newHome();
  const kubeconfig = join(home, "state", "kubelab", "clusters", "hostile.kubeconfig");
  let cluster: CliProcess;
  let client: HttpsClient;

  beforeAll(async () => {
    cluster = new CliProcess(home, ["cluster", "up", "--name", "hostile", "--port", "0", "--nodes", "2"]);
    await cluster.says(/is ready/);
    const { server: url, caPem, clientCertificatePem, clientKeyPem } = (await loadKubeconfig(kubeconfig)).config;
    client = new HttpsClient({ url, ca: caPem ?? "", cert: clientCertificatePem ?? "", key: clientKeyPem ?? "" }, 4);
    await createPod("neighbour", "node-1", "sleep 3600");
    await kubectl("wait", "--for=condition=Ready", "pod/neighbour", "--timeout=20s");
  });
  afterAll(async () => {
    client.close();
    await runCliProcess(home, "cluster", "down", "--name", "hostile");
    await cluster.ended;
  });

  const kubectl = async (...argv: string[]) => (await run("kubectl", ["--kubeconfig", kubeconfig, ...argv])).stdout;

  async function createPod(name: string, nodeName: string, script: string): Promise<void> {
    const container = { name: "c", image: "nginx", command: ["bash", "-c", script] };
    const spec = { nodeName, restartPolicy: "Never", terminationGracePeriodSeconds: 0, containers: [container] };
    const body = { apiVersion: "v1", kind: "Pod", metadata: { name }, spec };
    const { status, text } = await client.ask("/api/v1/namespaces/default/pods", { method: "POST", body });
    assert.equal(status, 201, text);
  }

  for (const [name, script] of Object.entries(SCRIPTS)) {
    test(`${name}: the API server, a watch and an exec in another pod of the node answer`, async () => {
      const worstMs = { readyz: 0, watch: 0, exec: 0 };
      const measure = async (what: keyof typeof worstMs, wait: () => Promise<void>) => {
        const before = clock.now();
        await wait();
        worstMs[what] = Math.max(worstMs[what], clock.now() - before);
      };
      const watch = await client.open(`/api/v1/namespaces/default/configmaps?watch=1&resourceVersion=0`);
      await createPod(name, "node-1", script);
      let peakBytes = 0;
      const endMs = clock.now() + RUN_MS;
      for (let round = 0; clock.now() < endMs; round++) {
        await measure("readyz", async () => assert.equal((await client.ask("/readyz")).text, "ok"));
        await measure("watch", () => seeCreated(watch, `${name}-${round}`));
        await measure("exec", async () =>
          assert.equal(await kubectl("exec", "neighbour", "--", "echo", "here"), "here\n"),
        );
        peakBytes = Math.max(peakBytes, memoryBytes(cluster.child.pid ?? 0));
        await clock.sleep(PAUSE_MS);
      }
      watch.destroy();
      const waits = Object.entries(worstMs).map(([what, ms]) => `${what} ${ms} ms`);
      console.log(`${name}: worst ${waits.join(", ")}; memory of all processes ${Math.round(peakBytes / 1e6)} MB`);
      await kubectl("delete", "pod", name, "--timeout=20s");
      assert.ok(peakBytes < MAX_MEMORY_BYTES, `${peakBytes} bytes`);
    });
  }

  async function seeCreated(watch: IncomingMessage, name: string): Promise<void> {
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name } };
    const isSeen = (async () => {
      for (let text = ""; !text.includes(`"${name}"`); ) text += String((await once(watch, "data"))[0]);
    })();
    const { status, text } = await client.ask("/api/v1/namespaces/default/configmaps", { method: "POST", body });
    assert.equal(status, 201, text);
    await isSeen;
  }
});

/** The memory of a process and its children; pages that several share count once (Pss), as for the machine. */
function memoryBytes(pid: number): number {
  let own = 0;
  try {
    own = Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1] ?? 0) * 1_024;
  } catch {
    // It has ended.
  }
  return childrenOf(pid).reduce((sum, child) => sum + memoryBytes(child), own);
}
