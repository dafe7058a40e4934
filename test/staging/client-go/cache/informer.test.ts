import assert from "node:assert/strict";
import { test } from "vitest";
import type { KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";
import { Informer } from "../../../../src/staging/client-go/cache/informer.js";
import { collectionPath, SERVICES } from "../../../../src/staging/client-go/rest/paths.js";
import type { Trace } from "../../../../src/trace/trace.js";
import { FakeClock, FakeRandom, settle } from "../../../support/fake-clock.js";
import { type MemoryAnswer, MemoryClient } from "../../../support/memory-client.js";
import { recordingTrace } from "../../../support/trace.js";

const service = (name: string): KubeObject => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name, namespace: "ns", resourceVersion: "5" },
});

function start(answer: () => MemoryAnswer, changed: (trace: Trace) => void = () => {}) {
  const clock = new FakeClock();
  const client = new MemoryClient(answer);
  const { trace, events } = recordingTrace(clock);
  const deps = { client, clock, random: new FakeRandom(), trace };
  const informer = new Informer(deps, {
    path: collectionPath(SERVICES),
    waiting: "Containers wait.",
    onChanged: () => changed(trace),
  });
  const stop = new AbortController();
  const done = informer.run(stop.signal);
  const end = async () => {
    stop.abort();
    await assert.rejects(done, { name: "AbortError" });
    assert.equal(clock.sleeping, 0);
  };
  return { informer, client, clock, events, end };
}
const listOf = (...names: string[]): MemoryAnswer => ({
  status: 200,
  body: { apiVersion: "v1", kind: "ServiceList", metadata: { resourceVersion: "5" }, items: names.map(service) },
});

test("informer: objects are undefined until they are listed, then followed", async () => {
  const { informer, client, end } = start(() => listOf("a", "b"));
  assert.equal(informer.syncedObjects, undefined);
  await settle();
  const names = () => informer.syncedObjects?.map(({ metadata }) => metadata.name);
  assert.deepEqual(names(), ["a", "b"]);
  const [watch] = client.watches;
  watch?.queue.push({ type: "ADDED", object: service("c") });
  watch?.queue.push({ type: "DELETED", object: service("a") });
  await settle();
  assert.deepEqual(names(), ["b", "c"]);
  await end();
});

test("informer: a handler runs with the watch event as its cause", async () => {
  const causes: (string | undefined)[] = [];
  const { client, end } = start(
    () => listOf(),
    (trace) => causes.push(trace.cause),
  );
  await settle();
  client.watches[0]?.queue.push({ type: "ADDED", object: service("c"), causedBy: "w1" });
  await settle();
  assert.deepEqual(causes, ["w1"]);
  await end();
});

test("informer: a refusal is reported, and the list retried half a minute later", async () => {
  let answer: MemoryAnswer = { status: 403, body: { kind: "Status", message: "no" } };
  const { informer, clock, events, end } = start(() => answer);
  await settle();
  const [told] = events;
  assert.match(told?.kind === "error" ? (told.hint ?? "") : "", /^Containers wait\. The kubelet retries in 30 s\./);
  answer = listOf("a");
  await clock.advance(30_000);
  assert.equal(informer.syncedObjects?.length, 1);
  await end();
});
