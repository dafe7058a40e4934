import assert from "node:assert/strict";
import { test } from "vitest";
import { ContainerAllocateResponse } from "../../../../src/kubelet/apis/deviceplugin/v1beta1.js";
import { marshalCheckpoint, unmarshalCheckpoint } from "../../../../src/kubelet/cm/devicemanager/checkpoint.js";

/** What Kubernetes' own package pkg/kubelet/cm/devicemanager/checkpoint writes. */
const EMPTY = `{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{"example.com/b":[],"example.com/gpu":["gpu-0"]}},"Checksum":76218618}`;
const TWO = `{"Data":{"PodDeviceEntries":[{"PodUID":"uid-web","ContainerName":"app","ResourceName":"example.com/gpu","DeviceIDs":{"-1":["gpu-0","gpü-1"],"0":["gpu-3"],"1":["gpu-2"]},"AllocResp":"CgwKA0dQVRIFZ3B1LTASGgoIL2xpYi9ncHUSDC91c3IvbGliL2dwdRgBGhoKCC9kZXYvZ3B1EgovZGV2L2dwdS0wGgJydw=="},{"PodUID":"uid-web","ContainerName":"other","ResourceName":"example.com/b","DeviceIDs":{"-1":["b"]},"AllocResp":""}],"RegisteredDevices":{"example.com/b":[],"example.com/gpu":["gpu-0"]}},"Checksum":2940337989}`;

for (const [which, text] of Object.entries({ EMPTY, TWO })) {
  test(`the checkpoint of a Go kubelet can be read, and is written with the same checksum: ${which}`, () => {
    const checkpoint = unmarshalCheckpoint(text);
    assert.deepEqual(JSON.parse(marshalCheckpoint(checkpoint)), JSON.parse(text));
  });
}

test("the answer to Allocate is in the checkpoint", () => {
  const [entry] = unmarshalCheckpoint(TWO).podDevices;
  assert.deepEqual(
    entry?.allocResp,
    ContainerAllocateResponse.create({
      envs: { GPU: "gpu-0" },
      mounts: [{ containerPath: "/lib/gpu", hostPath: "/usr/lib/gpu", readOnly: true }],
      devices: [{ containerPath: "/dev/gpu", hostPath: "/dev/gpu-0", permissions: "rw" }],
    }),
  );
});

const CORRUPT = [
  ["another device", TWO.replace('"gpu-3"', '"gpu-4"')],
  ["another checksum", EMPTY.replace("76218618", "76218619")],
  ["another shape", `{"Data":{"PodDeviceEntries":[{}],"RegisteredDevices":null},"Checksum":1}`],
  ["no data", "{}"],
] as const;

for (const [which, text] of CORRUPT) {
  test(`a corrupt checkpoint is refused: ${which}`, () => {
    assert.throws(() => unmarshalCheckpoint(text), { message: "checkpoint is corrupted" });
  });
}
