import assert from "node:assert/strict";
import { test } from "vitest";
import { goJson, goString } from "../../../src/kubelet/container/go-json.js";
import { hashContainer } from "../../../src/kubelet/container/hash.js";
import type { V1Container } from "../../../src/staging/apimachinery/api/pod.js";

/** What TestHashContainer in pkg/kubelet/container/helpers_test.go hashes, and what it expects. */
const UPSTREAM: V1Container = {
  name: "test_container",
  image: "foo/image:v1",
  args: ["/bin/sh", "-c", "echo abc"],
  ports: [{ containerPort: 8001 }],
};

test("hash: v1.25 hashes the whole container as upstream does", () => {
  assert.equal(hashContainer(UPSTREAM, "1.25").toString(16), "3c42280f");
});

test("hash: from v1.31 on name and image count alone", () => {
  assert.equal(hashContainer(UPSTREAM, "1.31").toString(16), "8e45cbd0");
});

const TYPES = {
  T: ["a!", "b", "p*", "n!", "amounts:amounts", "divisor:quantity", "inner:=I", "list:I", "pointer*:I"],
  I: ["x", "flag*"],
};
const json = [
  // the value                                        as Go writes it
  [{}, '{"a":"","n":"","divisor":"0","inner":{}}'],
  [{ n: 0, a: "s", b: false, p: false }, '{"a":"s","p":false,"n":0,"divisor":"0","inner":{}}'],
  [
    { a: "", n: 1, amounts: { memory: "1024Mi", cpu: "0.5" } },
    '{"a":"","n":1,"amounts":{"cpu":"500m","memory":"1Gi"},"divisor":"0","inner":{}}',
  ],
  [
    { a: "", n: 1, divisor: "1M", inner: { flag: false }, list: [{ x: 1 }, {}], pointer: {} },
    '{"a":"","n":1,"divisor":"1M","inner":{"flag":false},"list":[{"x":1},{}],"pointer":{}}',
  ],
  [{ a: ["x", "<&>"], n: "", list: [] }, '{"a":["x","\\u003c\\u0026\\u003e"],"n":"","divisor":"0","inner":{}}'],
] as const;
for (const [value, want] of json) {
  test(`go json: ${JSON.stringify(value)}`, () => assert.equal(goJson(TYPES, "T", value), want));
}

const strings = [
  ["a\b\f\n\u0001", '"a\\u0008\\u000c\\n\\u0001"'],
  ["\\b", '"\\\\b"'],
  ["\u2028\ud800", '"\\u2028\ufffd"'],
] as const;
for (const [text, want] of strings) {
  test(`go json: the string ${JSON.stringify(text)}`, () => assert.equal(goString(text), want));
}
