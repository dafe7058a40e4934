import { describe, expect, test } from "vitest";
import { swaggerDocument } from "../../../../src/cluster/apiserver/openapi/swagger.js";
import { encodeSwagger } from "../../../../src/cluster/apiserver/openapi/swagger-protobuf.js";
import { resourcesFor } from "../../../../src/cluster/apiserver/registry/table.js";
import { BYTES, Reader } from "../../../../src/staging/apimachinery/protobuf/reader.js";

const document = swaggerDocument(resourcesFor("1.25"), { title: "Kubernetes", version: "v1.25.0" });

describe("the OpenAPI v2 document", () => {
  test("every reference leads to a definition, and nothing of v3 is left", () => {
    const text = JSON.stringify(document);
    const references = [...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, target = ""]) => target);
    expect(references.length).toBeGreaterThan(500);
    for (const target of new Set(references)) {
      expect(document.definitions).toHaveProperty([target.replace("#/definitions/", "")]);
    }
    expect(text).not.toContain("#/components/");
    expect(text).not.toContain('"allOf":[');
  });

  test("reports to kubectl that pods support dry runs", () => {
    const patch = document.paths["/api/v1/namespaces/{namespace}/pods/{name}"]?.["patch"];
    expect(patch).toMatchObject({ "x-kubernetes-group-version-kind": { group: "", kind: "Pod", version: "v1" } });
    expect(patch?.["parameters"]).toContainEqual({ name: "dryRun", in: "query", type: "string", uniqueItems: true });
  });

  test("keeps descriptions of references, merge keys and required fields", () => {
    const spec = document.definitions["io.k8s.api.core.v1.PodSpec"];
    expect(spec?.["required"]).toEqual(["containers"]);
    expect(spec?.["properties"]).toMatchObject({
      containers: {
        items: { $ref: "#/definitions/io.k8s.api.core.v1.Container" },
        "x-kubernetes-patch-merge-key": "name",
      },
      securityContext: { $ref: "#/definitions/io.k8s.api.core.v1.PodSecurityContext", description: expect.any(String) },
    });
  });
});

describe("the same as protobuf", () => {
  const fields = fieldsOf(encodeSwagger(document));
  const text = (number: number) => fields.find((one) => one.number === number)?.bytes.toString();

  test("has the document's fields at gnostic's numbers", () => {
    expect(fields.map(({ number }) => number)).toEqual([1, 2, 8, 9]);
    expect(text(1)).toBe("2.0");
    expect(text(2)).toContain("Kubernetes");
  });

  for (const [what, number, inner, names] of [
    ["paths", 8, 2, Object.keys(document.paths)],
    ["definitions", 9, 1, Object.keys(document.definitions)],
  ] as const) {
    test(`${what}: name by name`, () => {
      const entries = fieldsOf(fields.find((one) => one.number === number)?.bytes ?? Buffer.alloc(0));
      expect(entries.every((one) => one.number === inner)).toBe(true);
      expect(entries.map((one) => fieldsOf(one.bytes)[0]?.bytes.toString())).toEqual(names);
    });
  }

  test("a kind has properties and no type, which the oldest clients would read as a map", () => {
    const definitions = fieldsOf(fields.find((one) => one.number === 9)?.bytes ?? Buffer.alloc(0));
    const pod = definitions.find(({ bytes }) => fieldsOf(bytes)[0]?.bytes.toString() === "io.k8s.api.core.v1.Pod");
    const numbers = fieldsOf(fieldsOf(pod?.bytes ?? Buffer.alloc(0))[1]?.bytes ?? Buffer.alloc(0)).map(
      (one) => one.number,
    );
    expect(numbers).toContain(25);
    expect(numbers).not.toContain(22);
  });
});

function fieldsOf(bytes: Buffer): { readonly number: number; readonly bytes: Buffer }[] {
  const reader = new Reader(bytes);
  const found: { number: number; bytes: Buffer }[] = [];
  while (!reader.isAtEnd) {
    const { number, wireType } = reader.tag();
    if (wireType === BYTES) found.push({ number, bytes: reader.chunk() });
    else reader.skip(wireType);
  }
  return found;
}
