import assert from "node:assert/strict";
import { test } from "vitest";
import { type CgroupDriver, podCgroupParent } from "../../../src/kubelet/cm/pod-container-manager.js";
import { podOf } from "../kuberuntime/lab.js";

const UID = "1234-abcd-5678-efgh";
const EQUAL = { limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "1", memory: "1Gi" } };

const table: readonly [resources: object, driver: CgroupDriver, want: string][] = [
  [{}, "cgroupfs", `/kubepods/besteffort/pod${UID}`],
  [{ requests: { cpu: "1" } }, "cgroupfs", `/kubepods/burstable/pod${UID}`],
  [EQUAL, "cgroupfs", `/kubepods/pod${UID}`],
  [EQUAL, "systemd", "/kubepods.slice/kubepods-pod1234_abcd_5678_efgh.slice"],
  [
    { requests: { cpu: "1" } },
    "systemd",
    "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1234_abcd_5678_efgh.slice",
  ],
];
for (const [resources, driver, want] of table) {
  test(`${driver}: the cgroup of a pod with ${JSON.stringify(resources)} is ${want}`, () => {
    const pod = podOf([{ resources }]);
    assert.equal(podCgroupParent({ ...pod, metadata: { ...pod.metadata, uid: UID } }, driver), want);
  });
}
