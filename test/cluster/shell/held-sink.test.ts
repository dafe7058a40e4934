import assert from "node:assert/strict";
import { test } from "vitest";
import {
  HeldMemory,
  MemoryAccount,
  MemoryPool,
  OutOfMemoryError,
} from "../../../src/cluster/shell/process/memory-account.js";
import { HeldSink } from "../../../src/cluster/shell/streams.js";

function setUp() {
  const account = new MemoryAccount(undefined, new MemoryPool(1000));
  const memory = new HeldMemory(account, 1, () => {});
  return { account, memory, sink: new HeldSink(memory) };
}

test("the output of a command is memory of its shell until it is taken", () => {
  const { account, sink } = setUp();
  sink.write(Buffer.from("some "));
  sink.write(Buffer.from("output"));
  assert.equal(account.heldBytes, 11);
  assert.equal(sink.take(), "some output");
  assert.equal(account.heldBytes, 0);
  assert.equal(sink.take(), "");
});

test("a command that outlives its shell keeps none of its output", () => {
  const { account, memory, sink } = setUp();
  sink.write(Buffer.from("output"));
  memory.end();
  assert.equal(account.heldBytes, 0);
  assert.equal(sink.take(), "");
  assert.throws(() => sink.write(Buffer.from("more")), OutOfMemoryError);
});
