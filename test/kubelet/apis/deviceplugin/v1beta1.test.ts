import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import protobuf from "protobufjs";
import { test } from "vitest";
import { DEVICE_PLUGIN, REGISTRATION } from "../../../../src/kubelet/apis/deviceplugin/v1beta1.js";
import { protoText } from "../../../../src/staging/cri/proto-text.js";

/** What a .proto file says, in any order. */
function parsed(text: string) {
  return protobuf.parse(text, { keepCase: true }).root.toJSON({ keepComments: false }).nested?.["v1beta1"];
}

test("the tables of deviceplugin v1beta1 have the names and numbers of the .proto file that foreign plugins use", () => {
  const ours = protoText("v1beta1", { Registration: REGISTRATION, DevicePlugin: DEVICE_PLUGIN });
  const theirs = readFileSync(new URL("../../../support/device-plugin.proto", import.meta.url), "utf8");
  assert.deepEqual(parsed(ours), parsed(theirs));
});
