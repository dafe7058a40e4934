import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { mergeApplied } from "../../../../../src/cluster/apiserver/registry/apiextensions/customresource/apply.js";
import { withDefaults } from "../../../../../src/cluster/apiserver/registry/apiextensions/schema/defaulting.js";
import { hasFormat } from "../../../../../src/cluster/apiserver/registry/apiextensions/schema/formats.js";
import { validateListTypes } from "../../../../../src/cluster/apiserver/registry/apiextensions/schema/list-type.js";
import { prune } from "../../../../../src/cluster/apiserver/registry/apiextensions/schema/prune.js";
import { validateValue } from "../../../../../src/cluster/apiserver/registry/apiextensions/schema/value-validation.js";
import type { JsonSchema } from "../../../../../src/cluster/apiserver/registry/apiextensions/types.js";
import { growth, repeated } from "../../../../support/growth.js";

function object(properties: Record<string, JsonSchema>, more: JsonSchema = {}): JsonSchema {
  return { type: "object", properties, ...more };
}

const TEXT: JsonSchema = { type: "string" };
const KEEP: JsonSchema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

/** Cases of .../pkg/apiserver/schema/pruning/algorithm_test.go. */
describe("pruning", () => {
  const table: readonly (readonly [
    what: string,
    schema: JsonSchema,
    value: unknown,
    kept: unknown,
    unknown: string,
  ])[] = [
    ["an unknown field", object({ a: TEXT }), { a: "x", b: 1 }, { a: "x" }, "b"],
    ["nothing", object({ a: TEXT }), { a: "x" }, { a: "x" }, ""],
    [
      "meta fields stay",
      object({}),
      { apiVersion: "v", kind: "K", metadata: { x: 1 } },
      { apiVersion: "v", kind: "K", metadata: { x: 1 } },
      "",
    ],
    [
      "below a list",
      object({ l: { type: "array", items: object({ a: TEXT }) } }),
      { l: [{ a: "x", b: 1 }] },
      { l: [{ a: "x" }] },
      "l[0].b",
    ],
    ["preserved", object({ p: KEEP }), { p: { a: { b: 1 } } }, { p: { a: { b: 1 } } }, ""],
    [
      "known fields below preserved ones",
      object({ p: { ...KEEP, properties: { a: object({}) } } }),
      { p: { a: { b: 1 }, c: 2 } },
      { p: { a: {}, c: 2 } },
      "p.a.b",
    ],
    [
      "values of a map",
      object({ m: { type: "object", additionalProperties: object({ a: TEXT }) } }),
      { m: { k: { a: "x", b: 1 } } },
      { m: { k: { a: "x" } } },
      "m.k.b",
    ],
    [
      "an embedded resource",
      object({ t: { ...object({ spec: KEEP }), "x-kubernetes-embedded-resource": true } }),
      { t: { kind: "P", apiVersion: "v1", metadata: {}, spec: { a: 1 }, x: 1 } },
      { t: { kind: "P", apiVersion: "v1", metadata: {}, spec: { a: 1 } } },
      "t.x",
    ],
    [
      "a name of Object's prototype",
      object({ a: TEXT }),
      JSON.parse('{"a":"x","__proto__":1,"toString":2}'),
      { a: "x" },
      "__proto__ toString",
    ],
  ];
  for (const [what, schema, value, kept, unknown] of table) {
    test(what, () => {
      const before = JSON.stringify(value);
      const paths: string[] = [];
      assert.deepEqual(
        prune(value, schema, true, (path) => paths.push(path)),
        kept,
      );
      assert.equal(paths.join(" "), unknown);
      assert.equal(JSON.stringify(value), before, "the value is changed");
    });
  }
});

/** Cases of .../pkg/apiserver/schema/defaulting/algorithm_test.go. */
describe("defaults", () => {
  const a: JsonSchema = { type: "string", default: "A" };
  const table: readonly (readonly [what: string, schema: JsonSchema, value: unknown, wanted: unknown])[] = [
    ["an absent field", object({ a }), {}, { a: "A" }],
    ["a given field", object({ a }), { a: "B" }, { a: "B" }],
    ["a null that is not allowed", object({ a }), { a: null }, { a: "A" }],
    ["a null that is allowed", object({ a: { ...a, nullable: true } }), { a: null }, { a: null }],
    ["a null without a default", object({ a: TEXT }), { a: null }, {}],
    ["below an absent object", object({ o: object({ a }) }), {}, {}],
    ["below a default", object({ o: object({ a }, { default: {} }) }), {}, { o: { a: "A" } }],
    [
      "items",
      object({ l: { type: "array", items: object({ a }) } }),
      { l: [{}, { a: "B" }] },
      { l: [{ a: "A" }, { a: "B" }] },
    ],
    [
      "values of a map",
      object({ m: { type: "object", additionalProperties: object({ a }) } }),
      { m: { k: {} } },
      { m: { k: { a: "A" } } },
    ],
    [
      "false and 0 are values",
      object({ b: { type: "boolean", default: true }, n: { type: "integer", default: 1 } }),
      { b: false, n: 0 },
      { b: false, n: 0 },
    ],
  ];
  for (const [what, schema, value, wanted] of table) {
    test(what, () => {
      const before = JSON.stringify(value);
      assert.deepEqual(withDefaults(value, schema), wanted);
      assert.equal(JSON.stringify(value), before, "the value is changed");
    });
  }
});

/** The words of k8s.io/kube-openapi/pkg/validation/errors/schema.go. */
describe("validation", () => {
  const table: readonly (readonly [schema: JsonSchema, value: unknown, errors: string])[] = [
    [{ type: "integer" }, "x", 'x: Invalid value: "string": x in body must be of type integer: "string"'],
    [{ type: "integer" }, 1.5, 'x: Invalid value: "number": x in body must be of type integer: "number"'],
    [{ type: "number" }, 1, ""],
    [{ type: "string" }, null, 'x: Invalid value: "null": x in body must be of type string: "null"'],
    [{ type: "string", nullable: true }, null, ""],
    [{ "x-kubernetes-int-or-string": true }, "a", ""],
    [
      { "x-kubernetes-int-or-string": true },
      true,
      'x: Invalid value: "boolean": x in body must be of type integer,string: "boolean"',
    ],
    [{ type: "integer", minimum: 1 }, 0, "x: Invalid value: 0: x in body should be greater than or equal to 1"],
    [
      { type: "integer", maximum: 1, exclusiveMaximum: true },
      1,
      "x: Invalid value: 1: x in body should be less than 1",
    ],
    [{ type: "integer", multipleOf: 3 }, 4, "x: Invalid value: 4: x in body should be a multiple of 3"],
    [{ type: "string", minLength: 2 }, "é", 'x: Invalid value: "é": x in body should be at least 2 chars long'],
    [{ type: "string", maxLength: 2 }, "abc", "x: Too long: may not be longer than 2"],
    [{ type: "string", pattern: "^a$" }, "b", "x: Invalid value: \"b\": x in body should match '^a$'"],
    [
      { type: "string", format: "date-time" },
      "now",
      'x: Invalid value: "now": x in body must be of type date-time: "now"',
    ],
    [{ type: "string", format: "mine" }, "now", ""],
    [{ type: "string", enum: ["a", "b"] }, "c", 'x: Unsupported value: "c": supported values: "a", "b"'],
    [{ type: "array", items: TEXT, maxItems: 1 }, ["a", "b"], "x: Too many: 2: must have at most 1 items"],
    [
      { type: "array", items: TEXT },
      ["a", 1],
      'x[1]: Invalid value: "integer": x[1] in body must be of type string: "integer"',
    ],
    [object({ a: TEXT }, { required: ["a"] }), {}, "x.a: Required value"],
    [
      { type: "object", additionalProperties: TEXT, maxProperties: 1 },
      { a: "1", b: "2" },
      "x: Too many: 2: must have at most 1 items",
    ],
    [{ type: "string", not: { enum: ["a"] } }, "a", '<nil>: Invalid value: "": "x" must not validate the schema (not)'],
    [
      { type: "integer", anyOf: [{ minimum: 5 }, { maximum: 1 }] },
      3,
      '<nil>: Invalid value: "": "x" must validate at least one schema (anyOf); x: Invalid value: 3: x in body should be greater than or equal to 5',
    ],
    [
      { type: "integer", oneOf: [{ minimum: 1 }, { minimum: 2 }] },
      3,
      '<nil>: Invalid value: "": "x" must validate one and only one schema (oneOf). Found 2 valid alternatives',
    ],
  ];
  for (const [schema, value, errors] of table) {
    test(`${JSON.stringify(schema)}: ${JSON.stringify(value)}`, () => {
      const seen = validateValue({ x: value }, object({ x: schema })).map(({ field, text }) => `${field}: ${text}`);
      assert.equal(seen.join("; "), errors);
    });
  }

  test("a pattern takes linear time", () => {
    const schema: JsonSchema = { type: "string", pattern: "^(a+)+$" };
    assert.ok(growth((text) => validateValue(text, schema), repeated("a", { tail: "!" })) < 8);
  });
});

describe("formats", () => {
  const table: readonly (readonly [format: string, good: string, bad: string])[] = [
    ["uri", "https://example.com/x", "not a uri"],
    ["email", "a@example.com", "a"],
    ["hostname", "web-1.example.com", "-web"],
    ["ipv4", "10.0.0.1", "10.0.0.256"],
    ["ipv6", "::1", "10.0.0.1"],
    ["cidr", "10.0.0.0/8", "10.0.0.0/33"],
    ["mac", "01:23:45:67:89:ab", "01:23"],
    ["uuid", "a3bb189e-8bf9-3888-9912-ace4e6543002", "x"],
    ["isbn", "0321751043", "0321751044"],
    ["creditcard", "4111 1111 1111 1111", "4111 1111 1111 1112"],
    ["hexcolor", "#ffffff", "#ffff"],
    ["byte", "YQ==", "YQ="],
    ["date", "2026-02-28", "2026-02-30"],
    ["duration", "22 ns", "long"],
    ["date-time", "2014-12-15T19:30:20.000Z", "2014-12-15"],
  ];
  for (const [format, good, bad] of table) {
    test(format, () => assert.deepEqual([hasFormat(good, format), hasFormat(bad, format)], [true, false]));
  }
});

describe("list types", () => {
  const set: JsonSchema = { type: "array", "x-kubernetes-list-type": "set", items: TEXT };
  const map: JsonSchema = {
    type: "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["k"],
    items: object({ k: TEXT, v: TEXT }),
  };
  const table: readonly (readonly [schema: JsonSchema, list: readonly unknown[], error: string])[] = [
    [set, ["a", "b", "a", "a"], 'l[2]: Duplicate value: "a"'],
    [set, ["a", "b"], ""],
    [map, [{ k: "a" }, { k: "a", v: "x" }], 'l[1]: Duplicate value: map[string]interface {}{"k":"a"}'],
    [map, [{ k: "a" }, 1], "l[1]: Invalid value: 1: must be an object for an array of list-type map"],
  ];
  for (const [schema, list, error] of table) {
    test(JSON.stringify(list), () => {
      const errors = validateListTypes({ l: list }, object({ l: schema }));
      assert.equal(errors.map(({ field, text }) => `${field}: ${text}`).join("; "), error);
    });
  }

  test("an applied configuration merges sets and maps, and replaces other lists", () => {
    const schema = object({ set, map, list: { type: "array", items: TEXT } });
    const current = { set: ["a"], map: [{ k: "a", v: "1" }, { k: "b" }], list: ["x"], other: 1 };
    const applied = { set: ["b", "a"], map: [{ k: "c" }, { k: "a", v: "2" }], list: ["y"] };
    assert.deepEqual(mergeApplied(current, applied, schema), {
      set: ["a", "b"],
      map: [{ k: "a", v: "2" }, { k: "b" }, { k: "c" }],
      list: ["y"],
      other: 1,
    });
  });
});
