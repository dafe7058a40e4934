import { expect, test } from "vitest";
import "../../../../src/cluster/controllers/volume/persistentvolume/pv-controller.js";
import type { KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";
import { WorkloadStage } from "../support/workload-stage.js";

const CLAIM = {
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: { name: "data" },
  spec: { storageClassName: "c", accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
};

function storageClass(volumeBindingMode: string): object {
  const metadata = { name: "c" };
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata,
    provisioner: "x.io/disks",
    volumeBindingMode,
  };
}

function pod(name: string, claimName = "data", spec: object = {}): object {
  const volumes = [{ name: "v", persistentVolumeClaim: { claimName } }];
  const metadata = { name };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata,
    spec: { containers: [{ name: "c", image: "x" }], volumes, ...spec },
  };
}

const WAITS = "WaitForFirstConsumer: waiting for first consumer to be created before binding";
const EXTERNAL =
  'ExternalProvisioning: waiting for a volume to be created, either by external provisioner "x.io/disks" or manually created by system administrator';

/** The claim's events after its class, these pods and two looks at all claims. */
const TABLE: readonly (readonly [title: string, mode: string, pods: readonly object[], want: readonly string[]])[] = [
  ["no pod uses the claim", "WaitForFirstConsumer", [pod("a", "other")], [`${WAITS} x3`]],
  [
    "a pod that is not scheduled uses it",
    "WaitForFirstConsumer",
    [pod("a")],
    [`${WAITS} x1`, "WaitForPodScheduled: waiting for pod a to be scheduled x2"],
  ],
  [
    "two such pods",
    "WaitForFirstConsumer",
    [pod("a"), pod("b")],
    [`${WAITS} x1`, "WaitForPodScheduled: waiting for pods a,b to be scheduled x2"],
  ],
  ["the pod has a node", "WaitForFirstConsumer", [pod("a", "data", { nodeName: "n1" })], [`${WAITS} x3`]],
  ["a class that does not wait", "Immediate", [], [`${EXTERNAL} x4`]],
];
for (const [title, mode, pods, want] of TABLE) {
  test(`the events of a waiting claim: ${title}`, async () => {
    await using stage = await WorkloadStage.open();
    await stage.create("storageclasses.storage.k8s.io", storageClass(mode));
    await stage.create("persistentvolumeclaims", CLAIM);
    for (const one of pods) await stage.create("pods", one);
    await stage.pass(15);
    await stage.pass(15);
    const events = await stage.admin.list<KubeObject & { reason: string; message: string; count: number }>(
      "events",
      "default",
    );
    const seen = events.map(({ reason, message, count }) => `${reason}: ${message} x${count}`);
    expect(seen.sort()).toEqual([...want].sort());
  });
}
