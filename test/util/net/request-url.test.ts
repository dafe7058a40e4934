import assert from "node:assert/strict";
import { test } from "vitest";
import { requestUrl } from "../../../src/util/net/request-url.js";

const TARGETS: readonly (readonly [string | undefined, string | undefined])[] = [
  ["/state?x=1", "/state?x=1"],
  ["//", "//"],
  ["//evil.example/x", "//evil.example/x"],
  ["/%zz", "/%zz"],
  ["http://127.0.0.1:80/x?y", "/x?y"],
  ["http://127.0.0.1:80", "/"],
  ["http://[", "/"],
  [undefined, "/"],
  ["*", undefined],
  ["evil:80", undefined],
];
for (const [target, want] of TARGETS) {
  test(`a request for ${target} is for ${want}`, () => {
    const url = requestUrl(target);
    assert.equal(url === undefined ? undefined : `${url.pathname}${url.search}`, want);
  });
}
