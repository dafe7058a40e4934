import { describe, expect, test } from "vitest";
import { parseJson } from "../../../../src/staging/apimachinery/scheme/json-syntax.js";
import { decodeRequestBody } from "../../../../src/staging/apimachinery/scheme/request.js";
import type { KindRef } from "../../../../src/staging/apimachinery/scheme/schema.js";

const core = (kind: string): KindRef => ({ group: "", version: "v1", kind, schema: kind });
const LEASE: KindRef = { group: "coordination.k8s.io", version: "v1", kind: "Lease", schema: "Lease" };

/** Checked against sigs.k8s.io/json with the same structs. */
const STRICT: [string, KindRef, string, string][] = [
  [
    "a key twice",
    core("Node"),
    '{"spec":{"unschedulable":false,"unschedulable":true}}',
    'duplicate field "spec.unschedulable"',
  ],
  [
    "a duplicate key in a map",
    core("Node"),
    '{"metadata":{"labels":{"a.b":"1","a.b":"2"}}}',
    'duplicate field "metadata.labels.a.b"',
  ],
  ["three times counts once", core("Node"), '{"kind":"Node","kind":"Node","kind":"Node"}', 'duplicate field "kind"'],
  [
    "unknown fields, then duplicate keys",
    core("Pod"),
    '{"x":1,"spec":{"y":{"z":1},"containers":[{"name":"c","q":null,"name":"c"}]}}',
    'unknown field "x", unknown field "spec.y", unknown field "spec.containers[0].q", duplicate field "spec.containers[0].name"',
  ],
  [
    "embedded structs add no level",
    core("Pod"),
    '{"spec":{"volumes":[{"emptyDir":{"no":1}}]}}',
    'unknown field "spec.volumes[0].emptyDir.no"',
  ],
  ["names are case-sensitive", core("Node"), '{"Spec":{}}', 'unknown field "Spec"'],
  [
    "a colon in a string is not a key",
    core("Node"),
    '{"metadata":{"annotations":{"a":"{\\"b\\":\\\\"}},"q":1}',
    'unknown field "q"',
  ],
];

describe("fieldValidation", () => {
  for (const [what, kind, text, problems] of STRICT) {
    test(`Strict: ${what}`, () => {
      const message = `${kind.kind} in version "v1" cannot be handled as a ${kind.kind}: strict decoding error: ${problems}`;
      expect(() => decodeRequestBody(text, kind, "Strict")).toThrow(expect.objectContaining({ code: 400, message }));
    });
    test(`Warn: ${what}`, () => {
      expect(decodeRequestBody(text, kind, "Warn").warnings.join(", ")).toBe(problems);
    });
    test(`Ignore: ${what}`, () => {
      expect(decodeRequestBody(text, kind, "Ignore").warnings).toEqual([]);
    });
  }

  test("a valid body has no problems", () => {
    const text =
      '{"metadata":{"name":"n","managedFields":[{"fieldsV1":{"f:a":{"k:{\\"x\\":1}":{}}}}]},"spec":{"taints":[]}}';
    expect(decodeRequestBody(text, core("Node"), "Strict").warnings).toEqual([]);
  });
});

test("maps are sorted by key, as Go writes them", () => {
  const text = '{"metadata":{"labels":{"b":"1","a":null}},"status":{"capacity":{"pods":"1","cpu":"2"}}}';
  const { object } = decodeRequestBody(text, core("Node"));
  const { labels } = object.metadata;
  const { capacity } = object["status"] as { capacity: object };
  expect(JSON.stringify({ labels, capacity })).toBe('{"labels":{"a":"","b":"1"},"capacity":{"cpu":"2","pods":"1"}}');
});

const WRONG: [string, KindRef, string, string][] = [
  [
    "a string for a bool",
    core("Node"),
    '{"spec":{"unschedulable":"yes"}}',
    "json: cannot unmarshal string into Go struct field NodeSpec.spec.unschedulable of type bool",
  ],
  [
    "a string for a list",
    core("Pod"),
    '{"spec":{"containers":"x"}}',
    "json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type []v1.Container",
  ],
  [
    "a field of a list's element",
    core("Pod"),
    '{"spec":{"containers":[{"image":5}]}}',
    "json: cannot unmarshal number into Go struct field Container.spec.containers.image of type string",
  ],
  [
    "an object for a string",
    core("Pod"),
    '{"metadata":{"name":{}}}',
    "json: cannot unmarshal object into Go struct field ObjectMeta.metadata.name of type string",
  ],
  [
    "a list for a struct",
    core("Pod"),
    '{"spec":[]}',
    "json: cannot unmarshal array into Go struct field Pod.spec of type v1.PodSpec",
  ],
  [
    "a value of a map",
    core("Pod"),
    '{"metadata":{"labels":{"a":1}}}',
    "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string",
  ],
  [
    "a fraction for an integer",
    LEASE,
    '{"spec":{"leaseDurationSeconds":1.5}}',
    "json: cannot unmarshal number 1.5 into Go struct field LeaseSpec.spec.leaseDurationSeconds of type int32",
  ],
  [
    "an integer that is too large",
    LEASE,
    '{"spec":{"leaseDurationSeconds":2147483648}}',
    "json: cannot unmarshal number 2147483648 into Go struct field LeaseSpec.spec.leaseDurationSeconds of type int32",
  ],
  [
    "a number for a time",
    LEASE,
    '{"spec":{"renewTime":5}}',
    "json: cannot unmarshal number into Go struct field LeaseSpec.spec.renewTime of type string",
  ],
  [
    "a bool for a port",
    core("Pod"),
    '{"spec":{"containers":[{"livenessProbe":{"httpGet":{"port":true}}}]}}',
    "json: cannot unmarshal bool into Go struct field HTTPGetAction.spec.containers.livenessProbe.httpGet.port of type int32",
  ],
  [
    "a number for a string that Go names",
    core("Pod"),
    '{"spec":{"restartPolicy":1}}',
    "json: cannot unmarshal number into Go struct field PodSpec.spec.restartPolicy of type string",
  ],
  [
    "the first of two",
    core("Node"),
    '{"spec":{"unschedulable":1,"podCIDR":2}}',
    "json: cannot unmarshal number into Go struct field NodeSpec.spec.unschedulable of type bool",
  ],
  [
    "a bad quantity",
    core("Node"),
    '{"status":{"capacity":{"cpu":"lots"}}}',
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
  ],
  ["base64", core("Secret"), '{"data":{"k":"***"}}', "illegal base64 data at input byte 0"],
  [
    "a kind nobody knows",
    { ...core("Node") },
    '{"kind":"Nod","apiVersion":"v1"}',
    'no kind "Nod" is registered for version "v1" in scheme "pkg/api/legacyscheme/scheme.go:30"',
  ],
];

describe("bodies of the wrong shape", () => {
  for (const [what, kind, text, problem] of WRONG) {
    test(what, () => {
      const sentKind = (JSON.parse(text) as { kind?: string }).kind ?? kind.kind;
      const message = `${sentKind} in version "v1" cannot be handled as a ${kind.kind}: ${problem}`;
      expect(() => decodeRequestBody(text, kind)).toThrow(
        expect.objectContaining({ status: expect.objectContaining({ code: 400, reason: "BadRequest", message }) }),
      );
    });
  }

  const unrecognized: [string, string, string][] = [
    ["", "unexpected end of JSON input", "<empty>"],
    ["{]", "invalid character ']' looking for beginning of object key string", "{]"],
    [
      '"x"',
      'json: cannot unmarshal string into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }',
      "227822",
    ],
    ['{"kind":7}', "json: cannot unmarshal number into Go struct field .kind of type string", '{"kind":7}'],
  ];
  for (const [text, problem, summary] of unrecognized) {
    test(`not even a kind: ${text}`, () => {
      const message = `the object provided is unrecognized (must be of type Node): couldn't get version/kind; json parse error: ${problem} (${summary})`;
      expect(() => decodeRequestBody(text, core("Node"))).toThrow(expect.objectContaining({ code: 400, message }));
    });
  }
});

describe("a text with more values than any stored object", () => {
  test("is refused before it is parsed", () => {
    const text = `{"data":[${"{},".repeat(150_000)}{}]}`;
    expect(() => parseJson(text, (problem) => new Error(problem))).toThrow("exceeded max number of values of 250000");
  });

  test("characters in strings do not count", () => {
    const text = JSON.stringify({ data: "{,[".repeat(200_000) });
    expect(parseJson(text, (problem) => new Error(problem))).toEqual(JSON.parse(text));
  });
});
