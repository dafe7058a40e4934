import assert from "node:assert/strict";
import { test } from "vitest";
import { RuntimeLab } from "./lab.js";

const device = (hostPath: string, containerPath: string) => ({ hostPath, containerPath, permissions: "rw" });

test("a container has the devices of its configuration, and no other container of the image has", async () => {
  const lab = new RuntimeLab();
  const script = "test -c /dev/gpu/0 && test -c /run/x && head -c 2 /dev/gpu/0 | wc -c; test -e /dev/gpu || echo none";
  for (const [devices, want] of [
    [[device("/dev/zero", "/dev/gpu/0"), device("/dev/null", "/run/x")], "2\n"],
    [[], "none\n"],
  ] as const) {
    const container = lab.run({ command: ["sleep", "infinity"], devices });
    const { stdout } = await lab.sh(script, container);
    assert.equal(String(stdout), want);
  }
  lab.stop();
});

test("a device that the machine does not have: the container is not created", () => {
  const lab = new RuntimeLab();
  assert.throws(() => lab.create({ devices: [device("/dev/gpu-0", "/dev/gpu")] }), {
    code: "Unknown",
    message: "lstat /dev/gpu-0: no such file or directory",
  });
  assert.throws(() => lab.create({ devices: [device("/dev/null", "/")] }), { code: "InvalidArgument" });
});
