import assert from "node:assert/strict";
import { test } from "vitest";
import { binaryValues, ObjectManager, textValues } from "../../../../src/kubelet/util/manager/object-manager.js";
import type { V1Pod } from "../../../../src/staging/apimachinery/api/pod.js";
import { podReferences } from "../../../../src/staging/apimachinery/corev1/pod-references.js";
import { FakeClock, FakeRandom, settle } from "../../../support/fake-clock.js";
import { MemoryClient } from "../../../support/memory-client.js";
import { recordingTrace } from "../../../support/trace.js";

function podOf(spec: object, uid = "u"): V1Pod {
  const metadata = { name: "p", namespace: "ns", uid };
  return { apiVersion: "v1", kind: "Pod", metadata, spec: { containers: [], ...spec }, status: {} };
}
const withVolume = (name: string, uid?: string) => podOf({ volumes: [{ name: "v", configMap: { name } }] }, uid);

/** What is done to which pod, and what is watched then. */
const REGISTRATIONS: readonly (readonly [string, (manager: ObjectManager) => void, watched: number, lists: number])[] =
  [
    ["the first pod", (manager) => manager.registerPod(withVolume("x", "one")), 1, 1],
    ["the same again", (manager) => manager.registerPod(withVolume("x", "one")), 1, 1],
    ["another pod", (manager) => manager.registerPod(withVolume("x", "two")), 1, 1],
    ["it names another", (manager) => manager.registerPod(withVolume("y", "two")), 2, 2],
    ["the first is gone", (manager) => manager.unregisterPod(withVolume("x", "one")), 1, 2],
    ["gone twice", (manager) => manager.unregisterPod(withVolume("x", "one")), 1, 2],
    ["in its old version", (manager) => manager.unregisterPod(withVolume("x", "two")), 0, 2],
    ["a new one", (manager) => manager.registerPod(withVolume("x", "three")), 1, 3],
  ];

test("objects: each that pods name is listed and watched once, until no pod names it", async () => {
  const clock = new FakeClock();
  const client = new MemoryClient(() => ({ status: 200, body: { kind: "ConfigMapList", metadata: {}, items: [] } }));
  const { trace } = recordingTrace(clock);
  const manager = new ObjectManager({ client, clock, random: new FakeRandom(), trace }, "configmap");
  for (const [name, act, watched, lists] of REGISTRATIONS) {
    act(manager);
    await settle();
    const { size, watches } = manager.cache;
    assert.deepEqual([size, watches, client.lines.length], [watched, watched, lists], name);
  }
  await manager.cache.close();
  assert.equal(clock.sleeping, 0);
});

test("objects: names come from environment, volumes and pull secrets", () => {
  const pod = podOf({
    imagePullSecrets: [{ name: "pull" }],
    containers: [
      {
        name: "c",
        envFrom: [{ configMapRef: { name: "cm1" } }, { secretRef: { name: "s1" } }],
        env: [
          { name: "A", valueFrom: { configMapKeyRef: { name: "cm2", key: "k" } } },
          { name: "B", valueFrom: { secretKeyRef: { name: "s2", key: "k" } } },
        ],
      },
    ],
    initContainers: [{ name: "i", envFrom: [{ configMapRef: { name: "cm3" } }] }],
    volumes: [
      { name: "a", configMap: { name: "cm4" } },
      { name: "b", secret: { secretName: "s3" } },
      { name: "c", projected: { sources: [{ configMap: { name: "cm5" } }, { secret: { name: "s4" } }] } },
    ],
  });
  assert.deepEqual([...podReferences(pod).configMaps].sort(), ["cm1", "cm2", "cm3", "cm4", "cm5"]);
  assert.deepEqual([...podReferences(pod).secrets].sort(), ["pull", "s1", "s2", "s3", "s4"]);
});

test("objects: values of a secret are decoded, binary ones stay bytes", () => {
  const secret = { apiVersion: "v1", kind: "Secret", metadata: {}, data: { a: "/w==" } };
  assert.deepEqual(binaryValues(secret).get("a"), Buffer.from([255]));
  const map = { apiVersion: "v1", kind: "ConfigMap", metadata: {}, data: { b: "text" }, binaryData: { a: "/w==" } };
  assert.deepEqual(
    [...binaryValues(map)],
    [
      ["a", Buffer.from([255])],
      ["b", Buffer.from("text")],
    ],
  );
  assert.deepEqual([...textValues(map)], [["b", "text"]]);
});
