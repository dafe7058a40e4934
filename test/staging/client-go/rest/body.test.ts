import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { test } from "vitest";
import { readBody, readLines } from "../../../../src/staging/client-go/rest/body.js";

/** A response with a body in chunks. */
function response(chunks: readonly string[], contentType = "application/json"): IncomingMessage {
  const body = Readable.from(chunks.map((chunk) => Buffer.from(chunk)));
  return Object.assign(body, { headers: { "content-type": contentType } }) as unknown as IncomingMessage;
}

test("a body is parsed, in one chunk or many", async () => {
  assert.deepEqual(await readBody(response(['{"a":1}'])), { a: 1 });
  assert.deepEqual(await readBody(response([...'{"a":1}'])), { a: 1 });
  assert.equal(await readBody(response(["{", "a"])), "{a");
  assert.equal(await readBody(response([])), "");
});

test("a body above the limit is refused before it is complete", async () => {
  const endless = function* () {
    for (;;) yield Buffer.alloc(1024);
  };
  const body = Object.assign(Readable.from(endless()), { headers: {} }) as unknown as IncomingMessage;
  await assert.rejects(readBody(body, 1024 * 1024), /the body of a response has more than 1 MiB/);
  assert.equal(body.destroyed, true);
});

test("several bodies share a budget", async () => {
  const budget = { leftBytes: 10 };
  await readBody(response(["1234567"]), 1024, budget);
  assert.equal(budget.leftBytes, 3);
  await assert.rejects(readBody(response(["1234"]), 1024, budget), { code: "REFUSED" });
});

test("lines of a watch, whatever the chunks; a line above the limit is refused", async () => {
  const linesOf = async (...chunks: string[]) => {
    const lines: string[] = [];
    for await (const line of readLines(response(chunks), 1024)) lines.push(line);
    return lines;
  };
  const want = ["a", "bc", "d"];
  assert.deepEqual(await linesOf("a\nbc\n\nd"), want);
  assert.deepEqual(await linesOf(..."a\nbc\n\nd\n"), want);
  assert.deepEqual(await linesOf("a\nb", "c\n\nd\n"), want);
  await assert.rejects(linesOf("x".repeat(1_000), "x".repeat(1_000)), /an event of a watch has more than/);
});
