import assert from "node:assert/strict";
import { test } from "vitest";
import { ownValue, setOwnValue } from "../../src/apimachinery/own.js";

test("keys that every object answers to are absent until they are set, and then keys like any other", () => {
  for (const key of ["__proto__", "constructor", "toString", "plain"]) {
    const object: Record<string, unknown> = {};
    assert.equal(ownValue(object, key), undefined);
    setOwnValue(object, key, "v");
    assert.equal(ownValue(object, key), "v");
    assert.equal(JSON.stringify(object), `{"${key}":"v"}`);
    assert.deepEqual(Object.keys(object), [key]);
  }
});
