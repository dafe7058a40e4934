import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "vitest";
import { copyInput } from "../../../../src/staging/client-go/transport/copy.js";

test("pending remote output is read before each piece of input is written", async () => {
  let turn = 0;
  let isOver = false;
  const count = () => {
    turn++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const stdin = new PassThrough();
  for (let i = 0; i < 5; i++) stdin.write(Buffer.alloc(10, i));
  stdin.end();
  const turns: number[] = [];
  const remote = { write: async () => void turns.push(turn), end: async () => {} };
  const counter = { bytes: 0 };
  const hasEnded = await copyInput(stdin, remote, counter, new AbortController().signal);
  isOver = true;
  assert.deepEqual([hasEnded, counter.bytes, turns.length], [true, 50, 5]);
  assert.equal(new Set(turns).size, 5, `two pieces in one turn of the loop: ${turns}`);
});
