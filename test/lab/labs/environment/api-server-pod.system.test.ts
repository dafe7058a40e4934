import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { RuntimeChange } from "../../../../src/cluster/runtime/state/changes.js";
import { Listeners } from "../../../../src/cluster/runtime/state/listeners.js";
import { ApiServerPod } from "../../../../src/lab/labs/environment/api-server-pod.js";
import type { KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";
import { createClient } from "../../../../src/staging/client-go/rest/create-client.js";
import { Trace } from "../../../../src/trace/trace.js";
import { SystemClock } from "../../../../src/util/clock.js";
import { SystemRandom } from "../../../../src/util/random.js";

const clock = new SystemClock();
const deps = { clock, random: new SystemRandom(), trace: new Trace(clock) };
const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";

test("the control plane ends and starts with its container, at the same address and with the same objects", async () => {
  const folder = mkdtempSync(join(tmpdir(), "kubelab-api-server-pod-"));
  const changes = new Listeners<RuntimeChange>(10);
  const failures: unknown[] = [];
  try {
    await using pod = await ApiServerPod.open({ ...deps, kubeVersion: "1.25" }, join(folder, "etcd"));
    await pod.writeManifest(folder);
    assert.match(readFileSync(join(folder, "kube-apiserver.yaml"), "utf8"), /image: registry\.k8s\.io\/kube-apiserver/);
    pod.follow(
      "node-1",
      (signal) => changes.listen(signal),
      (error) => failures.push(error),
    );

    await using client = createClient(pod.first.admin, { ...deps, actor: "user" });
    const body = { kind: "ConfigMap", apiVersion: "v1", metadata: { name: "a" } };
    const made = await client.expect<KubeObject>({ method: "POST", path: CONFIG_MAPS, body });
    const read = () =>
      client.request<KubeObject>({ method: "GET", path: `${CONFIG_MAPS}/a` }).then(
        ({ body: { metadata } }) => metadata.uid,
        () => "no answer",
      );
    const container = {
      kind: "container",
      id: "1",
      pod: "kube-system/kube-apiserver-node-1",
      name: "kube-apiserver",
    } as const;

    changes.tell({ ...container, pod: "default/web", from: "running", to: "exited (1)" });
    changes.tell({ ...container, name: "other", from: "running", to: "exited (1)" });
    assert.equal(await read(), made.metadata.uid, "other containers do not matter");
    changes.tell({ ...container, from: "running", to: "exited (0)" });
    await expect.poll(read).toBe("no answer");
    changes.tell({ ...container, from: "created", to: "running" });
    await expect.poll(read).toBe(made.metadata.uid);
    assert.deepEqual(failures, []);

    const { signal } = new AbortController();
    await pod.restart(undefined, signal);
    assert.equal(await read(), "no answer", "it stays down");
    await pod.restart(0, signal);
    assert.equal(await read(), made.metadata.uid);
    await pod.restart(1, signal);
    assert.equal(await read(), made.metadata.uid, "it comes back by itself");
  } finally {
    rmSync(folder, { recursive: true });
  }
});
