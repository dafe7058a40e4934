import assert from "node:assert/strict";
import { test } from "vitest";
import type { KubeObject } from "../../../src/api/meta.js";
import { ServiceLister } from "../../../src/kubelet/envvars/service-lister.js";
import { FakeClock, FakeRandom, settle } from "../../support/fake-clock.js";
import { type MemoryAnswer, MemoryClient } from "../../support/memory-client.js";
import { recordingTrace } from "../../support/trace.js";

const service = (name: string): KubeObject => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name, namespace: "ns", resourceVersion: "5" },
});

function start(answer: () => MemoryAnswer) {
  const clock = new FakeClock();
  const client = new MemoryClient(answer);
  const { trace, events } = recordingTrace(clock);
  const lister = new ServiceLister({ client, clock, random: new FakeRandom(), trace });
  const stop = new AbortController();
  const done = lister.run(stop.signal);
  const end = async () => {
    stop.abort();
    await assert.rejects(done, { name: "AbortError" });
    assert.equal(clock.sleeping, 0);
  };
  return { lister, client, clock, events, end };
}
const listOf = (...names: string[]): MemoryAnswer => ({
  status: 200,
  body: { apiVersion: "v1", kind: "ServiceList", metadata: { resourceVersion: "5" }, items: names.map(service) },
});

test("services: unknown until they were listed, then followed", async () => {
  const { lister, client, end } = start(() => listOf("a", "b"));
  assert.equal(lister.list(), undefined);
  await settle();
  const names = () => lister.list()?.map(({ metadata }) => metadata.name);
  assert.deepEqual(names(), ["a", "b"]);
  const [watch] = client.watches;
  watch?.queue.push({ type: "ADDED", object: service("c") });
  watch?.queue.push({ type: "DELETED", object: service("a") });
  await settle();
  assert.deepEqual(names(), ["b", "c"]);
  await end();
});

test("services: a refusal is told, and asked again half a minute later", async () => {
  let answer: MemoryAnswer = { status: 403, body: { kind: "Status", message: "no" } };
  const { lister, clock, events, end } = start(() => answer);
  await settle();
  assert.equal(events[0]?.kind, "error");
  answer = listOf("a");
  await clock.advance(30_000);
  assert.equal(lister.list()?.length, 1);
  await end();
});
