import type { V1PodSpec } from "../staging/apimachinery/api/pod.js";

/** The pods of a cluster that a command starts, by name; each is an image of the embedded runtime. */
export const SAMPLE_PODS: ReadonlyMap<string, V1PodSpec> = new Map([
  ["nettool", podOf("nettool")],
  ["nginx", podOf("nginx")],
]);

function podOf(image: string): V1PodSpec {
  return {
    containers: [{ name: image, image, imagePullPolicy: "IfNotPresent", ports: [{ containerPort: 80 }] }],
    terminationGracePeriodSeconds: 1,
  };
}
