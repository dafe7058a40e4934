import assert from "node:assert/strict";
import { test } from "vitest";
import type { KubeObject, ObjectMeta } from "../../../../../src/staging/apimachinery/api/meta.js";
import type { DeleteOptions } from "../../../../../src/staging/apimachinery/api/options.js";
import type { AdmissionPlugin } from "../../../../../src/staging/server/admission/interfaces.js";
import { configMap, contextOf, fieldsOf, type Lab, openLab, pod, refusal } from "../rows.js";

/** type, resourceVersion, grace period in seconds, deletionTimestamp of each pod event so far */
async function podEvents(lab: Lab): Promise<string[]> {
  const seen: string[] = [];
  const stop = new AbortController();
  const events = lab.registry.store("pods").watch("default", { resourceVersion: "1", timeoutSeconds: 1 }, stop.signal);
  const reading = (async () => {
    for await (const { type, object } of events) {
      const { resourceVersion, deletionGracePeriodSeconds: grace, deletionTimestamp } = object.metadata;
      seen.push(
        [type, resourceVersion, grace, deletionTimestamp?.slice(14, 19)].filter((one) => one !== undefined).join(" "),
      );
    }
  })();
  await lab.clock.advance(1000);
  await reading;
  return seen;
}

const BOUND = { nodeName: "n1" };

const CASES: readonly [string, KubeObject, readonly (DeleteOptions | number)[], string[]][] = [
  [
    "an unbound pod is gone at once, still in two steps",
    pod("p"),
    [{}],
    ["ADDED 2", "MODIFIED 3 0 00:00", "DELETED 4 0 00:00"],
  ],
  ["a bound pod stays for its grace period", pod("p", BOUND), [{}], ["ADDED 2", "MODIFIED 3 30 00:30"]],
  [
    "a bound pod's own grace period",
    pod("p", { ...BOUND, terminationGracePeriodSeconds: 5 }),
    [{}],
    ["ADDED 2", "MODIFIED 3 5 00:05"],
  ],
  [
    "a finished pod is gone at once",
    pod("p", BOUND, { phase: "Succeeded" }),
    [{}],
    ["ADDED 2", "MODIFIED 3 0 00:00", "DELETED 4 0 00:00"],
  ],
  [
    "grace 0 is gone at once",
    pod("p", BOUND),
    [{ gracePeriodSeconds: 0 }],
    ["ADDED 2", "MODIFIED 3 0 00:00", "DELETED 4 0 00:00"],
  ],
  [
    "a negative grace period becomes 1",
    pod("p", BOUND),
    [{ gracePeriodSeconds: -3 }],
    ["ADDED 2", "MODIFIED 3 1 00:01"],
  ],
  [
    "a second DELETE can shorten the grace period, counted from the first",
    pod("p", BOUND),
    [{}, 2, { gracePeriodSeconds: 5 }],
    ["ADDED 2", "MODIFIED 3 30 00:30", "MODIFIED 4 5 00:05"],
  ],
  [
    "a second DELETE never lengthens it, and can omit it",
    pod("p", BOUND),
    [{ gracePeriodSeconds: 5 }, 2, { gracePeriodSeconds: 100 }, {}, { gracePeriodSeconds: 5 }],
    ["ADDED 2", "MODIFIED 3 5 00:05"],
  ],
  [
    "the kubelet's DELETE with grace 0 removes it, deletionTimestamp moves back",
    pod("p", BOUND),
    [{}, 7, { gracePeriodSeconds: 0 }],
    ["ADDED 2", "MODIFIED 3 30 00:30", "MODIFIED 4 0 00:00", "DELETED 5 0 00:00"],
  ],
  [
    "a finalizer keeps it, and a second DELETE changes nothing",
    { ...pod("p", BOUND), metadata: { name: "p", finalizers: ["example.com/hold"] } },
    [{ gracePeriodSeconds: 0 }, {}],
    ["ADDED 2", "MODIFIED 3 0 00:00"],
  ],
];
for (const [what, object, steps, want] of CASES) {
  test(`delete: ${what}`, async () => {
    const lab = openLab();
    const store = lab.registry.store("pods");
    await store.create(contextOf(), "default", object);
    for (const step of steps) {
      if (typeof step === "number") await lab.clock.advance(step * 1000);
      else await store.delete(contextOf(), "default", "p", step);
    }
    assert.deepEqual(await podEvents(lab), want);
  });
}

test("delete returns the object as it was last stored", async () => {
  const { registry } = openLab();
  const pods = registry.store("pods");
  await pods.create(contextOf(), "default", pod("p", BOUND));
  const { object, gone } = await pods.delete(contextOf(), "default", "p", { gracePeriodSeconds: 0 });
  assert.deepEqual([gone, object.metadata.resourceVersion, object.metadata.deletionGracePeriodSeconds], [true, "3", 0]);
  const maps = registry.store("configmaps");
  const created = await maps.create(contextOf(), "default", configMap("a"));
  assert.deepEqual(await maps.delete(contextOf(), "default", "a"), { object: created, gone: true });
});

const PRECONDITIONS: readonly [DeleteOptions, string][] = [
  [
    { preconditions: { uid: "11111111-1111-1111-1111-111111111111" } },
    "the UID in the precondition (11111111-1111-1111-1111-111111111111) does not match the UID in record (00000000-0000-4000-8000-000000000001). The object might have been deleted and then recreated",
  ],
  [
    { preconditions: { resourceVersion: "1" } },
    "the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (2). The object might have been modified",
  ],
];
for (const [options, why] of PRECONDITIONS) {
  test(`delete: the message about a failed precondition names the kind: ${JSON.stringify(options)}`, async () => {
    const { registry } = openLab();
    const store = registry.store("nodes");
    await store.create(contextOf(), undefined, { kind: "Node", apiVersion: "v1", metadata: { name: "n" } });
    const status = await refusal(store.delete(contextOf(), undefined, "n", options));
    assert.deepEqual([status.code, status.reason], [409, "Conflict"]);
    assert.equal(status.message, `Operation cannot be fulfilled on Node "n": ${why}`);
    assert.deepEqual(status.details, { name: "n", kind: "Node" });
  });
}

test("delete: preconditions that hold, also across the two steps of grace 0", async () => {
  const { registry } = openLab();
  const store = registry.store("pods");
  const { metadata } = await store.create(contextOf(), "default", pod("p", BOUND));
  const preconditions = { uid: metadata.uid ?? "", resourceVersion: metadata.resourceVersion ?? "" };
  assert.equal((await store.delete(contextOf(), "default", "p", { gracePeriodSeconds: 0, preconditions })).gone, true);
});

test("delete: unknown propagation policy, and two conflicting options for it", async () => {
  const { registry } = openLab();
  const store = registry.store("configmaps");
  await store.create(contextOf(), "default", configMap("a"));
  const unknown = await refusal(store.delete(contextOf(), "default", "a", { propagationPolicy: "Sideways" }));
  assert.equal(
    unknown.message,
    'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "Sideways": supported values: "Foreground", "Background", "Orphan", "nil"',
  );
  const both = await refusal(
    store.delete(contextOf(), "default", "a", { propagationPolicy: "Orphan", orphanDependents: true }),
  );
  assert.match(both.message ?? "", /orphanDependents and deletionPropagation cannot be both set$/);
});

const POLICIES: readonly [DeleteOptions, readonly string[], ObjectMeta["finalizers"]][] = [
  [{ propagationPolicy: "Background" }, [], undefined],
  [{ propagationPolicy: "Foreground" }, [], ["foregroundDeletion"]],
  [{ propagationPolicy: "Orphan" }, [], ["orphan"]],
  [{ orphanDependents: true }, ["a.b/c"], ["a.b/c", "orphan"]],
  [{ orphanDependents: false }, ["orphan"], undefined],
  [{ propagationPolicy: "Orphan" }, ["foregroundDeletion"], ["orphan"]],
  [{}, ["foregroundDeletion"], ["foregroundDeletion"]],
];
for (const [options, before, after] of POLICIES) {
  test(`delete: ${JSON.stringify(options)} changes the finalizers [${before}] to [${after ?? "gone"}]`, async () => {
    const { registry } = openLab();
    const store = registry.store("configmaps");
    await store.create(contextOf(), "default", {
      ...configMap("a"),
      metadata: { name: "a", generation: 1, finalizers: before },
    });
    const { gone } = await store.delete(contextOf(), "default", "a", options);
    assert.equal(gone, after === undefined);
    if (after === undefined) return;
    const { metadata } = await store.get("default", "a");
    assert.deepEqual(metadata.finalizers, after);
    assert.deepEqual(
      [metadata.deletionTimestamp, metadata.deletionGracePeriodSeconds, metadata.generation],
      ["2026-01-01T00:00:00Z", 0, 2],
    );
    const { resourceVersion } = (await store.delete(contextOf(), "default", "a")).object.metadata;
    assert.equal(resourceVersion, metadata.resourceVersion);
  });
}

test("delete: a dry run returns the result", async () => {
  const { registry } = openLab();
  const store = registry.store("pods");
  await store.create(contextOf(), "default", pod("p", BOUND));
  const dry = contextOf({ dryRun: true });
  const { object, gone } = await store.delete(dry, "default", "p");
  assert.deepEqual(
    [gone, object.metadata.deletionGracePeriodSeconds, object.metadata.resourceVersion],
    [false, 30, "2"],
  );
  assert.equal((await store.delete(dry, "default", "p", { gracePeriodSeconds: 0 })).gone, true);
  assert.equal((await store.get("default", "p")).metadata.deletionTimestamp, undefined);
});

test("delete: admission sees the object, and can refuse", async () => {
  const seen: unknown[] = [];
  const plugin: AdmissionPlugin = {
    name: "Test",
    async validate({ operation, object, oldObject, options }) {
      if (operation !== "DELETE") return;
      seen.push([object, oldObject?.metadata.name, fieldsOf(options).gracePeriodSeconds]);
      if (oldObject?.metadata.name === "kept") throw new Error("kept");
    },
  };
  const { registry } = openLab({ admission: [plugin] });
  const store = registry.store("configmaps");
  for (const name of ["a", "kept"]) await store.create(contextOf(), "default", configMap(name));
  await store.delete(contextOf(), "default", "a", { gracePeriodSeconds: 4 });
  await assert.rejects(store.delete(contextOf(), "default", "kept"), /kept/);
  assert.deepEqual(seen, [
    [undefined, "a", 4],
    [undefined, "kept", undefined],
  ]);
  await store.get("default", "kept");
});

test("delete of a missing object is 404; a collection is deleted by selector and returned as it was", async () => {
  const { registry } = openLab();
  const store = registry.store("pods");
  assert.equal((await refusal(store.delete(contextOf(), "default", "nope"))).message, 'pods "nope" not found');
  for (const name of ["a", "b", "c"]) {
    await store.create(contextOf(), "default", {
      ...pod(name, BOUND),
      metadata: { name, labels: { coll: name === "c" ? "0" : "1" } },
    });
  }
  const list = await store.deleteCollection(contextOf(), "default", { labelSelector: "coll=1" });
  assert.deepEqual([list.kind, list.metadata.resourceVersion], ["PodList", "4"]);
  assert.deepEqual(
    list.items.map(({ metadata }) => [metadata.name, metadata.deletionTimestamp]),
    [
      ["a", undefined],
      ["b", undefined],
    ],
  );
  const left = await store.list("default");
  assert.deepEqual(
    left.items.map(({ metadata }) => [metadata.name, metadata.deletionGracePeriodSeconds]),
    [
      ["a", 30],
      ["b", 30],
      ["c", undefined],
    ],
  );
});
