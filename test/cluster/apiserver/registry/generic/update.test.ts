import assert from "node:assert/strict";
import { test } from "vitest";
import type { UpdateOptions } from "../../../../../src/cluster/apiserver/registry/rest/registry.js";
import type { KubeObject, ObjectMeta } from "../../../../../src/staging/apimachinery/api/meta.js";
import { configMap, contextOf, type LabOptions, openLab, pod, refusal } from "../rows.js";

const LEASES = "leases.coordination.k8s.io";
const CONFLICT = "the object has been modified; please apply your changes to the latest version and try again";

async function openWith(resource: string, object: KubeObject, options: LabOptions = {}) {
  const lab = openLab(options);
  const store = lab.registry.store(resource);
  const namespace = store.definition.namespaced ? "default" : undefined;
  const name = object.metadata.name ?? "";
  const created = await store.create(contextOf(), namespace, object);
  const put = async (sent: KubeObject, subresource?: string, putOptions?: UpdateOptions) =>
    (await store.update(contextOf(), namespace, name, subresource, () => sent, putOptions)).object;
  const patch = async (change: (current: KubeObject) => KubeObject, subresource?: string) =>
    (
      await store.update(contextOf(), namespace, name, subresource, (current) => {
        assert(current !== undefined);
        return change(current);
      })
    ).object;
  return { ...lab, store, created, put, patch };
}

const meta = (object: KubeObject, changes: ObjectMeta): KubeObject => ({
  ...object,
  metadata: { ...object.metadata, ...changes },
});

function without(object: KubeObject, ...fields: (keyof ObjectMeta)[]): KubeObject {
  const metadata = Object.fromEntries(
    Object.entries(object.metadata).filter(([field]) => !(fields as string[]).includes(field)),
  );
  return { ...object, metadata };
}

const lease = (name: string): KubeObject => ({ kind: "Lease", apiVersion: "v1", metadata: { name }, spec: {} });
const node = (name: string): KubeObject => ({
  kind: "Node",
  apiVersion: "v1",
  metadata: { name },
  spec: {},
  status: {},
});

test("update: a current resourceVersion writes, a stale one is a conflict", async () => {
  const { created, put } = await openWith("configmaps", configMap("a"));
  const updated = await put({ ...created, data: { k: "1" } });
  assert.deepEqual([updated.metadata.resourceVersion, updated.metadata.uid], ["3", created.metadata.uid]);
  const stale = await refusal(put({ ...created, data: { k: "2" } }));
  assert.deepEqual(
    [stale.code, stale.reason, stale.message],
    [409, "Conflict", `Operation cannot be fulfilled on configmaps "a": ${CONFLICT}`],
  );
});

test("update: without a change the resourceVersion stays, in any order of keys", async () => {
  const { created, put, registry } = await openWith("configmaps", configMap("a", { x: "1", y: "2" }));
  const same = await put({ ...created, data: { y: "2", x: "1" } });
  assert.equal(same, created);
  assert.equal(await registry.resourceVersion(), "2");
});

test("update without a resourceVersion: overwrites if the kind allows it, otherwise 422 with the resource's name", async () => {
  const node1 = await openWith("nodes", node("n"));
  const overwritten = await node1.put({ ...without(node1.created, "resourceVersion"), spec: { unschedulable: true } });
  assert.equal(overwritten.metadata.resourceVersion, "3");
  const lease1 = await openWith(LEASES, lease("l"));
  for (const resourceVersion of ["", "0"]) {
    const status = await refusal(lease1.put(meta(lease1.created, { resourceVersion })));
    const text = "Invalid value: 0x0: must be specified for an update";
    assert.equal(status.message, `leases.coordination.k8s.io "l" is invalid: metadata.resourceVersion: ${text}`);
    assert.deepEqual(status.details, {
      name: "l",
      group: "coordination.k8s.io",
      kind: "leases",
      causes: [{ reason: "FieldValueInvalid", message: text, field: "metadata.resourceVersion" }],
    });
  }
  const noNumber = await refusal(lease1.put(meta(lease1.created, { resourceVersion: "abc" })));
  assert.deepEqual([noNumber.code, noNumber.message], [500, 'strconv.ParseUint: parsing "abc": invalid syntax']);
});

test("update of a missing object: 404, or creates it if the kind allows that", async () => {
  const { registry } = openLab();
  const nodes = registry.store("nodes");
  const missing = await refusal(nodes.update(contextOf(), undefined, "n", undefined, () => node("n")));
  assert.deepEqual([missing.code, missing.message], [404, 'nodes "n" not found']);
  const leases = registry.store(LEASES);
  const sent = meta(lease("l"), { resourceVersion: "5" });
  const { object, created } = await leases.update(contextOf(), "default", "l", undefined, () => sent);
  assert.deepEqual([created, object.metadata.resourceVersion, object.metadata.namespace], [true, "2", "default"]);
  const uid = "f7d20916-ecd2-4295-9be8-b3598ff6b5d2";
  const withUid = await refusal(leases.update(contextOf(), "default", "m", undefined, () => lease("m"), { uid }));
  assert.equal(
    withUid.message,
    'Operation cannot be fulfilled on leases.coordination.k8s.io "m": StorageError: invalid object, Code: 4, Key: /registry/leases/default/m, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ' +
      `UID in precondition: ${uid}, UID in object meta: `,
  );
  const forced = await nodes.update(contextOf(), undefined, "n", undefined, () => node("n"), {
    forceAllowCreate: true,
  });
  assert.equal(forced.created, true);
});

test("update: another uid is 409 in a PUT, and 422 with the cause twice in a PATCH", async () => {
  const { created, put, patch } = await openWith("nodes", node("n"));
  const foreign = "11111111-1111-1111-1111-111111111111";
  const asPut = await refusal(put(meta(created, { uid: foreign }), undefined, { uid: foreign }));
  assert.equal(
    asPut.message,
    'Operation cannot be fulfilled on nodes "n": StorageError: invalid object, Code: 4, Key: /registry/minions/n, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ' +
      `UID in precondition: ${foreign}, UID in object meta: ${created.metadata.uid}`,
  );
  const asPatch = await refusal(patch((current) => meta(current, { uid: foreign })));
  assert.equal(asPatch.message, `Node "n" is invalid: metadata.uid: Invalid value: "${foreign}": field is immutable`);
  assert.equal(asPatch.details?.causes?.length, 2);
});

test("update: the name must be the URL's; times and generation are the server's", async () => {
  const { created, put, patch } = await openWith("configmaps", meta(configMap("a"), { generation: 3 }));
  const renamed = await refusal(patch((current) => meta(current, { name: "other" })));
  assert.deepEqual(
    [renamed.code, renamed.message],
    [400, "the name of the object (other) does not match the name on the URL (a)"],
  );
  const nameless = await refusal(patch((current) => without(current, "name")));
  assert.equal(nameless.message, "the name of the object (a based on URL) was undeterminable: name must be provided");
  const changed = await put(
    meta(without(created, "uid"), { creationTimestamp: "2001-01-01T00:00:00Z", generation: 9, labels: { a: "b" } }),
  );
  assert.deepEqual(
    [changed.metadata.uid, changed.metadata.creationTimestamp, changed.metadata.generation],
    [created.metadata.uid, created.metadata.creationTimestamp, 3],
  );
  const dated = await refusal(patch((current) => meta(current, { deletionTimestamp: "2026-01-01T00:00:00Z" })));
  assert.equal(
    dated.message,
    'ConfigMap "a" is invalid: metadata.deletionTimestamp: Invalid value: 2026-01-01 00:00:00 +0000 UTC: field is immutable',
  );
});

test("update of a subresource changes only its part, and creates nothing", async () => {
  const { store, created, put } = await openWith("nodes", node("n"));
  const status = await put({ ...created, spec: { unschedulable: true }, status: { phase: "x" } }, "status");
  assert.deepEqual([status.spec, status.status], [{}, { phase: "x" }]);
  const main = await put({ ...status, spec: { unschedulable: true }, status: {} });
  assert.deepEqual([main.spec, main.status], [{ unschedulable: true }, { phase: "x" }]);
  const missing = await refusal(store.update(contextOf(), undefined, "m", "status", () => node("m")));
  assert.equal(missing.reason, "NotFound");
});

test("update: after a conflict the change is computed again, unless it names a version", async () => {
  const { store, created, put } = await openWith("configmaps", configMap("a", { n: 0 }));
  let interferences = 2;
  const seen: unknown[] = [];
  const { object } = await store.update(contextOf(), "default", "a", undefined, async (current) => {
    assert(current !== undefined);
    seen.push((current.data as { n: number }).n);
    if (interferences-- > 0) await put({ ...current, data: { n: seen.length * 10 } });
    return { ...current, data: { n: "mine" } };
  });
  assert.deepEqual([seen, object.data], [[0, 10, 20], { n: "mine" }]);
  interferences = 1;
  const insisting = await refusal(
    store.update(contextOf(), "default", "a", undefined, async (current) => {
      if (interferences-- > 0) await put({ ...(current as KubeObject), data: { n: "other" } });
      return { ...created, data: { n: "old" } };
    }),
  );
  assert.equal(insisting.reason, "Conflict");
});

test("update: a dry run returns the result and stores nothing", async () => {
  const { store, created, registry } = await openWith("configmaps", configMap("a"));
  const sent = { ...created, data: { k: "1" } };
  const { object } = await store.update(contextOf({ dryRun: true }), "default", "a", undefined, () => sent);
  assert.deepEqual([object.data, object.metadata.resourceVersion], [{ k: "1" }, "2"]);
  assert.equal(await registry.resourceVersion(), "2");
  const dry = await registry
    .store(LEASES)
    .update(contextOf({ dryRun: true }), "default", "l", undefined, () => lease("l"));
  assert.equal(dry.created, true);
  assert.equal((await refusal(registry.store(LEASES).get("default", "l"))).reason, "NotFound");
});

test("finalizers: cannot be added to an object that is being deleted; removing the last one deletes it", async () => {
  const { store, storage, patch } = await openWith("pods", meta(pod("p"), { finalizers: ["example.com/hold"] }));
  const { gone } = await store.delete(contextOf(), "default", "p", { gracePeriodSeconds: 0 });
  assert.equal(gone, false);
  const added = await refusal(
    patch((current) => meta(current, { finalizers: ["example.com/hold", "example.com/more"] })),
  );
  assert.equal(
    added.message,
    'Pod "p" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"example.com/more"}',
  );
  assert.equal(added.details?.causes?.length, 2);
  const last = await patch((current) => without(current, "finalizers"));
  assert.deepEqual([last.metadata.resourceVersion, last.metadata.finalizers], ["3", undefined]);
  assert.equal((await refusal(store.get("default", "p"))).reason, "NotFound");
  assert.equal(await storage.currentRevision(), 4);
});

test("a namespace is deleted with its last own finalizer, not before", async () => {
  const namespace = { kind: "Namespace", apiVersion: "v1", metadata: { name: "ns" } };
  const { store, put } = await openWith("namespaces", namespace);
  const deleted = await store.delete(contextOf(), undefined, "ns");
  assert.deepEqual(
    [
      deleted.gone,
      deleted.object.status,
      deleted.object.metadata.deletionTimestamp,
      deleted.object.metadata.deletionGracePeriodSeconds,
    ],
    [false, { phase: "Terminating" }, "2026-01-01T00:00:00Z", undefined],
  );
  const again = await store.delete(contextOf(), undefined, "ns");
  assert.deepEqual([again.gone, again.object], [false, deleted.object]);
  const labelled = await put(meta(deleted.object, { labels: { a: "b" } }));
  assert.equal((await store.get(undefined, "ns")).metadata.resourceVersion, labelled.metadata.resourceVersion);
  await put({ ...labelled, spec: { finalizers: [] } }, "finalize");
  assert.equal((await refusal(store.get(undefined, "ns"))).reason, "NotFound");
});

test("a view of another row's storage reads and writes the same objects", async () => {
  const { registry, store, created } = await openWith("configmaps", configMap("a", { k: "v" }));
  const views = registry.store("views.view.example.com");
  const view = await views.get("default", "a");
  assert.deepEqual([view.kind, view.content, view.metadata], ["View", { k: "v" }, created.metadata]);
  assert.equal(await views.get("default", "a"), view);
  await views.update(contextOf(), "default", "a", undefined, () => ({ ...view, content: { k: "w" } }));
  const stored = await store.get("default", "a");
  assert.deepEqual([stored.kind, stored.data], ["ConfigMap", { k: "w" }]);
  const found = await views.list("default", { fieldSelector: "content.k=w" });
  assert.deepEqual([found.kind, found.items.length, found.items[0]?.content], ["ViewList", 1, { k: "w" }]);
});
