import assert from "node:assert/strict";
import { test } from "vitest";
import type { ResourceStore } from "../../../../../src/cluster/apiserver/registry/rest/registry.js";
import type { KubeList } from "../../../../../src/staging/apimachinery/api/meta.js";
import type { ListOptions } from "../../../../../src/staging/apimachinery/api/options.js";
import { configMap, contextOf, openLab, refusal } from "../rows.js";

async function openWith(count: number) {
  const lab = openLab();
  const store = lab.registry.store("configmaps");
  for (let i = 0; i < count; i++) {
    await store.create(contextOf(), "default", configMap(`l${i}`, {}, { n: String(i), odd: String(i % 2) }));
  }
  return { ...lab, store };
}

function namesOf(list: KubeList): string {
  return list.items.map(({ metadata }) => metadata.name).join(" ");
}

async function listAll(store: ResourceStore, options: ListOptions): Promise<string[]> {
  const chunks: string[] = [];
  let list = await store.list("default", options);
  for (;;) {
    chunks.push(`${namesOf(list)} +${list.metadata.remainingItemCount ?? "?"} @${list.metadata.resourceVersion}`);
    if (list.metadata.continue === undefined) return chunks;
    list = await store.list("default", { ...options, continue: list.metadata.continue });
  }
}

test("list: sorted by name, the stored objects themselves, with the newest revision", async () => {
  const { store, registry } = await openWith(3);
  await registry.store("configmaps").create(contextOf(), "aaa", configMap("z"));
  const list = await store.list("default");
  assert.deepEqual([list.kind, list.apiVersion, list.metadata], ["ConfigMapList", "v1", { resourceVersion: "5" }]);
  assert.equal(namesOf(list), "l0 l1 l2");
  assert.equal(list.items[0], await store.get("default", "l0"));
  assert.equal(namesOf(await store.list(undefined)), "z l0 l1 l2");
  assert.equal(namesOf(await store.list("empty")), "");
});

test("list in chunks: at one revision, in spite of writes in between", async () => {
  const { store } = await openWith(5);
  const first = await store.list("default", { limit: 2 });
  assert.deepEqual(first.metadata, {
    resourceVersion: "6",
    continue: Buffer.from('{"v":"meta.k8s.io/v1","rv":6,"start":"l1\\u0000"}').toString("base64url"),
    remainingItemCount: 3,
  });
  await store.create(contextOf(), "default", configMap("l2a"));
  await store.delete(contextOf(), "default", "l4");
  const token = first.metadata.continue ?? "";
  const second = await store.list("default", { limit: 2, continue: token });
  assert.deepEqual(
    [namesOf(second), second.metadata.resourceVersion, second.metadata.remainingItemCount],
    ["l2 l3", "6", 1],
  );
  const rest = await store.list("default", { continue: second.metadata.continue ?? "" });
  assert.deepEqual([namesOf(rest), rest.metadata], ["l4", { resourceVersion: "6" }]);
});

test("list in chunks with a selector: full chunks, without a remaining count", async () => {
  const { store } = await openWith(260);
  const chunks = await listAll(store, { limit: 50, labelSelector: "odd=1" });
  assert.deepEqual(
    chunks.map((chunk) => chunk.split(" +")[0]?.split(" ").length),
    [50, 50, 30],
  );
  assert.ok(chunks.every((chunk) => chunk.endsWith("+? @261")));
  assert.deepEqual(await listAll(store, { limit: 2, labelSelector: "n in (0,7,99)" }), [
    "l0 l7 +? @261",
    "l99 +? @261",
  ]);
});

test("list: by name is one look-up with the same result", async () => {
  const { store } = await openWith(3);
  for (const [fieldSelector, want] of [
    ["metadata.name=l1", "l1"],
    ["metadata.name=l1,metadata.namespace=other", ""],
    ["metadata.name=nope", ""],
    ["metadata.name!=l1", "l0 l2"],
  ] as const) {
    assert.equal(namesOf(await store.list("default", { fieldSelector })), want);
    assert.equal(namesOf(await store.list(undefined, { fieldSelector })), want);
  }
});

/** options, then the names and the list's resourceVersion; l1 was changed at 7 after the five creations 2 to 6 */
const VERSIONS: readonly [ListOptions, string][] = [
  [{ resourceVersion: "0" }, "l0 l1 l2 l3 l4 @7"],
  [{ resourceVersion: "0", limit: 2 }, "l0 l1 l2 l3 l4 @7"],
  [{ resourceVersion: "5" }, "l0 l1 l2 l3 l4 @7"],
  [{ resourceVersion: "5", resourceVersionMatch: "NotOlderThan" }, "l0 l1 l2 l3 l4 @7"],
  [{ resourceVersion: "5", resourceVersionMatch: "NotOlderThan", limit: 2 }, "l0 l1 @7"],
  [{ resourceVersion: "5", resourceVersionMatch: "Exact" }, "l0 l1 l2 l3 @5"],
  [{ resourceVersion: "5", limit: 2 }, "l0 l1 @5"],
  [{ resourceVersion: "7", resourceVersionMatch: "Exact", labelSelector: "later" }, "l1 @7"],
  [{ resourceVersion: "6", resourceVersionMatch: "Exact", labelSelector: "later" }, " @6"],
  [{ limit: -1 }, "l0 l1 l2 l3 l4 @7"],
];
for (const [options, want] of VERSIONS) {
  test(`list: ${JSON.stringify(options)} gives ${want}`, async () => {
    const { store } = await openWith(5);
    await store.update(contextOf(), "default", "l1", undefined, () => configMap("l1", {}, { later: "1" }));
    const list = await store.list("default", options);
    assert.equal(`${namesOf(list)} @${list.metadata.resourceVersion}`, want);
  });
}

const MATCH = 'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch:';
const REFUSED: readonly [ListOptions, number, string][] = [
  [
    { resourceVersion: "0", resourceVersionMatch: "Exact" },
    422,
    `${MATCH} Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"`,
  ],
  [
    { resourceVersionMatch: "Exact" },
    422,
    `${MATCH} Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided`,
  ],
  [
    { resourceVersion: "5", resourceVersionMatch: "Roughly" },
    422,
    `${MATCH} Unsupported value: "Roughly": supported values: "Exact", "NotOlderThan", ""`,
  ],
  [
    { resourceVersion: "abc" },
    500,
    'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax',
  ],
  [
    { continue: "xyz" },
    400,
    "invalid continue token: continue key is not valid: invalid character 'Ç' looking for beginning of value",
  ],
  [{ continue: "x=" }, 400, "invalid continue token: continue key is not valid: illegal base64 data at input byte 1"],
  [
    { continue: Buffer.from('{"v":"v9","rv":3,"start":"a"}').toString("base64url") },
    400,
    'invalid continue token: continue key is not valid: server does not recognize this encoded version "v9"',
  ],
  [
    { continue: Buffer.from('{"v":"meta.k8s.io/v1","rv":3,"start":"../x"}').toString("base64url") },
    400,
    "invalid continue token: continue key is not valid: ../x",
  ],
  [
    {
      continue: Buffer.from('{"v":"meta.k8s.io/v1","rv":3,"start":"a\\u0000"}').toString("base64url"),
      resourceVersion: "5",
    },
    400,
    "specifying resource version is not allowed when using continue",
  ],
];
for (const [options, code, message] of REFUSED) {
  test(`list: ${JSON.stringify(options)} is refused`, async () => {
    const status = await refusal(openLab().registry.store("configmaps").list("default", options));
    assert.deepEqual([status.code, status.message], [code, message]);
  });
}

test("list and get: a future resourceVersion is 504 after 3 s, unless it is reached", async () => {
  const { store, clock, storage } = await openWith(1);
  for (const call of [() => store.list("default", { resourceVersion: "9" }), () => store.get("default", "l0", "9")]) {
    const waiting = refusal(call());
    await clock.advance(2999);
    assert.equal(clock.sleeping, 1);
    await clock.advance(1);
    const status = await waiting;
    assert.deepEqual(
      [status.code, status.reason, status.message],
      [504, "Timeout", "Timeout: Too large resource version: 9, current: 2"],
    );
    assert.deepEqual(status.details, {
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
      retryAfterSeconds: 1,
    });
  }
  const patient = store.get("default", "l0", "3");
  await clock.advance(1000);
  await store.create(contextOf(), "default", configMap("l1"));
  assert.equal((await patient).metadata.name, "l0");
  assert.deepEqual([clock.sleeping, storage.watcherCount], [0, 0]);
  assert.equal((await store.get("default", "l0", "1")).metadata.name, "l0");
});

test("list: a token and an exact revision that are too old are 410, the token with a new one", async () => {
  const { store, clock } = await openWith(3);
  const first = await store.list("default", { limit: 1 });
  const token = first.metadata.continue ?? "";
  await store.create(contextOf(), "default", configMap("l00"));
  await clock.advance(30_000);
  assert.equal(namesOf(await store.list("default", { limit: 1, continue: token })), "l1");
  await clock.advance(11 * 60_000);
  const status = await refusal(store.list("default", { limit: 1, continue: token }));
  assert.deepEqual([status.code, status.reason], [410, "Expired"]);
  assert.match(
    status.message ?? "",
    /^The provided continue parameter is too old to display a consistent list result\./,
  );
  const fresh = status.metadata.continue ?? "";
  assert.equal(Buffer.from(fresh, "base64url").toString(), '{"v":"meta.k8s.io/v1","rv":-1,"start":"l0\\u0000"}');
  const rest = await store.list("default", { continue: fresh });
  assert.deepEqual([namesOf(rest), rest.metadata.resourceVersion], ["l00 l1 l2", "5"]);
  const exact = await refusal(store.list("default", { resourceVersion: "4", resourceVersionMatch: "Exact" }));
  assert.deepEqual([exact.code, exact.message], [410, "The resourceVersion for the provided list is too old."]);
});
