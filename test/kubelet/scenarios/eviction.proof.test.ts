import assert from "node:assert/strict";
import { test } from "vitest";
import { settle } from "../../support/fake-clock.js";
import { IMAGE, Lab, play, pod } from "./lab.js";
import { NODE_NAME } from "./lab-node.js";

const resources = { cpu: "4", memory: "1Gi", pods: "110" };
const STRESS = "stress:latest";
const leak = (bytes: string) => ({ image: STRESS, command: ["stress", "--vm", "1", "--vm-bytes", bytes] });
const requests = { resources: { requests: { memory: "1Mi" } } };

async function nodeEvents(lab: Lab): Promise<readonly string[]> {
  const query = { fieldSelector: `involvedObject.name=${NODE_NAME}` };
  const path = "/api/v1/namespaces/default/events";
  const { items } = await lab.client.expect<{ readonly items: readonly { readonly reason: string }[] }>({
    method: "GET",
    path,
    query,
  });
  return items.map(({ reason }) => reason);
}

test("a node short of memory evicts the pod that leaks, says so, and refuses pods without requests", async () => {
  const lab = await Lab.start({ resources, images: [IMAGE, STRESS] });
  try {
    await play(lab, { name: "within its limits", pod: (name) => pod(name), steps: [/^Running Ready/] });
    await play(lab, {
      name: "leaks",
      pod: (name) => pod(name, {}, leak("950M")),
      steps: [/^Running Ready/, /^Failed.*Evicted/],
    });
    assert.equal(await lab.untilNode("True", "MemoryPressure"), "kubelet has insufficient memory available");
    await play(lab, { name: "best effort", pod: (name) => pod(name), steps: [/^Failed.*Evicted/], never: /Running/ });
    await play(lab, { name: "burstable", pod: (name) => pod(name, {}, requests), steps: [/^Running Ready/] });
    // Events are written in the background.
    for (const reason of ["EvictionThresholdMet", "NodeHasInsufficientMemory"]) {
      while (!(await nodeEvents(lab)).includes(reason)) await settle(1);
    }
    assert.match(lab.history.lines("pod-0").at(-1) ?? "", /^Running Ready/);
  } finally {
    await lab.close();
  }
});

test("a disk that is nearly full loses its unused images; the runtime's own stays", async () => {
  const config = { imageGCHighThresholdPercent: 1, imageGCLowThresholdPercent: 0, imageMinimumGCAge: "0s" };
  const lab = await Lab.start({
    resources: { ...resources, disk: "200M" },
    images: [IMAGE, "nginx:1.25"],
    config,
  });
  try {
    await lab.untilRuntime(() => lab.runtime.snapshot().images.length === 1);
    assert.match(lab.runtime.snapshot().images.join(" "), /pause/);
  } finally {
    await lab.close();
  }
});

test("a pod whose emptyDir grows above its limit is evicted; the node has no pressure", async () => {
  const lab = await Lab.start({ resources, images: [IMAGE], config: { volumeStatsAggPeriod: "1s" } });
  try {
    const cache = {
      volumes: [{ name: "cache", emptyDir: { sizeLimit: "64Ki" } }],
      restartPolicy: "Never",
    };
    const writes = {
      command: ["sh", "-c", "dd if=/dev/zero of=/cache/file bs=1024 count=200; sleep 600"],
      volumeMounts: [{ name: "cache", mountPath: "/cache" }],
    };
    await play(lab, {
      name: "fills",
      pod: (name) => pod(name, cache, writes),
      steps: [/^Running/, /^Failed.*Evicted/],
    });
    const { conditions } = (await lab.node1()).status;
    const pressures = conditions.filter(({ type, status }) => type.endsWith("Pressure") && status === "True");
    assert.deepEqual(pressures, []);
  } finally {
    await lab.close();
  }
});

test("a node short of processes evicts the pod that has most of them, and says so", async () => {
  // Of 32768, the system and the sandboxes have some.
  const config = { evictionHard: { "pid.available": "32750" } };
  const lab = await Lab.start({ resources, images: [IMAGE], config });
  try {
    let modest = "";
    const named = (name: string) => {
      modest = name;
      return pod(name);
    };
    await play(lab, { name: "modest", pod: named, steps: [/^Running Ready/] });
    const forks = { command: ["sh", "-c", `${"sleep 600 & ".repeat(15)}wait`] };
    await play(lab, {
      name: "forks",
      pod: (name) => pod(name, {}, forks),
      steps: [/^Running Ready/, /^Failed.*Evicted/],
    });
    assert.equal(await lab.untilNode("True", "PIDPressure"), "kubelet has insufficient PID available");
    assert.match(lab.history.lines(modest).at(-1) ?? "", /^Running Ready/);
  } finally {
    await lab.close();
  }
});
