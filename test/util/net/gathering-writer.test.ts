import assert from "node:assert/strict";
import { Duplex } from "node:stream";
import { test } from "vitest";
import { GatheringWriter } from "../../../src/util/net/gathering-writer.js";

/** A socket that records the size of each write and writev. */
function socketOf(writes: number[][]): Duplex {
  return new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      writes.push([chunk.length]);
      done();
    },
    writev(chunks, done) {
      writes.push(chunks.map(({ chunk }) => (chunk as Buffer).length));
      done();
    },
  });
}

const bytes = (count: number) => Buffer.alloc(count);
const TABLE: readonly (readonly [what: string, pieces: readonly number[], writes: readonly (readonly number[])[]])[] = [
  ["one piece as it is", [5], [[5]]],
  ["small ones as one", [8, 3, 100], [[111]]],
  ["large ones as they are, together", [8, 60_000, 8, 60_000], [[8], [60_000, 8, 60_000]]],
];
for (const [what, pieces, wanted] of TABLE) {
  test(`writes of one turn are sent together: ${what}`, async () => {
    const writes: number[][] = [];
    const socket = socketOf(writes);
    const writer = new GatheringWriter(socket);
    for (const piece of pieces) writer.write(bytes(piece));
    assert.equal(
      writer.waitingBytes,
      pieces.reduce((sum, one) => sum + one, 0),
    );
    assert.deepEqual(writes, []);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(writes.flat().length, wanted.flat().length);
    assert.deepEqual(writes.flat(), wanted.flat());
    assert.equal(writer.waitingBytes, 0);
  });
}

test("flush sends waiting bytes at once; an ended socket accepts nothing", async () => {
  const writes: number[][] = [];
  const socket = socketOf(writes);
  const writer = new GatheringWriter(socket);
  writer.write(bytes(3));
  writer.flush();
  assert.deepEqual(writes, [[3]]);
  socket.end();
  writer.write(bytes(3));
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual([writes, writer.waitingBytes], [[[3]], 0]);
});
