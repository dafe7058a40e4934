import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "vitest";
import { readBounded } from "../../../src/staging/streaming/read-bounded.js";

const pieces = (...texts: string[]) => Readable.from(texts.map((text) => Buffer.from(text)));

test("a short text is read completely, a long one up to the limit, with the rest read or left", async () => {
  for (const tooMuch of ["drop", "leave"] as const) {
    assert.equal((await readBounded(pieces("ab", "cd"), 100, tooMuch)).bytes.toString(), "abcd");
    const long = pieces("abc", "def", "ghi", "jkl");
    assert.equal((await readBounded(long, 4, tooMuch)).bytes.toString(), "abcd");
    assert.equal(long.readableEnded, tooMuch === "drop");
    assert.equal(long.destroyed, true);
  }
  assert.equal((await readBounded(undefined, 4)).bytes.length, 0);
});

test("an interrupted text is returned with the error", async () => {
  const broken = new Error("cut off");
  async function* cut() {
    yield Buffer.from("ab");
    throw broken;
  }
  const { bytes, failure } = await readBounded(cut(), 100);
  assert.equal(bytes.toString(), "ab");
  assert.equal(failure, broken);
});
