import assert from "node:assert/strict";
import { test } from "vitest";
import type { KubeObject, WatchEvent } from "../../../../../src/staging/apimachinery/api/meta.js";
import type { WatchOptions } from "../../../../../src/staging/apimachinery/api/options.js";
import { settle } from "../../../../support/fake-clock.js";
import { configMap, contextOf, fieldsOf, type LabOptions, openLab, pod, refusal } from "../rows.js";

const CONFIG_MAPS = "configmaps";

function line({ type, object }: WatchEvent): string {
  const { name, resourceVersion } = object.metadata;
  return [type, name, resourceVersion].filter((one) => one !== undefined).join(" ");
}

/** A lab with a watch that is read continuously. */
function openWatch(
  options: WatchOptions,
  lab = openLab(),
  resource = CONFIG_MAPS,
  namespace: string | undefined = "default",
) {
  const stop = new AbortController();
  const events: WatchEvent[] = [];
  const done = (async () => {
    for await (const event of lab.registry.store(resource).watch(namespace, options, stop.signal)) events.push(event);
  })();
  return { ...lab, events, done, stop, lines: () => events.map(line) };
}

async function put(lab: ReturnType<typeof openLab>, object: KubeObject, resource = CONFIG_MAPS): Promise<void> {
  const store = lab.registry.store(resource);
  const name = object.metadata.name ?? "";
  const exists = (await store.list("default", { fieldSelector: `metadata.name=${name}` })).items.length > 0;
  if (exists) await store.update(contextOf(), "default", name, undefined, () => object);
  else await store.create(contextOf(), "default", object);
  await settle();
}

test("watch without a version or from 0: existing objects come as ADDED, then changes", async () => {
  for (const options of [{}, { resourceVersion: "0" }]) {
    const lab = openLab();
    await put(lab, configMap("b"));
    await put(lab, configMap("a"));
    await lab.registry.store(CONFIG_MAPS).create(contextOf(), "other", configMap("x"));
    const watch = openWatch(options, lab);
    await settle();
    await put(lab, configMap("a", { k: "1" }));
    await lab.registry.store(CONFIG_MAPS).delete(contextOf(), "default", "b");
    await settle();
    assert.deepEqual(watch.lines(), ["ADDED a 3", "ADDED b 2", "MODIFIED a 5", "DELETED b 6"]);
    watch.stop.abort();
    await watch.done;
    assert.deepEqual([lab.clock.sleeping, lab.storage.watcherCount], [0, 0]);
  }
});

test("watch from a version: later changes only, each once", async () => {
  const lab = openLab();
  for (let i = 0; i < 4; i++) await put(lab, configMap("a", { k: String(i) }));
  const watch = openWatch({ resourceVersion: "3" }, lab);
  await settle();
  await put(lab, configMap("b"));
  assert.deepEqual(watch.lines(), ["MODIFIED a 4", "MODIFIED a 5", "ADDED b 6"]);
  watch.stop.abort();
  await watch.done;
});

test("watch by label: enters, changes, leaves with its old content and the new version, enters again, is deleted", async () => {
  const lab = openLab();
  await put(lab, configMap("a", { k: "outside" }));
  const watch = openWatch({ resourceVersion: "2", labelSelector: "app=x" }, lab);
  const twin = openWatch({ resourceVersion: "2", labelSelector: "app" }, lab);
  await settle();
  await put(lab, configMap("a", { k: "1" }, { app: "x" }));
  await put(lab, configMap("a", { k: "2" }, { app: "x" }));
  await put(lab, configMap("a", { k: "3" }));
  await put(lab, configMap("a", { k: "4" }));
  await put(lab, configMap("a", { k: "5" }, { app: "x" }));
  await lab.registry.store(CONFIG_MAPS).delete(contextOf(), "default", "a");
  await settle();
  assert.deepEqual(watch.lines(), ["ADDED a 3", "MODIFIED a 4", "DELETED a 5", "ADDED a 7", "DELETED a 8"]);
  assert.deepEqual(
    watch.events.map(({ object }) => fieldsOf(object.data).k),
    ["1", "2", "2", "5", "5"],
  );
  // All watchers share the object that left.
  assert.deepEqual(watch.events[2]?.object.metadata.labels, { app: "x" });
  assert.equal(watch.events[2]?.object, twin.events[2]?.object);
  for (const one of [watch, twin]) one.stop.abort();
  await Promise.all([watch.done, twin.done]);
});

test("watch by field: a pod appears on its node when it is bound, and changes phase", async () => {
  const lab = openLab();
  const byNode = openWatch({ resourceVersion: "1", fieldSelector: "spec.nodeName=n1" }, lab, "pods");
  const pending = openWatch(
    { resourceVersion: "1", fieldSelector: "status.phase=Pending,metadata.name=p" },
    lab,
    "pods",
  );
  const others = openWatch({ resourceVersion: "1", fieldSelector: "status.phase!=Succeeded" }, lab, "pods");
  await settle();
  await put(lab, pod("p"), "pods");
  await put(lab, pod("p", { nodeName: "n1" }), "pods");
  await put(lab, pod("p", { nodeName: "n1" }, { phase: "Running" }), "pods");
  await put(lab, pod("p", { nodeName: "n1" }, { phase: "Succeeded" }), "pods");
  assert.deepEqual(byNode.lines(), ["ADDED p 3", "MODIFIED p 4", "MODIFIED p 5"]);
  assert.deepEqual(pending.lines(), ["ADDED p 2", "MODIFIED p 3", "DELETED p 4"]);
  assert.deepEqual(others.lines(), ["ADDED p 2", "MODIFIED p 3", "MODIFIED p 4", "DELETED p 5"]);
  for (const one of [byNode, pending, others]) {
    one.stop.abort();
    await one.done;
  }
});

test("watch: too old is one ERROR event with a Status 410, then the end", async () => {
  const lab = openLab();
  for (let i = 0; i < 120; i++) await put(lab, configMap("a", { k: String(i) }));
  await lab.clock.advance(80_000);
  await put(lab, configMap("a", { k: "last" }));
  const watch = openWatch({ resourceVersion: "1" }, lab);
  await watch.done;
  assert.deepEqual(watch.events, [
    {
      type: "ERROR",
      object: {
        kind: "Status",
        apiVersion: "v1",
        metadata: {},
        status: "Failure",
        message: "too old resource version: 1 (22)",
        reason: "Expired",
        code: 410,
      },
    },
  ]);
});

test("watch: a future version waits in silence; the stream ends at its timeout", async () => {
  const watch = openWatch({ resourceVersion: "4", timeoutSeconds: 3 });
  await settle();
  for (const name of ["a", "b", "c", "d"]) await put(watch, configMap(name));
  assert.deepEqual(watch.lines(), ["ADDED d 5"]);
  await watch.clock.advance(2999);
  assert.equal(watch.clock.sleeping, 1);
  await watch.clock.advance(1);
  await watch.done;
  assert.deepEqual([watch.clock.sleeping, watch.storage.watcherCount], [0, 0]);
});

test("bookmarks: every minute, with the version of the resource's newest change, selected or not", async () => {
  const options = { resourceVersion: "1", allowWatchBookmarks: true, labelSelector: "nothing=matches" };
  const watch = openWatch(options, openLab(), CONFIG_MAPS, "quiet");
  await settle();
  await put(watch, configMap("a"));
  await watch.registry
    .store("nodes")
    .create(contextOf(), undefined, { kind: "Node", apiVersion: "v1", metadata: { name: "n" } });
  await watch.clock.advance(60_000);
  assert.deepEqual(watch.events, [
    {
      type: "BOOKMARK",
      object: { kind: "ConfigMap", apiVersion: "v1", metadata: { resourceVersion: "2", creationTimestamp: null } },
    },
  ]);
  await put(watch, configMap("b"));
  await watch.clock.advance(60_000);
  assert.deepEqual(watch.lines(), ["BOOKMARK 2", "BOOKMARK 4"]);
  watch.stop.abort();
  await watch.done;
});

test("bookmarks: a storage that says how far it has come moves them on, without a change of the resource", async () => {
  const lab = openLab();
  const changes = lab.storage.watchWithProgress.bind(lab.storage);
  lab.storage.watchWithProgress = async function* (prefix, afterRevision, signal) {
    yield { type: "progress", revision: afterRevision + 7 };
    yield* changes(prefix, afterRevision, signal);
  };
  const watch = openWatch({ resourceVersion: "1", allowWatchBookmarks: true }, lab);
  await watch.clock.advance(60_000);
  assert.deepEqual(watch.lines(), ["BOOKMARK 8"]);
  watch.stop.abort();
  await watch.done;
});

test("bookmarks: about 2 s before the end; only on request, and only after a change", async () => {
  const lab = openLab();
  await put(lab, configMap("a"));
  const common = { resourceVersion: "1", timeoutSeconds: 20, fieldSelector: "metadata.name=x" };
  const asked = openWatch({ ...common, allowWatchBookmarks: true }, lab);
  const unasked = openWatch(common, lab);
  const noNews = openWatch({ ...common, resourceVersion: "2", allowWatchBookmarks: true }, lab);
  await lab.clock.advance(17_999);
  assert.deepEqual(asked.lines(), []);
  await lab.clock.advance(1);
  assert.deepEqual(asked.lines(), ["BOOKMARK 2"]);
  await lab.clock.advance(2_000);
  await Promise.all([asked.done, unasked.done, noNews.done]);
  assert.deepEqual([asked.lines(), unasked.lines(), noNews.lines()], [["BOOKMARK 2", "BOOKMARK 2"], [], []]);
});

const MATCH = 'ListOptions.meta.k8s.io "" is invalid: ';
const REFUSED: readonly [string, WatchOptions, number, string][] = [
  [
    "1.25",
    { resourceVersion: "abc" },
    500,
    'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax',
  ],
  ["1.25", { labelSelector: "a===b" }, 400, "unable to parse requirement: found '=', expected: identifier"],
  [
    "1.25",
    { fieldSelector: "spec.x=y" },
    400,
    '"spec.x" is not a known field selector: only "metadata.name", "metadata.namespace"',
  ],
  [
    "1.25",
    { resourceVersion: "0", resourceVersionMatch: "NotOlderThan" },
    422,
    `${MATCH}resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch`,
  ],
  [
    "1.25",
    { sendInitialEvents: true, resourceVersionMatch: "NotOlderThan" },
    422,
    `${MATCH}[resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch, resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided]`,
  ],
  [
    "1.31",
    { sendInitialEvents: true, resourceVersionMatch: "NotOlderThan" },
    422,
    `${MATCH}sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled`,
  ],
  [
    "1.32",
    { sendInitialEvents: true },
    422,
    `${MATCH}resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan`,
  ],
];
for (const [kubeVersion, options, code, message] of REFUSED) {
  test(`watch in v${kubeVersion}: ${JSON.stringify(options)} is refused before the stream begins`, async () => {
    const { registry } = openLab({ kubeVersion });
    const status = await refusal(() =>
      registry.store(CONFIG_MAPS).watch("default", options, new AbortController().signal),
    );
    assert.deepEqual([status.code, status.message], [code, message]);
  });
}

test("sendInitialEvents: ignored in v1.25; in v1.32 a bookmark marks the end of the list", async () => {
  const seen: string[][] = [];
  for (const options of [
    { lab: { kubeVersion: "1.25" } satisfies LabOptions, watch: { sendInitialEvents: true } },
    { lab: { kubeVersion: "1.32" }, watch: { sendInitialEvents: true, resourceVersionMatch: "NotOlderThan" } },
  ]) {
    const lab = openLab(options.lab);
    await put(lab, configMap("a"));
    const watch = openWatch({ ...options.watch, allowWatchBookmarks: true }, lab);
    await settle();
    await put(lab, configMap("b"));
    seen.push(watch.lines());
    const end = watch.events.find(({ type }) => type === "BOOKMARK");
    if (end !== undefined) assert.deepEqual(end.object.metadata.annotations, { "k8s.io/initial-events-end": "true" });
    watch.stop.abort();
    await watch.done;
  }
  assert.deepEqual(seen, [
    ["ADDED a 2", "ADDED b 3"],
    ["ADDED a 2", "BOOKMARK 2", "ADDED b 3"],
  ]);
});

test("watch: a reader that stops early leaves nothing behind", async () => {
  const lab = openLab();
  for (const name of ["a", "b", "c"]) await put(lab, configMap(name));
  const options = { allowWatchBookmarks: true, timeoutSeconds: 600 };
  for await (const _ of lab.registry.store(CONFIG_MAPS).watch("default", options, new AbortController().signal)) break;
  assert.deepEqual([lab.clock.sleeping, lab.storage.watcherCount], [0, 0]);
});

test("watch: a watch that is not read is ended, and can resume where it was", async () => {
  const lab = openLab({ storage: { watchBacklog: { changes: 5 } } });
  const reader = lab.registry
    .store(CONFIG_MAPS)
    .watch("default", { resourceVersion: "1" }, new AbortController().signal)
    [Symbol.asyncIterator]();
  const first = reader.next();
  await settle();
  // Writes synchronously, so that the watch cannot run in between.
  const entries = Array.from({ length: 20 }, (_, i) =>
    lab.storage.create(`/registry/configmaps/default/c${i}`, configMap(`c${i}`)),
  );
  await Promise.all(entries);
  const seen = [await first];
  for (let next = await reader.next(); next.done !== true; next = await reader.next()) seen.push(next);
  assert.ok(seen.length < 20);
  const last = seen.at(-1)?.value.object.metadata.resourceVersion;
  const rest = openWatch({ resourceVersion: last }, lab);
  await settle();
  assert.equal(rest.events.length, 20 - seen.length);
  rest.stop.abort();
  await rest.done;
});
