import assert from "node:assert/strict";
import { test } from "vitest";
import { KeyNumbers } from "../../../src/commands/pleg/key-numbers.js";

test("a digit is reused only when all others have been used", () => {
  const numbers = new KeyNumbers<{ readonly id: string }>();
  const shown = (ids: string) => {
    numbers.assign([...ids].map((id) => ({ id })));
    return [...ids].map((id) => numbers.digitOf(id) ?? "-").join("");
  };
  assert.equal(shown("abc"), "123");
  assert.equal(shown("bc"), "23");
  assert.equal(shown("bcd"), "234");
  assert.equal(shown("bcdefghij"), "234567891");
  assert.equal(shown("bcdefghijk"), "234567891-");
  assert.equal(shown("cdefghijk"), "345678912");
  assert.deepEqual(numbers.thingOf("2"), { id: "k" });
  assert.deepEqual(numbers.assign([{ id: "c" }, { id: "x" }]), [{ id: "x" }]);
});
