import { expect, test } from "vitest";
import "../../../../src/cluster/controllers/volume/local-path.js";
import "../../../../src/cluster/controllers/volume/persistentvolume/pv-controller.js";
import type { KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";
import { WorkloadStage } from "../support/workload-stage.js";

/** The claim's events from the provisioner. */
const TABLE: readonly (readonly [mode: string, spec: object, want: readonly string[]])[] = [
  ["Immediate", {}, ["configuration error, no node was specified"]],
  ["Immediate", { accessModes: ["ReadWriteMany"] }, ["Only support ReadWriteOnce access mode"]],
  ["WaitForFirstConsumer", {}, []],
  ["WaitForFirstConsumer", { accessModes: ["ReadWriteMany"] }, []],
];
for (const [mode, spec, want] of TABLE) {
  test(`a claim of a class that binds ${mode}, ${JSON.stringify(spec)}: ${want.join()}`, async () => {
    await using stage = await WorkloadStage.open();
    await stage.create("storageclasses.storage.k8s.io", {
      ...{ apiVersion: "storage.k8s.io/v1", kind: "StorageClass", metadata: { name: "c" } },
      ...{ provisioner: "rancher.io/local-path", volumeBindingMode: mode },
    });
    const resources = { requests: { storage: "1Gi" } };
    await stage.create("persistentvolumeclaims", {
      ...{ apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: { name: "data" } },
      spec: { storageClassName: "c", accessModes: ["ReadWriteOnce"], resources, ...spec },
    });
    await stage.pass(15);
    const events = await stage.admin.list<KubeObject & { reason: string; message: string }>("events", "default");
    const failed = events.filter(({ reason }) => reason === "ProvisioningFailed").map(({ message }) => message);
    expect(failed).toEqual(want.map((why) => `failed to provision volume with StorageClass "c": ${why}`));
  });
}
