import { expect, test } from "vitest";
import type { KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";
import { Indexer } from "../../../../src/staging/client-go/cache/indexer.js";

const byNode = ({ spec }: KubeObject) => (spec as { readonly nodeName: string }).nodeName;

function pod(name: string, nodeName: string): KubeObject {
  return { apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "default" }, spec: { nodeName } };
}

test("an index follows what is added, changed and deleted, whether it was made before or after", () => {
  const indexer = new Indexer<KubeObject>();
  const names = (nodeName: string) => indexer.byIndex(byNode, nodeName).map(({ metadata }) => metadata.name);
  indexer.set("a", pod("a", "n1"));
  indexer.set("b", pod("b", "n1"));
  expect(names("n1")).toEqual(["a", "b"]);
  indexer.set("c", pod("c", "n2"));
  indexer.set("a", pod("a", "n2"));
  expect([names("n1"), names("n2")]).toEqual([["b"], ["c", "a"]]);
  // A new version keeps the object's place.
  const newer = pod("c", "n2");
  indexer.set("c", newer);
  expect(indexer.byIndex(byNode, "n2")[0]).toBe(newer);
  expect([indexer.delete("b"), indexer.delete("b")]).toEqual([true, false]);
  expect([names("n1"), names("n3"), indexer.size]).toEqual([[], [], 2]);
  expect(indexer.list().map(({ metadata }) => metadata.name)).toEqual(["a", "c"]);
});

test("a list stays as it is while objects change", () => {
  const indexer = new Indexer<KubeObject>();
  indexer.set("a", pod("a", "n1"));
  const [list, found] = [indexer.list(), indexer.byIndex(byNode, "n1")];
  indexer.delete("a");
  expect([list.length, found.length]).toEqual([1, 1]);
});
