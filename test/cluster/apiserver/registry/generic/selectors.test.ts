import assert from "node:assert/strict";
import { test } from "vitest";
import { CONFIG_MAPS } from "../../../../../src/cluster/apiserver/registry/core/config.js";
import { Selector } from "../../../../../src/cluster/apiserver/registry/generic/selection.js";
import { StatusError } from "../../../../../src/staging/apimachinery/errors.js";
import { parseFieldSelector } from "../../../../../src/staging/apimachinery/field-selector.js";
import { parseLabelSelector } from "../../../../../src/staging/apimachinery/label-selector.js";
import { openLab, refusal } from "../rows.js";

const SETS = [{}, { a: "1" }, { a: "2", b: "x" }, { a: "10", in: "y" }, { "example.com/k": "" }] as const;

/** selector, indexes of the matching sets above */
const MATCHES: readonly [string, string][] = [
  ["", "01234"],
  ["a", "123"],
  ["!a", "04"],
  ["a=1", "1"],
  ["a==1", "1"],
  [" a = 1 ", "1"],
  ["a!=1", "0234"],
  ["a in (1,2)", "12"],
  ["a in ( 1 , 10 ),in", "3"],
  ["a notin (1,2)", "034"],
  ["a in ()", ""],
  ["example.com/k in (,x)", "4"],
  ["example.com/k=", "4"],
  ["in in (y)", "3"],
  ["a>1", "23"],
  ["a<10", "12"],
  ["b>1", ""],
  ["a,b=x", "2"],
  ["a=1,b=x", ""],
];
for (const [selector, want] of MATCHES) {
  test(`label selector: "${selector}" matches [${want}]`, () => {
    const matches = parseLabelSelector(selector);
    assert.equal(SETS.flatMap((labels, index) => (matches(labels) ? [index] : [])).join(""), want);
  });
}

const QUALIFIED =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const BAD_LABELS: readonly [string, string][] = [
  ["a===b", "unable to parse requirement: found '=', expected: identifier"],
  ["a=b c", "found 'c', expected: ',' or 'end of string'"],
  ["a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
  ["a,", "found '', expected: identifier after ','"],
  [",a", "found ',', expected: !, identifier, or 'end of string'"],
  ["!", "unable to parse requirement: found '', expected: identifier"],
  ["!a=b", "found '=', expected: ',' or 'end of string'"],
  ["a in 1", "unable to parse requirement: found '1' expected: '('"],
  ["a in (1", "unable to parse requirement: found '', expected: ',' or ')'"],
  ["a in (=", "unable to parse requirement: found '=', expected: ',', ')' or identifier"],
  ["-a", `unable to parse requirement: <nil>: Invalid value: "-a": ${QUALIFIED}`],
  [
    "a=-",
    "unable to parse requirement: values[0][a]: Invalid value: \"-\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
  ],
  [
    "a>x",
    "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer",
  ],
];
for (const [selector, message] of BAD_LABELS) {
  test(`label selector: "${selector}" is refused`, async () => {
    const status = await refusal(() => parseLabelSelector(selector));
    assert.deepEqual([status.code, status.reason, status.message], [400, "BadRequest", message]);
  });
}

test("field selector: terms, operators, escapes", () => {
  assert.deepEqual(parseFieldSelector("a.b=c,,d!=,e==x\\,y\\=\\\\z"), [
    { field: "a.b", operator: "=", value: "c" },
    { field: "d", operator: "!=", value: "" },
    { field: "e", operator: "=", value: "x,y=\\z" },
  ]);
  for (const [text, message] of [
    ["nonsense", "invalid selector: 'nonsense'; can't understand 'nonsense'"],
    ["a=b,x", "invalid selector: 'a=b,x'; can't understand 'x'"],
    ["a=b=c", "invalid field selector: unescaped character in value: 61"],
    ["a=\\b", "invalid field selector: invalid escape sequence: \\b"],
    ["a=\\", "invalid field selector: invalid escape sequence: \\"],
  ] as const) {
    assert.throws(
      () => parseFieldSelector(text),
      (error) => error instanceof StatusError && error.message === message,
    );
  }
});

/** resource, selector, the error message; undefined: it is accepted */
const FIELDS: readonly [string, string, string | undefined][] = [
  ["pods", "metadata.name=a,metadata.namespace=b,spec.nodeName!=c,status.phase=", undefined],
  ["pods", "metadata.uid=x", "field label not supported: metadata.uid"],
  ["nodes", "spec.unschedulable=true", undefined],
  ["nodes", "metadata.namespace=x", "field label not supported: metadata.namespace"],
  ["certificatesigningrequests.certificates.k8s.io", "spec.username=x", "field label not supported: spec.username"],
  ["configmaps", "metadata.name=a", undefined],
  ["configmaps", "data.k=x", '"data.k" is not a known field selector: only "metadata.name", "metadata.namespace"'],
];
for (const [resource, fieldSelector, message] of FIELDS) {
  test(`field selector: ${resource} ${fieldSelector}: ${message ?? "accepted"}`, async () => {
    const store = openLab().registry.store(resource);
    if (message === undefined) await store.list("default", { fieldSelector });
    else assert.equal((await refusal(store.list("default", { fieldSelector }))).message, message);
  });
}

test("a field selector with many terms reads each field once", () => {
  const selector = new Selector(CONFIG_MAPS);
  const readsOf = (count: number) => {
    let reads = 0;
    const metadata = {
      get name() {
        reads++;
        return "x";
      },
    };
    const fieldSelector = Array.from({ length: count }, (_, i) => `metadata.name!=n${i}`).join(",");
    assert.equal(selector.select({ fieldSelector })?.matches({ apiVersion: "v1", kind: "ConfigMap", metadata }), true);
    return reads;
  };
  assert.equal(readsOf(4000), readsOf(1000));
  const matches = (fieldSelector: string) =>
    selector.select({ fieldSelector })?.matches({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "x" } });
  assert.deepEqual(
    ["metadata.name=x,metadata.name=x", "metadata.name=x,metadata.name=y", "metadata.name!=y,metadata.name=x"].map(
      matches,
    ),
    [true, false, true],
  );
});
