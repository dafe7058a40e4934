import { expect, test } from "vitest";
import { RESOURCES } from "../../../../src/cluster/apiserver/registry/table.js";

for (const { resource, selectableFields } of RESOURCES) {
  if (selectableFields === undefined) continue;
  test(`${resource}: an object without fields shows which labels a field selector supports`, () => {
    const values = Object.values(selectableFields({ apiVersion: "v1", kind: "", metadata: {} }));
    expect(values.every((value) => typeof value === "string")).toBe(true);
  });
}
