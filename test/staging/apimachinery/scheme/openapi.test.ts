import { expect, test } from "vitest";
import fieldTexts from "../../../../fixtures/scheme/field-texts.json" with { type: "json" };
import { openApiDocument } from "../../../../src/cluster/apiserver/openapi/document.js";
import { RESOURCES } from "../../../../src/cluster/apiserver/registry/table.js";
import { typeNames, typeSchema } from "../../../../src/staging/apimachinery/scheme/catalogue.js";

type Json = Readonly<Record<string, unknown>>;

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Json>> };
}

const GROUPS = [...new Set(RESOURCES.map(({ group }) => group))];

function documentOf(group: string, version = "v1"): Document {
  return openApiDocument(group, version, RESOURCES) as unknown as Document;
}

function references(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) =>
    key === "$ref" && typeof item === "string" ? [item] : references(item),
  );
}

test.each(GROUPS)("group '%s': every reference leads to a definition", (group) => {
  const document = documentOf(group);
  for (const reference of new Set(references(document))) {
    expect(document.components.schemas).toHaveProperty([reference.replace("#/components/schemas/", "")]);
  }
});

test.each(GROUPS)("group '%s': kubectl finds each kind by its path, and PATCH supports field validation", (group) => {
  for (const { version, resource, kind, namespaced, verbs } of RESOURCES.filter((row) => row.group === group)) {
    const { paths } = documentOf(group, version);
    const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
    const collection = `${root}/${namespaced ? "namespaces/{namespace}/" : ""}${resource}`;
    const gvk = { group, kind, version };
    if (verbs.includes("list"))
      expect(paths[collection]?.get).toMatchObject({ "x-kubernetes-group-version-kind": gvk });
    if (!verbs.includes("patch")) continue;
    const patch = paths[`${collection}/{name}`]?.patch;
    expect(patch).toMatchObject({ "x-kubernetes-group-version-kind": gvk });
    expect(patch?.parameters).toContainEqual(expect.objectContaining({ name: "fieldValidation", in: "query" }));
    expect(patch?.parameters).toContainEqual(expect.objectContaining({ name: "dryRun", in: "query" }));
  }
});

test("definitions carry kinds, required fields and merge keys", () => {
  const { schemas } = documentOf("").components;
  expect(schemas["io.k8s.api.core.v1.Pod"]).toMatchObject({
    "x-kubernetes-group-version-kind": [{ group: "", kind: "Pod", version: "v1" }],
  });
  expect(schemas["io.k8s.api.core.v1.PodList"]).toMatchObject({ required: ["items"] });
  expect(schemas["io.k8s.api.core.v1.PodSpec"]).toMatchObject({
    required: ["containers"],
    properties: {
      volumes: { "x-kubernetes-patch-strategy": "merge,retainKeys", "x-kubernetes-patch-merge-key": "name" },
      containers: { type: "array", items: { allOf: [{ $ref: "#/components/schemas/io.k8s.api.core.v1.Container" }] } },
    },
  });
  // Embedded structs add no level in JSON.
  expect(schemas["io.k8s.api.core.v1.Volume"]).toHaveProperty("properties.emptyDir");
});

// In lists of fields, kubectl shows "<no description>" for a field without one, even if its type has a description.
test.each(GROUPS)("group '%s': kubectl explain has a description for every field", (group) => {
  const { schemas } = documentOf(group).components;
  const bare = Object.entries(schemas).flatMap(([name, { properties = {} }]) =>
    Object.entries(properties as Readonly<Record<string, Json>>)
      .filter(([, { description = "" }]) => description === "")
      .map(([field]) => `${name}.${field}`),
  );
  expect(bare).toEqual([]);
});

test("every text for fields of a name is used", () => {
  const bare = typeNames().flatMap((name) => typeSchema(name).fields.filter(({ description }) => !description));
  const names = new Set(bare.map(({ name }) => name));
  expect(Object.keys(fieldTexts).filter((name) => !names.has(name))).toEqual([]);
});
