import assert from "node:assert/strict";
import { test } from "vitest";
import { createLocalClient } from "../../../../../src/cluster/apiserver/registry/generic/local-client.js";
import type { WatchItem } from "../../../../../src/staging/client-go/dynamic/interface.js";
import { forEachChange } from "../../../../../src/staging/client-go/informers/for-each-change.js";
import { SharedReflectors } from "../../../../../src/staging/client-go/informers/shared-reflector.js";
import { currentScope } from "../../../../../src/trace/scope.js";
import { settle } from "../../../../support/fake-clock.js";
import { only } from "../../../../support/trace.js";
import { ADMIN, configMap, openLab, pod, refusal } from "../rows.js";

function open() {
  const lab = openLab();
  return { ...lab, client: createLocalClient(lab.registry, ADMIN) };
}

test("local client: a missing object is undefined or false, a refusal throws", async () => {
  const { client } = open();
  assert.equal(await client.get("pods", "default", "p"), undefined);
  assert.equal(await client.delete("pods", "default", "p"), false);
  assert.equal(await client.modify("pods", "default", "p", (current) => current), undefined);
  assert.equal(await client.modify("leases.coordination.k8s.io", "default", "l", (current) => current), undefined);
  await client.create("pods", "default", pod("p"));
  assert.equal((await refusal(client.create("pods", "default", pod("p")))).reason, "AlreadyExists");
  assert.equal((await client.list("pods", "default")).length, 1);
  assert.equal(await client.delete("pods", "default", "p"), true);
});

test("local client: a patch of another uid, or of another version, is refused", async () => {
  const { client } = open();
  const { metadata } = await client.create("configmaps", "default", configMap("a", { n: 0 }));
  const { uid, resourceVersion } = metadata;
  const patch = (of: object) => {
    const body = { metadata: { ...of, labels: { a: "b" } } };
    return client.patch("configmaps", "default", "a", "application/merge-patch+json", body);
  };
  assert.deepEqual((await patch({ uid, resourceVersion }))?.metadata.labels, { a: "b" });
  assert.equal((await refusal(patch({ uid: "other", labels: {} }))).reason, "Conflict");
  const stale = { metadata: { resourceVersion, labels: { c: "d" } } };
  const writing = client.patch("configmaps", "default", "a", "application/merge-patch+json", stale);
  assert.equal((await refusal(writing)).reason, "Conflict");
  const strategic = { metadata: { uid, labels: { e: "f" } } };
  const patched = await client.patch("configmaps", "default", "a", "application/strategic-merge-patch+json", strategic);
  assert.deepEqual(patched?.metadata.labels, { a: "b", e: "f" });
  await client.create("pods", "default", pod("p"));
  const status = { metadata: {}, spec: { nodeName: "n" }, status: { phase: "Running" } };
  const ofStatus = await client.patch(
    "pods",
    "default",
    "p",
    "application/strategic-merge-patch+json",
    status,
    "status",
  );
  assert.deepEqual(
    [ofStatus?.["status"], (ofStatus?.["spec"] as { nodeName?: string } | undefined)?.nodeName],
    [{ phase: "Running" }, undefined],
  );
  const none = await client.patch("configmaps", "default", "none", "application/merge-patch+json", { metadata: {} });
  assert.equal(none, undefined);
});

test("local client: update needs the current version, modify retries, and an unchanged object is not written", async () => {
  const { client, storage } = open();
  const created = await client.create("configmaps", "default", configMap("a", { n: 0 }));
  const updated = await client.update("configmaps", { ...created, data: { n: 1 } });
  assert.equal((await refusal(client.update("configmaps", { ...created, data: { n: 2 } }))).reason, "Conflict");
  assert.equal(await client.modify("configmaps", "default", "a", (current) => current), updated);
  assert.equal(await storage.currentRevision(), 3);
  const counts = await Promise.all(
    Array.from({ length: 10 }, () =>
      client.modify("configmaps", "default", "a", (current) => ({
        ...current,
        data: { n: (current.data as { n: number }).n + 1 },
      })),
    ),
  );
  assert.equal(counts.length, 10);
  assert.deepEqual((await client.get("configmaps", "default", "a"))?.data, { n: 11 });
});

function line(item: WatchItem): string {
  if (item.type === "initDone") return "initDone";
  const before = item.type === "applied" ? ` was ${item.previous?.metadata.resourceVersion ?? "new"}` : "";
  return `${item.type} ${item.object.metadata.name}${before}`;
}

test("shared reflectors: a list, then changes with the previous object", async () => {
  const { client, clock, storage, trace } = open();
  const reflectors = new SharedReflectors(client, trace);
  await client.create("configmaps", "default", configMap("a"));
  const stop = new AbortController();
  const seen: string[] = [];
  const done = (async () => {
    for await (const item of reflectors.of("configmaps").changes(stop.signal)) seen.push(line(item));
  })();
  await settle();
  await client.create("configmaps", "default", configMap("b"));
  await client.modify("configmaps", "default", "a", (current) => ({ ...current, data: { k: "1" } }));
  await client.delete("configmaps", "default", "a");
  await settle();
  assert.deepEqual(seen, ["init a", "initDone", "applied b was new", "applied a was 2", "deleted a"]);
  stop.abort();
  await Promise.all([done, reflectors.close()]);
  assert.deepEqual([clock.sleeping, storage.watcherCount], [0, 0]);
});

test("shared reflectors: a component gets one watch fact for all its readers, caused by the version", async () => {
  const { client, trace, facts } = open();
  const reflectors = new SharedReflectors(client, trace);
  const stop = new AbortController();
  const pods = reflectors.of("pods");
  await pods.synced(stop.signal);
  const causes: string[] = [];
  const receivers = ["controller", "controller", "scheduler"] as const;
  const readers = receivers.map((receiver) =>
    forEachChange(trace, pods.changes(stop.signal, { onlyNew: true, receiver }), ({ type }) => {
      if (type === "applied" || type === "deleted") causes.push(`${currentScope()?.causedBy} ${currentScope()?.pod}`);
    }),
  );
  await client.create("pods", "default", pod("p"));
  await client.delete("pods", "default", "p", { gracePeriodSeconds: 0 });
  await settle();
  const watched = only(facts, "watch");
  const stored = only(facts, "state").map(({ version }) => version);
  assert.deepEqual(
    watched.map(({ type, actor, causedBy }) => [type, actor, causedBy]),
    ["ADDED", "MODIFIED", "DELETED"].flatMap((type, i) =>
      ["controller", "scheduler"].map((actor) => [type, actor, stored[i]]),
    ),
  );
  const idsOf = (i: number) => [watched[2 * i]?.id, watched[2 * i]?.id, watched[2 * i + 1]?.id];
  const want = [0, 1, 2].flatMap((i) => idsOf(i).map((id) => `${id} default/p`));
  assert.deepEqual(causes.toSorted(), want.toSorted());
  stop.abort();
  await Promise.all([...readers, reflectors.close()]);
});

test("shared reflectors: after a broken watch, objects of the new list and then those deleted meanwhile", async () => {
  const lab = openLab({ storage: { watchBacklog: { changes: 2 } } });
  const client = createLocalClient(lab.registry, ADMIN);
  const reflectors = new SharedReflectors(client, lab.trace);
  const causes: (string | undefined)[] = [];
  for (const name of ["a", "b"]) await client.create("configmaps", "default", configMap(name));
  const stop = new AbortController();
  const seen: string[] = [];
  const done = (async () => {
    for await (const item of reflectors.of("configmaps").changes(stop.signal)) {
      seen.push(line(item));
      causes.push(item.causedBy);
    }
  })();
  await settle();
  const { entry } = await lab.storage.get("/registry/configmaps/default/a");
  const burst = [1, 2, 3, 4].map((i) => lab.storage.create(`/registry/configmaps/default/x${i}`, configMap(`x${i}`)));
  await Promise.all([...burst, lab.storage.delete("/registry/configmaps/default/a", entry?.modRevision ?? 0)]);
  await settle();
  assert.deepEqual(seen.slice(0, 3), ["init a", "init b", "initDone"]);
  const added = [1, 2, 3, 4].map((i) => `applied x${i} was new`);
  assert.deepEqual(seen.slice(3), [...added, "deleted a"]);
  // The list shows which version there is, but no watch event arrived.
  assert.deepEqual(
    [only(lab.facts, "watch").some(({ type }) => type === "DELETED"), causes.at(-1)],
    [false, undefined],
  );
  stop.abort();
  await Promise.all([done, reflectors.close()]);
});
