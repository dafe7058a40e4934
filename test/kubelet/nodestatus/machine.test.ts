import assert from "node:assert/strict";
import { afterEach, test } from "vitest";
import { readMachineFacts } from "../../../src/kubelet/nodestatus/machine.js";

const platform = Object.getOwnPropertyDescriptor(process, "platform");
afterEach(() => {
  if (platform !== undefined) Object.defineProperty(process, "platform", platform);
});

for (const name of ["linux", "darwin", "win32"]) {
  test(`a node on ${name} reports linux, the system of its pods`, () => {
    Object.defineProperty(process, "platform", { ...platform, value: name });
    assert.equal(readMachineFacts("n1").operatingSystem, "linux");
  });
}
