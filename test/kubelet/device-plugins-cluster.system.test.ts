import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "vitest";
import type { NodeObject } from "../../src/staging/apimachinery/api/node.js";
import { NODES, objectPath } from "../../src/staging/client-go/rest/paths.js";
import { ForeignPlugin, healthy } from "../support/device-plugin.js";
import { untilTrue } from "../support/fake-clock.js";
import { Lab, pod, shell } from "./scenarios/lab.js";
import { NODE_NAME } from "./scenarios/lab-node.js";

const GPU = "example.com/gpu";
const SCRIPT = `{ echo "$DEVICES"; test -c /dev/gpu && echo device; } > /dev/termination-log`;

const allocate = (ids: readonly string[]) => ({
  container_responses: [
    {
      envs: { DEVICES: ids.join(",") },
      devices: [{ container_path: "/dev/gpu", host_path: "/dev/null", permissions: "rw" }],
      annotations: { "example.com/devices": ids.join(",") },
    },
  ],
});

const podWith = (name: string, count: number) => {
  const limits = { [GPU]: String(count) };
  return pod(name, { restartPolicy: "Never" }, { ...shell(SCRIPT), resources: { limits, requests: limits } });
};

test("a pod asks for devices of a foreign plugin: the node has them, and its container sees them", async () => {
  const lab = await Lab.start();
  const plugin = await ForeignPlugin.serve(join(lab.node.rootDir, "device-plugins"), healthy("a", "b"), { allocate });
  try {
    await plugin.register(GPU);
    let status: NodeObject["status"];
    while (status?.allocatable?.[GPU] !== "2") {
      ({ status } = await lab.client.expect<NodeObject>({ method: "GET", path: objectPath(NODES, NODE_NAME) }));
    }
    assert.equal(status.capacity?.[GPU], "2");

    await lab.createPod(podWith("both", 2));
    await lab.history.until("both", /^Succeeded/);
    const [container] = lab.history.pod("both").status.containerStatuses ?? [];
    assert.equal(container?.state?.terminated?.message, "a,b\ndevice\n");
    assert.deepEqual(plugin.calls, ["Allocate a b"]);

    // More than the node has: the predicate comes after the devices.
    await lab.createPod(podWith("many", 3));
    await lab.history.until("many", /^Failed/);
    assert.equal(lab.history.pod("many").status.reason, "UnexpectedAdmissionError");
    assert.equal(
      lab.history.pod("many").status.message,
      "Pod Allocate failed due to requested number of devices unavailable for example.com/gpu. Requested: 3, Available: 2, which is unexpected",
    );
    plugin.close();
    await untilTrue(() => lab.node.kubelet?.kubelet.deviceManager.getCapacity().allocatable[GPU] === "0");
  } finally {
    plugin.close();
    await lab.close();
  }
});
