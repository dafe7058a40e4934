import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { Serializer } from "../../../../../src/cluster/apiserver/endpoints/responsewriters/serialize.js";
import type { KubeList, KubeObject } from "../../../../../src/staging/apimachinery/api/meta.js";
import { Turns } from "../../../../../src/util/async/turns.js";

const metadata = { name: "a" };
const objects: Readonly<Record<string, KubeObject>> = {
  "kind and apiVersion first": { kind: "ConfigMap", apiVersion: "v1", metadata, data: { x: "1" } },
  "apiVersion before kind": { apiVersion: "v1", kind: "ConfigMap", metadata, data: { x: "1" } },
  "kind and apiVersion last": { metadata, data: { x: "1" }, kind: "ConfigMap", apiVersion: "v1" } as KubeObject,
  "a field without a value": { kind: "ConfigMap", apiVersion: "v1", metadata, immutable: undefined, data: { x: "1" } },
};
const ITEM = '{"metadata":{"name":"a"},"data":{"x":"1"}}';
const WHOLE = '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"data":{"x":"1"}}';

describe("an object's text starts with kind and apiVersion, and omits them in a list", () => {
  for (const [what, object] of Object.entries(objects)) {
    test(what, async () => {
      const serializer = new Serializer();
      assert.equal(String(serializer.object(object, true)), `${WHOLE}\n`);
      assert.equal(String(serializer.object(object)), `${WHOLE}\n`);
      assert.equal(String(serializer.object(object, true)), `${WHOLE}\n`, "the cached text");
      assert.equal(String(serializer.event("ADDED", object)), `{"type":"ADDED","object":${WHOLE}}\n`);
      const list = await serializer.list(listOf([object, object]), new Turns(), () => false);
      assert.ok(list !== undefined);
      const text = Buffer.concat(list.parts).toString();
      assert.equal(text, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{},"items":[${ITEM},${ITEM}]}\n`);
      assert.equal(list.bytes, text.length);
    });
  }
});

test("many watchers share one buffer", () => {
  const serializer = new Serializer();
  const object = { kind: "ConfigMap", apiVersion: "v1", metadata };
  assert.equal(serializer.event("ADDED", object), serializer.event("ADDED", object));
});

test("serialize: a list that is longer than a turn of the cache is encoded once", async () => {
  const items = Array.from({ length: 50 }, (_, i) => ({
    kind: "ConfigMap",
    apiVersion: "v1",
    metadata: { name: `c${i}` },
    data: { filler: "x".repeat(100) },
  }));
  const serializer = new Serializer(1_000);
  const list = async () => (await serializer.list(listOf(items), new Turns(), () => false))?.parts.slice(1, -1) ?? [];
  await list();
  const second = await list();
  for (let i = 0; i < 3; i++) assert((await list()).every((part, at) => part === second[at]));
});

test("serialize: others have their turn within a list, which ends with its reader", async () => {
  const items = Array.from({ length: 100 }, (_, i) => ({
    kind: "ConfigMap",
    apiVersion: "v1",
    metadata: { name: `c${i}` },
  }));
  let now = 0;
  // Each look at the clock takes 1 ms.
  const turns = new Turns({ now: () => now++ });
  let others = 0;
  let isOver = false;
  const other = () => {
    others++;
    if (!isOver) setImmediate(other);
  };
  setImmediate(other);
  const list = await new Serializer().list(listOf(items), turns, () => false);
  isOver = true;
  assert.ok(others >= 10, `${others} turns of others`);
  assert.equal(list?.parts.length, 201);
  assert.equal(await new Serializer().list(listOf(items), turns, () => true), undefined);
});

function listOf(items: readonly KubeObject[]): KubeList {
  return { kind: "ConfigMapList", apiVersion: "v1", metadata: {}, items };
}
