import assert from "node:assert/strict";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import { newHome, runCliProcess } from "../support/cli-process.js";
import { runKubectl } from "../support/node-kubectl.js";
import { suiteNeeding } from "../support/requirements.js";

const RESOURCES = { requests: { storage: "1Gi" } };
const TEMPLATE = { accessModes: ["ReadWriteOnce"], resources: RESOURCES };
const COUNTS = 'echo started >> /data/log; trap "exit 0" TERM; while :; do sleep 1; done';

const container = (command: readonly string[]) => ({
  name: "c",
  image: "busybox:1.36",
  command,
  volumeMounts: [{ name: "data", mountPath: "/data" }],
});
const podOf = (name: string, volume: object, command = ["sleep", "1000"]) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name },
  spec: { terminationGracePeriodSeconds: 0, containers: [container(command)], volumes: [{ name: "data", ...volume }] },
});
const claimOf = (name: string, spec: object = {}) => ({
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: { name },
  spec: { ...TEMPLATE, ...spec },
});
const volumeOf = (name: string, size: string, source: object) => ({
  apiVersion: "v1",
  kind: "PersistentVolume",
  metadata: { name },
  spec: { storageClassName: "manual", capacity: { storage: size }, accessModes: ["ReadWriteOnce"], ...source },
});

suiteNeeding(["kubectl"], "persistent volumes", () => {
  const home = newHome();
  const kubectl = (...args: string[]) =>
    runKubectl(join(home, "state", "kubelab", "clusters", "kubelab.kubeconfig"), args);
  const refused = (...args: string[]) => kubectl(...args).then(() => "", String);
  const create = async (...items: object[]) => {
    mkdirSync(join(home, "manifests"), { recursive: true });
    const path = join(home, "manifests", "list.json");
    writeFileSync(path, JSON.stringify({ apiVersion: "v1", kind: "List", items }));
    await kubectl("apply", "-f", path);
  };
  const ready = (pod: string) => kubectl("wait", "--for=condition=Ready", `pod/${pod}`, "--timeout=35s");
  const events = (name: string) =>
    kubectl("get", "events", `--field-selector=involvedObject.name=${name}`, "-o", "jsonpath={.items[*].reason}");

  beforeAll(async () => {
    const { code, stderr } = await runCliProcess(home, "cluster", "up", "--detach", "--nodes", "2");
    assert.equal(code, 0, stderr);
  });
  afterAll(async () => {
    await runCliProcess(home, "cluster", "down");
  });

  test("a StatefulSet gets a folder for each pod, which outlives the pod and goes with the claim", async () => {
    const labels = { app: "web" };
    const spec = { terminationGracePeriodSeconds: 1, containers: [container(["sh", "-c", COUNTS])] };
    const template = { metadata: { labels }, spec };
    const volumeClaimTemplates = [{ metadata: { name: "data" }, spec: TEMPLATE }];
    await create({
      apiVersion: "apps/v1",
      kind: "StatefulSet",
      metadata: { name: "web" },
      spec: { serviceName: "web", replicas: 2, selector: { matchLabels: labels }, template, volumeClaimTemplates },
    });
    await kubectl("rollout", "status", "sts/web", "--timeout=35s");
    const reasons = await events("data-web-0");
    for (const reason of ["ExternalProvisioning", "Provisioning", "ProvisioningSucceeded"]) {
      assert.match(reasons, new RegExp(`\\b${reason}\\b`));
    }
    await kubectl("delete", "pod", "web-0");
    await ready("web-0");
    assert.equal(await kubectl("exec", "web-0", "--", "cat", "/data/log"), "started\nstarted\n");
    const volume = await kubectl("get", "pvc", "data-web-0", "-o", "jsonpath={.spec.volumeName}");
    assert.match(await kubectl("get", "pv", volume), /1Gi +RWO +Delete +Bound +default\/data-web-0 +standard/);
    assert.match(
      await refused("patch", "pvc", "data-web-0", "-p", '{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}'),
      /only dynamically provisioned pvc can be resized/,
    );
    await kubectl("delete", "sts", "web");
    await kubectl("wait", "--for=delete", "pod/web-0", "--timeout=35s");
    await kubectl("delete", "pvc", "data-web-0", "data-web-1");
    await kubectl("wait", "--for=delete", `pv/${volume}`, "--timeout=35s");
    assert.equal(await kubectl("get", "pods", "-n", "kube-system", "-o", "name"), "");
  });

  test("a claim takes the smallest volume that fits; a pod that uses it protects it", async () => {
    const hostPath = { hostPath: { path: "/mnt/data" } };
    await create(volumeOf("large", "10Gi", hostPath), volumeOf("small", "2Gi", hostPath));
    await kubectl("wait", "--for=jsonpath={.status.phase}=Available", "pv/small", "pv/large", "--timeout=35s");
    await create(
      claimOf("task", { storageClassName: "manual" }),
      podOf("task", { persistentVolumeClaim: { claimName: "task" } }),
    );
    await ready("task");
    assert.equal(await kubectl("get", "pvc", "task", "-o", "jsonpath={.spec.volumeName}"), "small");
    await kubectl("delete", "pvc", "task", "--wait=false");
    assert.match(await kubectl("get", "pvc", "task"), /task +Terminating +small/);
    await kubectl("delete", "pod", "task");
    await kubectl("wait", "--for=delete", "pvc/task", "--timeout=35s");
    await kubectl("wait", "--for=jsonpath={.status.phase}=Released", "pv/small", "--timeout=35s");
  });

  test("an ephemeral volume has a claim as long as its pod lives", async () => {
    await create(podOf("scratch", { ephemeral: { volumeClaimTemplate: { spec: TEMPLATE } } }));
    await ready("scratch");
    assert.match(await kubectl("get", "pvc", "scratch-data"), /Bound/);
    await kubectl("delete", "pod", "scratch");
    await kubectl("wait", "--for=delete", "pvc/scratch-data", "--timeout=35s");
  });

  test.runIf(existsSync("/dev/shm"))("a volume of medium Memory is full at its size", async () => {
    await create(podOf("memory", { emptyDir: { medium: "Memory", sizeLimit: "1Mi" } }));
    await ready("memory");
    const fill =
      "dd if=/dev/zero of=/data/f bs=64k count=32; rm /data/f; dd if=/dev/zero of=/data/g bs=64k count=8 && echo again";
    const output = await kubectl("exec", "memory", "--", "sh", "-c", `(${fill}) 2>&1; df -m /data | tail -1`);
    assert.match(output, /No space left on device[\s\S]*again/);
    assert.match(output, /tmpfs +1 +\d +\d +50% \/data/);
  });

  test("what is not valid is refused in upstream's words", async () => {
    const bad = [
      [volumeOf("none", "1Gi", {}), /spec: Required value: must specify a volume type/],
      [volumeOf("local", "1Gi", { local: { path: "/d" } }), /Local volume requires node affinity/],
      [claimOf("modes", { accessModes: [] }), /at least 1 access mode is required/],
      [claimOf("size", { resources: {} }), /spec\.resources\[storage\]: Required value/],
    ] as const;
    for (const [object, why] of bad) await assert.rejects(create(object), why);
  });
});
