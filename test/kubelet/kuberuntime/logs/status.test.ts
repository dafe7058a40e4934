import assert from "node:assert/strict";
import { test } from "vitest";
import { validateContainerLogStatus } from "../../../../src/kubelet/kuberuntime/logs/container-log-status.js";
import type { V1ContainerState, V1PodStatus } from "../../../../src/staging/apimachinery/api/pod.js";
import { containerStatus } from "../../../support/container-status.js";

const ended = (containerID?: string): V1ContainerState => ({
  terminated: { exitCode: 1, ...(containerID === undefined ? {} : { containerID }) },
});
const c = 'container "c" in pod "p"';

const table: readonly [string, V1ContainerState | undefined, V1ContainerState | undefined, boolean, string][] = [
  // what                       state                                         last state    previous  result
  ["running", { running: {} }, undefined, false, "containerd://now"],
  ["running, restarted", { running: {} }, ended("containerd://old"), false, "containerd://now"],
  ["running, previous", { running: {} }, ended("containerd://old"), true, "containerd://old"],
  ["running, no previous", { running: {} }, undefined, true, `previous terminated ${c} not found`],
  ["running, previous not made", { running: {} }, ended(), true, `previous terminated ${c} not found`],
  ["ended", ended("containerd://end"), undefined, false, "containerd://end"],
  ["ended, not made, one before", ended(), ended("containerd://old"), false, "containerd://old"],
  ["ended, not made", ended(), undefined, false, `${c} is terminated`],
  [
    "waits, one before",
    { waiting: { reason: "CrashLoopBackOff" } },
    ended("containerd://old"),
    false,
    "containerd://old",
  ],
  ["waits, one before not made", { waiting: {} }, ended(), false, `${c} is terminated`],
  [
    "no image",
    { waiting: { reason: "ErrImagePull" } },
    undefined,
    false,
    `${c} is waiting to start: image can't be pulled`,
  ],
  [
    "no image yet",
    { waiting: { reason: "ImagePullBackOff" } },
    undefined,
    false,
    `${c} is waiting to start: trying and failing to pull image`,
  ],
  [
    "waits",
    { waiting: { reason: "ContainerCreating" } },
    undefined,
    false,
    `${c} is waiting to start: ContainerCreating`,
  ],
  ["no state", {}, undefined, false, `${c} is waiting to start - no logs yet`],
];

for (const [what, state, lastState, previous, want] of table) {
  test(`logs: whose log: ${what}`, () =>
    assert.equal(result({ containerStatuses: status("c", state, lastState) }, previous), want));
}

test("logs: init and ephemeral containers have logs, unknown ones do not", () => {
  const statuses = status("c", { running: {} }, undefined);
  assert.equal(result({ initContainerStatuses: statuses }, false), "containerd://now");
  assert.equal(result({ ephemeralContainerStatuses: statuses }, false), "containerd://now");
  assert.equal(result({}, false), `${c} is not available`);
});

function status(name: string, state: V1ContainerState | undefined, lastState: V1ContainerState | undefined) {
  return [
    containerStatus({
      name,
      containerID: "containerd://now",
      ...(state && { state }),
      ...(lastState && { lastState }),
    }),
  ];
}

function result(podStatus: V1PodStatus, previous: boolean): string {
  try {
    return validateContainerLogStatus("p", podStatus, "c", previous);
  } catch (error) {
    return (error as Error).message;
  }
}
