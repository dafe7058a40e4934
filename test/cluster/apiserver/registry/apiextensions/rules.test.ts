import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { rulesOf, validateRules } from "../../../../../src/cluster/apiserver/registry/apiextensions/cel/rules.js";
import type { JsonSchema, ValidationRule } from "../../../../../src/cluster/apiserver/registry/apiextensions/types.js";
import { growth, repeated } from "../../../../support/growth.js";

/** Cases of k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/validation_test.go. */

const PROPERTIES: Record<string, JsonSchema> = {
  replicas: { type: "integer" },
  min: { type: "integer" },
  name: { type: "string", maxLength: 1_000_000 },
  tags: { type: "array", maxItems: 10, items: { type: "string", maxLength: 10 } },
  labels: { type: "object", additionalProperties: { type: "string" } },
  ports: {
    type: "array",
    maxItems: 10,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    items: { type: "object", properties: { name: { type: "string" }, port: { type: "integer" } } },
  },
  when: { type: "string", format: "date-time" },
  target: { "x-kubernetes-int-or-string": true },
  "a-b.c": { type: "integer" },
  in: { type: "integer" },
};

function withSpec(rules: readonly ValidationRule[], properties = PROPERTIES): JsonSchema {
  return {
    type: "object",
    properties: { spec: { type: "object", properties, "x-kubernetes-validations": rules } },
  };
}

function errorsOf(rules: readonly ValidationRule[], spec: object, old?: object): string[] {
  const object = (one: object) => ({ apiVersion: "v", kind: "K", metadata: { name: "n" }, spec: one });
  const errors = rulesOf(withSpec(rules))?.(object(spec), old && object(old)) ?? [];
  return errors.map(({ field, text }) => `${field}: ${text}`);
}

describe("rules hold, or not", () => {
  const table: readonly (readonly [rule: string, good: object, bad: object])[] = [
    ["self.replicas >= self.min", { replicas: 2, min: 1 }, { replicas: 1, min: 2 }],
    ["has(self.name)", { name: "x" }, {}],
    ["self.name.matches('^[a-z]+$')", { name: "abc" }, { name: "a1" }],
    ["self.tags.all(t, t.startsWith('a'))", { tags: ["a", "ab"] }, { tags: ["a", "b"] }],
    ["self.tags.isSorted()", { tags: ["a", "b"] }, { tags: ["b", "a"] }],
    ["self.labels.all(k, k in self.tags)", { labels: { a: "1" }, tags: ["a"] }, { labels: { b: "1" }, tags: ["a"] }],
    ["self.ports.exists_one(p, p.port == 80)", { ports: [{ name: "a", port: 80 }] }, { ports: [] }],
    [
      "self.when < timestamp('2030-01-01T00:00:00Z')",
      { when: "2026-01-01T00:00:00Z" },
      { when: "2031-01-01T00:00:00Z" },
    ],
    ["type(self.target) == int ? self.target < 10 : self.target == '50%'", { target: "50%" }, { target: 12 }],
    ["self.a__dash__b__dot__c == self.__in__", { "a-b.c": 1, in: 1 }, { "a-b.c": 1, in: 2 }],
    ["self.name.find('[0-9]+') == '12'", { name: "a12b" }, { name: "ab" }],
    [
      "isURL(self.name) && url(self.name).getHost() == 'example.com'",
      { name: "https://example.com/x" },
      { name: "/x" },
    ],
    [
      "self.ports.map(p, p.port).sum() < 100",
      { ports: [{ name: "a", port: 80 }] },
      { ports: [{ name: "a", port: 180 }] },
    ],
  ];
  for (const [rule, good, bad] of table) {
    test(rule, () => {
      assert.deepEqual(validateRules(withSpec([{ rule }]), "s"), []);
      assert.deepEqual(errorsOf([{ rule }], good), []);
      assert.deepEqual(errorsOf([{ rule }], bad), [`spec: Invalid value: "object": failed rule: ${rule}`]);
    });
  }

  test("messages, their expressions, reasons and fields", () => {
    const rule = "self.replicas < 3";
    const of = (more: Partial<ValidationRule>) => errorsOf([{ rule, ...more }], { replicas: 5 });
    assert.deepEqual(of({ message: "too many" }), ['spec: Invalid value: "object": too many']);
    const messageExpression = "'at most 2, not ' + string(self.replicas)";
    assert.deepEqual(of({ messageExpression }), ['spec: Invalid value: "object": at most 2, not 5']);
    assert.deepEqual(of({ message: "no", reason: "FieldValueForbidden", fieldPath: ".replicas" }), [
      "spec.replicas: Forbidden: no",
    ]);
    assert.deepEqual(of({ message: "m", messageExpression: "string(1/0)" }), ['spec: Invalid value: "object": m']);
  });

  test("a rule that fails is an error", () => {
    assert.deepEqual(errorsOf([{ rule: "1 / self.replicas == 1" }], { replicas: 0 }), [
      'spec: Invalid value: "object": division by zero evaluating rule: 1 / self.replicas == 1',
    ]);
  });

  test("a rule with oldSelf holds for updates only", () => {
    const rule = "self.replicas >= oldSelf.replicas";
    assert.deepEqual(errorsOf([{ rule }], { replicas: 1 }), []);
    assert.deepEqual(errorsOf([{ rule }], { replicas: 2 }, { replicas: 1 }), []);
    assert.equal(errorsOf([{ rule }], { replicas: 1 }, { replicas: 2 }).length, 1);
  });

  test("items of a map list have their old values by key", () => {
    const ports: JsonSchema = {
      ...(PROPERTIES["ports"] as JsonSchema),
      items: {
        type: "object",
        properties: { name: { type: "string" }, port: { type: "integer" } },
        "x-kubernetes-validations": [{ rule: "self.port == oldSelf.port", message: "fixed" }],
      },
    };
    const rules = rulesOf(withSpec([{ rule: "true" }], { ports }));
    const object = (list: object[]) => ({ apiVersion: "v", kind: "K", metadata: {}, spec: { ports: list } });
    const errors = rules?.(
      object([
        { name: "b", port: 2 },
        { name: "a", port: 9 },
      ]),
      object([{ name: "a", port: 1 }]),
    );
    assert.deepEqual(
      errors?.map(({ field, text }) => `${field}: ${text}`),
      ['spec.ports[1]: Invalid value: "object": fixed'],
    );
  });

  test("a pattern takes linear time", () => {
    const schema = withSpec([{ rule: "!self.name.matches('^(a+)+$')" }]);
    const rules = rulesOf(schema);
    const check = (name: string) => rules?.({ apiVersion: "v", kind: "K", metadata: {}, spec: { name } }, undefined);
    assert.ok(growth(check, repeated("a", { tail: "!" })) < 8);
  });
});

describe("a definition with rules is refused", () => {
  const hint =
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)";
  const free: JsonSchema = { type: "array", items: { type: "string" } };
  const deep: JsonSchema = { type: "array", items: { type: "array", items: free } };
  const table: readonly (readonly [what: string, schema: JsonSchema, error: RegExp])[] = [
    [
      "it is no expression",
      withSpec([{ rule: "self.replicas >" }]),
      /rule: Invalid value: .*: compilation failed: ERROR/,
    ],
    ["an unknown field", withSpec([{ rule: "self.nothing == 1" }]), /compilation failed: .*nothing/],
    ["an unknown function", withSpec([{ rule: "self.replicas.double() == 2" }]), /compilation failed/],
    [
      "no truth",
      withSpec([{ rule: "self.replicas" }]),
      /rule: Invalid value: .*: cel expression must evaluate to a bool/,
    ],
    [
      "a rule that is too expensive",
      withSpec([{ rule: "self.l.all(a, self.l.all(b, a == b || a != b))" }], { l: free }),
      new RegExp(
        `rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x ${hint.replace(/[()]/g, "\\$&")}`,
      ),
    ],
    [
      "a rule that is applied too often",
      withSpec([{ rule: "true" }], {
        deep: {
          ...deep,
          items: { ...free, items: { type: "string", "x-kubernetes-validations": [{ rule: "self.contains('a')" }] } },
        },
      }),
      /exceeds budget/,
    ],
    [
      "an old value that cannot be found",
      withSpec([{ rule: "true" }], {
        l: {
          type: "array",
          maxItems: 2,
          items: { type: "integer", "x-kubernetes-validations": [{ rule: "self == oldSelf" }] },
        },
      }),
      /oldSelf cannot be used on the uncorrelatable portion of the schema within s\.properties\[spec\]\.properties\[l\]/,
    ],
  ];
  for (const [what, schema, error] of table) {
    test(what, () => {
      const text = validateRules(schema, "s")
        .map((one) => `${one.field}: ${one.text}`)
        .join("\n");
      assert.match(text, error);
    });
  }
});
