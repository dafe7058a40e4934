import assert from "node:assert/strict";
import { test } from "vitest";
import type { V1Pod } from "../../../src/api/pod.js";
import {
  binaryValues,
  OBJECT_TTL_MS,
  ObjectManager,
  textValues,
} from "../../../src/kubelet/kubelet-pods/object-manager.js";
import { referencedConfigMaps, referencedSecrets } from "../../../src/kubelet/kubelet-pods/references.js";
import { LabError } from "../../../src/util/errors.js";
import { FakeClock } from "../../support/fake-clock.js";
import { type MemoryAnswer, MemoryClient } from "../../support/memory-client.js";

const SIGNAL = new AbortController().signal;

function podOf(spec: object, uid = "u"): V1Pod {
  const metadata = { name: "p", namespace: "ns", uid };
  return { apiVersion: "v1", kind: "Pod", metadata, spec: { containers: [], ...spec }, status: {} };
}
const withVolume = (name: string, uid?: string) => podOf({ volumes: [{ name: "v", configMap: { name } }] }, uid);

function setUp(answer: () => MemoryAnswer | Error, kind: "configmap" | "secret" = "configmap") {
  const clock = new FakeClock();
  const client = new MemoryClient(answer);
  return { clock, client, manager: new ObjectManager({ client, clock }, { kind }) };
}
const found = () => ({ status: 200, body: { kind: "ConfigMap", metadata: {}, data: { a: "1" } } });

test("objects: what a pod names is read once, and again when it has grown old or another pod names it", async () => {
  const { client, clock, manager } = setUp(found);
  manager.registerPod(withVolume("x"));
  await Promise.all([manager.get("ns", "x", SIGNAL), manager.get("ns", "x", SIGNAL)]);
  await manager.get("ns", "x", SIGNAL);
  assert.deepEqual(client.lines, ["GET /api/v1/namespaces/ns/configmaps/x"]);
  await clock.advance(OBJECT_TTL_MS);
  await manager.get("ns", "x", SIGNAL);
  assert.equal(client.lines.length, 2);
  manager.registerPod(withVolume("x"));
  await manager.get("ns", "x", SIGNAL);
  assert.equal(client.lines.length, 2);
  manager.registerPod(withVolume("x", "other"));
  await manager.get("ns", "x", SIGNAL);
  assert.equal(client.lines.length, 3);
});

test("objects: a pod never gets an answer that was asked for before it was there", async () => {
  let serial = 0;
  const { manager } = setUp(() => ({
    status: 200,
    body: { kind: "ConfigMap", metadata: {}, data: { n: `${++serial}` } },
  }));
  manager.registerPod(withVolume("x", "one"));
  const early = manager.get("ns", "x", SIGNAL);
  manager.registerPod(withVolume("x", "two"));
  const late = manager.get("ns", "x", SIGNAL);
  const data = async (result: typeof early) => {
    const found = await result;
    return found.outcome === "ok" ? found.object["data"] : undefined;
  };
  assert.deepEqual([await data(early), await data(late)], [{ n: "1" }, { n: "2" }]);
  assert.deepEqual(await data(manager.get("ns", "x", SIGNAL)), { n: "2" });
});

test("objects: what no pod names any more is forgotten", () => {
  const { manager } = setUp(found);
  manager.registerPod(withVolume("x", "one"));
  manager.registerPod(withVolume("x", "two"));
  assert.equal(manager.size, 1);
  manager.registerPod(withVolume("y", "one"));
  assert.equal(manager.size, 2);
  manager.unregisterPod(withVolume("x", "two"));
  manager.unregisterPod(withVolume("y", "one"));
  assert.equal(manager.size, 0);
});

const refusals: readonly (readonly [string, MemoryAnswer | Error, object])[] = [
  ["404", { status: 404 }, { outcome: "not-found", message: 'secret "x" not found' }],
  [
    "403",
    { status: 403, body: { kind: "Status", message: 'secrets "x" is forbidden: no' } },
    { outcome: "failed", message: 'secrets "x" is forbidden: no' },
  ],
  [
    "no answer",
    new LabError("CLUSTER_UNREACHABLE", "nobody answers", "wait"),
    { outcome: "failed", message: "nobody answers" },
  ],
];
for (const [name, answer, want] of refusals) {
  test(`objects: ${name}`, async () => {
    const { manager } = setUp(() => answer, "secret");
    assert.deepEqual(await manager.get("ns", "x", SIGNAL), want);
  });
}

test("objects: an old one is better than none, unless it is gone", async () => {
  let answer: MemoryAnswer | Error = found();
  const { clock, manager } = setUp(() => answer);
  manager.registerPod(withVolume("x"));
  await manager.get("ns", "x", SIGNAL);
  await clock.advance(OBJECT_TTL_MS);
  answer = new LabError("CLUSTER_UNREACHABLE", "nobody answers", "wait");
  assert.equal((await manager.get("ns", "x", SIGNAL)).outcome, "ok");
  answer = { status: 404 };
  assert.equal((await manager.get("ns", "x", SIGNAL)).outcome, "not-found");
});

test("objects: who gives up gets the signal's reason", async () => {
  const { manager } = setUp(found);
  manager.registerPod(withVolume("x"));
  const reason = new Error("enough");
  await assert.rejects(manager.get("ns", "x", AbortSignal.abort(reason)), reason);
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
  assert.deepEqual([...referencedConfigMaps(pod)].sort(), ["cm1", "cm2", "cm3", "cm4", "cm5"]);
  assert.deepEqual([...referencedSecrets(pod)].sort(), ["pull", "s1", "s2", "s3", "s4"]);
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
