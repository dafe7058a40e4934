import assert from "node:assert/strict";
import fc from "fast-check";
import protobuf from "protobufjs";
import { describe, test } from "vitest";
import type { Field, FieldTable, MessageType, ScalarName } from "../../../src/staging/apimachinery/protobuf/fields.js";
import { allMessages, criProtoText, protoName } from "../../../src/staging/cri/proto-text.js";
import { IMAGE_SERVICE, RUNTIME_SERVICE } from "../../../src/staging/cri/services.js";

/**
 * A second implementation of protocol buffers, fed with our tables' own .proto text: what one writes, the other must read.
 * That the tables are upstream's is held by test/integration/containerd.test.ts, against what containerd was built with.
 */
const root = protobuf.parse(criProtoText(), { keepCase: true }).root;
const messages = allMessages([RUNTIME_SERVICE, IMAGE_SERVICE]);

type Values = Record<string, unknown>;

const SCALARS: Readonly<Record<ScalarName, fc.Arbitrary<unknown>>> = {
  string: fc.string({ unit: "grapheme", maxLength: 30 }),
  bool: fc.boolean(),
  int32: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
  uint32: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  int64: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  uint64: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  double: fc.double({ noNaN: true }).filter((value) => !Object.is(value, -0)),
  bytes: fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
};

/** Any value of a message: every field may be there or not. */
function valuesOf(of: MessageType<FieldTable>): fc.Arbitrary<Values> {
  const fields = Object.entries(of.fields).map(([name, field]) => [name, valueFor(field)] as const);
  return fc.record(Object.fromEntries(fields), { requiredKeys: [] });
}

function valueFor({ kind, isRepeated }: Field): fc.Arbitrary<unknown> {
  if (kind.type === "map") return fc.dictionary(fc.string({ maxLength: 12 }), SCALARS.string, { maxKeys: 4 });
  const one =
    kind.type === "message"
      ? valuesOf(kind.of)
      : kind.type === "enum"
        ? fc.integer({ min: 0, max: 100 })
        : SCALARS[kind.scalar];
  return isRepeated ? fc.array(one, { maxLength: 3 }) : one;
}

/** Our value in the other implementation's terms: .proto names, 64 bit integers as text. */
function theirs(of: MessageType<FieldTable>, value: Values): Values {
  const entries = Object.entries(value).map(([name, item]) => {
    const field = of.fields[name];
    assert.ok(field);
    return [protoName(name, field), theirValue(field, item)] as const;
  });
  return Object.fromEntries(entries);
}

function theirValue(field: Field, item: unknown): unknown {
  if (Array.isArray(item)) return item.map((each) => theirValue({ ...field, isRepeated: false }, each));
  if (typeof item === "bigint") return item.toString();
  if (field.kind.type !== "message" || item === undefined) return item;
  return theirs(field.kind.of, item as Values);
}

function encodedByThem(of: MessageType<FieldTable>, value: Values): Buffer {
  const type = root.lookupType(`runtime.v1.${of.name}`);
  return Buffer.from(type.encode(type.fromObject(theirs(of, value))).finish());
}

function decodedByThem(of: MessageType<FieldTable>, wire: Buffer): Values {
  const type = root.lookupType(`runtime.v1.${of.name}`);
  return type.toObject(type.decode(wire), { longs: String, defaults: true, bytes: Buffer });
}

describe("every message of runtime.v1, against a second implementation", () => {
  for (const of of messages) {
    test(of.name, () => {
      fc.assert(
        fc.property(valuesOf(of), (value) => {
          const wire = of.encode(value);
          const full = of.decode(of.encode(value));
          assert.deepEqual(of.decode(encodedByThem(of, value)), full, "what they write, we read");
          const they = decodedByThem(of, wire);
          assert.deepEqual(they, decodedByThem(of, encodedByThem(of, value)), "what we write, they read");
          assert.deepEqual(of.encode(full), wire, "and once around changes nothing");
        }),
        { numRuns: 15, seed: 20 },
      );
    });
  }
});

test("the services have the calls of the release, streaming where upstream streams", () => {
  const rpcs = [...Object.values(RUNTIME_SERVICE), ...Object.values(IMAGE_SERVICE)];
  assert.equal(rpcs.length, 35 + 6);
  const streams = rpcs.filter((rpc) => rpc.isStream).map((rpc) => rpc.name);
  assert.deepEqual(streams, [
    "StreamPodSandboxes",
    "StreamContainers",
    "StreamContainerStats",
    "StreamPodSandboxStats",
    "GetContainerEvents",
    "StreamPodSandboxMetrics",
    "StreamImages",
  ]);
  for (const [name, rpc] of Object.entries({ ...RUNTIME_SERVICE, ...IMAGE_SERVICE })) {
    assert.equal(name.toLowerCase(), rpc.name.toLowerCase());
    assert.equal(rpc.path, `/${rpc.service}/${rpc.name}`);
  }
});

test("no message uses a number twice, and each name stands for one message", () => {
  assert.equal(new Set(messages.map(({ name }) => name)).size, messages.length);
  for (const { name, fields } of messages) {
    const numbers = Object.values(fields).map(({ number }) => number);
    assert.equal(new Set(numbers).size, numbers.length, name);
  }
});
