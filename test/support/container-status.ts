import type { V1ContainerStatus } from "../../src/staging/apimachinery/api/pod.js";

/** A container's status with the fields that every status has, and those that the test sets. */
export function containerStatus(fields: Partial<V1ContainerStatus>): V1ContainerStatus {
  return { name: "app", image: "", imageID: "", ready: false, restartCount: 0, ...fields };
}
