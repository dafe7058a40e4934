import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { Serializer } from "../../../../../src/cluster/apiserver/endpoints/responsewriters/serialize.js";
import type { KubeObject } from "../../../../../src/staging/apimachinery/api/meta.js";

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
    test(what, () => {
      const serializer = new Serializer();
      assert.equal(String(serializer.object(object, true)), `${WHOLE}\n`);
      assert.equal(String(serializer.object(object)), `${WHOLE}\n`);
      assert.equal(String(serializer.object(object, true)), `${WHOLE}\n`, "the cached text");
      assert.equal(String(serializer.event("ADDED", object)), `{"type":"ADDED","object":${WHOLE}}\n`);
      const list = serializer.list({ kind: "ConfigMapList", apiVersion: "v1", metadata: {}, items: [object, object] });
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

test("serialize: a list that is longer than a turn of the cache is encoded once", () => {
  const items = Array.from({ length: 50 }, (_, i) => ({
    kind: "ConfigMap",
    apiVersion: "v1",
    metadata: { name: `c${i}` },
    data: { filler: "x".repeat(100) },
  }));
  const serializer = new Serializer(1_000);
  const list = () =>
    serializer.list({ kind: "ConfigMapList", apiVersion: "v1", metadata: {}, items }).parts.slice(1, -1);
  list();
  const second = list();
  for (let i = 0; i < 3; i++) assert(list().every((part, at) => part === second[at]));
});
