import assert from "node:assert/strict";
import { test } from "vitest";
import { ownValue, setOwnValue } from "../../../src/staging/apimachinery/own.js";

test("keys of the prototype are absent until they are set, and ordinary keys afterwards", () => {
  for (const key of ["__proto__", "constructor", "toString", "plain"]) {
    const object: Record<string, unknown> = {};
    assert.equal(ownValue(object, key), undefined);
    setOwnValue(object, key, "v");
    assert.equal(ownValue(object, key), "v");
    assert.equal(JSON.stringify(object), `{"${key}":"v"}`);
    assert.deepEqual(Object.keys(object), [key]);
  }
});
