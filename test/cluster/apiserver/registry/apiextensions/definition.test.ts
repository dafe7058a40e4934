import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { validateDefinition } from "../../../../../src/cluster/apiserver/registry/apiextensions/definition/validate.js";
import type {
  Definition,
  DefinitionSpec,
  JsonSchema,
} from "../../../../../src/cluster/apiserver/registry/apiextensions/types.js";

/** Rules of k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation_test.go, one row each. */

type Change = (definition: Definition) => Definition;

const SCHEMA: JsonSchema = { type: "object", properties: { spec: { type: "object" } } };

function definition(schema: JsonSchema = SCHEMA): Definition {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "widgets.example.com" },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }],
      conversion: { strategy: "None" },
    },
    status: { storedVersions: ["v1"] },
  };
}

function spec(change: Partial<DefinitionSpec>): Change {
  return (one) => ({ ...one, spec: { ...one.spec, ...change } });
}

function version(change: object): Change {
  return (one) => ({
    ...one,
    spec: { ...one.spec, versions: one.spec.versions.map((version) => ({ ...version, ...change })) },
  });
}

function names(change: object): Change {
  return (one) => ({ ...one, spec: { ...one.spec, names: { ...one.spec.names, ...change } } });
}

/** A schema with this one as its spec. */
function inSpec(schema: JsonSchema): Change {
  return () => definition({ type: "object", properties: { spec: schema } });
}

function errorsOf(change: Change): string[] {
  return validateDefinition(change(definition())).map(({ field, text }) => `${field}: ${text}`);
}

test("a plain definition is valid", () =>
  assert.deepEqual(
    errorsOf((one) => one),
    [],
  ));

const AT = "spec.versions[0].schema.openAPIV3Schema";
const IN_SPEC = `${AT}.properties[spec]`;

const table: readonly (readonly [rule: string, change: Change, error: string])[] = [
  [
    "the name is plural and group",
    (one) => ({ ...one, metadata: { name: "widget.example.com" } }),
    'metadata.name: Invalid value: "widget.example.com": must be spec.names.plural+"."+spec.group',
  ],
  [
    "a group has a dot",
    spec({ group: "example" }),
    'spec.group: Invalid value: "example": should be a domain with at least one dot',
  ],
  ["a scope is needed", spec({ scope: "" }), "spec.scope: Required value"],
  [
    "only two scopes",
    spec({ scope: "World" }),
    'spec.scope: Unsupported value: "World": supported values: "Cluster", "Namespaced"',
  ],
  [
    "one storage version",
    version({ storage: false }),
    'spec.versions: Invalid value: []apiextensions.CustomResourceDefinitionVersion{{Name:"v1", Served:true, Storage:false}}: must have exactly one version marked as storage version',
  ],
  ["a schema", version({ schema: undefined }), `${AT}: Required value: schemas are required`],
  [
    "kind and listKind differ",
    names({ listKind: "Widget" }),
    'spec.names.listKind: Invalid value: "Widget": kind and listKind may not be the same',
  ],
  ["a plural", names({ plural: "" }), "spec.names.plural: Required value"],
  [
    "no unknown fields for all versions",
    spec({ preserveUnknownFields: true }),
    "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
  ],
  [
    "groups of the community are approved",
    (one) => ({ ...one, metadata: { name: "widgets.x.k8s.io" }, spec: { ...one.spec, group: "x.k8s.io" } }),
    'metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111',
  ],
  [
    "a warning needs a deprecated version",
    version({ deprecationWarning: "old" }),
    'spec.versions[0].deprecationWarning: Invalid value: "old": can only be set for deprecated versions',
  ],
  [
    "a replica count below .spec",
    version({ subresources: { scale: { specReplicasPath: ".foo", statusReplicasPath: ".status.n" } } }),
    'spec.versions[0].subresources.scale.specReplicasPath: Invalid value: ".foo": should be a json path under .spec',
  ],
  [
    "a type of a column",
    version({ additionalPrinterColumns: [{ name: "a", type: "object", jsonPath: ".a" }] }),
    'spec.versions[0].additionalPrinterColumns[0].type: Invalid value: "object": must be one of boolean,date,integer,number,string',
  ],
  [
    "the root is an object",
    () => definition({ type: "string" }),
    `${AT}.type: Invalid value: "string": must be object at the root`,
  ],
  ["a field has a type", inSpec({}), `${IN_SPEC}.type: Required value: must not be empty for specified object fields`],
  ["a list has items", inSpec({ type: "array" }), `${IN_SPEC}.items: Required value: must be specified`],
  [
    "types are outside of anyOf",
    inSpec({ type: "object", anyOf: [{ type: "object" }] }),
    `${IN_SPEC}.anyOf[0].type: Forbidden: must be empty to be structural`,
  ],
  [
    "a field of anyOf has a place outside",
    inSpec({ type: "object", anyOf: [{ required: ["a"], properties: { a: { minimum: 1 } } }] }),
    `${IN_SPEC}.properties[a]: Required value: because it is defined in ${IN_SPEC}.anyOf[0].properties[a]`,
  ],
  [
    "either properties or additional ones",
    inSpec({ type: "object", properties: { a: { type: "string" } }, additionalProperties: { type: "string" } }),
    `${IN_SPEC}.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive`,
  ],
  [
    "no references, so no cycles",
    inSpec({ type: "object", $ref: "#/definitions/x" }),
    `${IN_SPEC}.$ref: Forbidden: $ref is not supported`,
  ],
  [
    "no unique items",
    inSpec({ type: "array", items: { type: "string" }, uniqueItems: true }),
    `${IN_SPEC}.uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic`,
  ],
  [
    "a known type",
    inSpec({ type: "null" }),
    `${IN_SPEC}.type: Forbidden: type cannot be set to null, use nullable as an alternative`,
  ],
  [
    "a default is valid",
    inSpec({ type: "object", properties: { n: { type: "integer", default: "x" } } }),
    `${IN_SPEC}.properties[n].default: Invalid value: "string":  in body must be of type integer: "string"`,
  ],
  [
    "a default has no unknown fields",
    inSpec({ type: "object", properties: { a: { type: "string" } }, default: { b: 1 } }),
    `${IN_SPEC}.default: Invalid value: map[string]interface {}{"b":1}: must not have unknown fields`,
  ],
  [
    "the keys of a map are required or have defaults",
    inSpec({
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["k"],
      items: { type: "object", properties: { k: { type: "string" } } },
    }),
    `${IN_SPEC}.items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property`,
  ],
  [
    "the items of a set are atomic",
    inSpec({ type: "array", "x-kubernetes-list-type": "set", items: { type: "object" } }),
    `${IN_SPEC}.items.x-kubernetes-map-type: Invalid value: "null": must be atomic as item of a list with x-kubernetes-list-type=set`,
  ],
  [
    "the metadata is given",
    () => definition({ type: "object", properties: { metadata: { type: "object", required: ["labels"] } } }),
    `${AT}.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified`,
  ],
  [
    "a pattern compiles",
    inSpec({ type: "string", pattern: "(" }),
    `${IN_SPEC}.pattern: Invalid value: "(": must be a valid regular expression, but isn't: error parsing regexp: missing closing ): \`(\``,
  ],
  [
    "a webhook is named",
    spec({ conversion: { strategy: "Webhook", webhook: { conversionReviewVersions: ["v1"] } } }),
    "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
  ],
];

describe("a definition is refused", () => {
  for (const [rule, change, error] of table) {
    test(`rule: ${rule}`, () => {
      const errors = errorsOf(change);
      assert.ok(errors.includes(error), `seen:\n${errors.join("\n")}\nwanted:\n${error}`);
    });
  }

  test("int-or-string may say its types again", () => {
    const port: JsonSchema = {
      "x-kubernetes-int-or-string": true,
      anyOf: [{ type: "integer" }, { type: "string" }],
    };
    assert.deepEqual(errorsOf(inSpec({ type: "object", properties: { port } })), []);
  });
});
