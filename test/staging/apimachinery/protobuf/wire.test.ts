import assert from "node:assert/strict";
import { test } from "vitest";
import {
  bool,
  bytes,
  double,
  Encoded,
  enumeration,
  int32,
  int32s,
  int64,
  int64s,
  many,
  one,
  string,
  stringMap,
  strings,
  uint32,
  uint64,
} from "../../../../src/staging/apimachinery/protobuf/fields.js";
import { message } from "../../../../src/staging/apimachinery/protobuf/message.js";
import { ProtobufError } from "../../../../src/staging/apimachinery/protobuf/reader.js";

const Colour = { RED: 0, BLUE: 1 } as const;
const Inner = message("Inner", { name: string(1), count: int32(2), tags: strings(3) });
const Outer = message("Outer", {
  text: string(1),
  flag: bool(2),
  small: int32(3),
  natural: uint32(4),
  large: int64(5),
  huge: uint64(6),
  ratio: double(7),
  blob: bytes(8),
  colour: enumeration(9, { Colour }),
  inner: one(10, Inner),
  inners: many(11, Inner),
  labels: stringMap(12),
  ports: int32s(13),
  groups: int64s(14),
  far: string(300),
});

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(" ", ""), "hex");

// Numbers from the format's own documentation, and boundary values.
const numbers = [
  ["int32 1", { small: 1 }, "18 01"],
  ["int32 150", { small: 150 }, "18 96 01"],
  ["int32 -1 takes ten bytes", { small: -1 }, "18 ff ff ff ff ff ff ff ff ff 01"],
  ["int32 smallest", { small: -(2 ** 31) }, "18 80 80 80 80 f8 ff ff ff ff 01"],
  ["uint32 127", { natural: 127 }, "20 7f"],
  ["uint32 128", { natural: 128 }, "20 80 01"],
  ["uint32 largest", { natural: 2 ** 32 - 1 }, "20 ff ff ff ff 0f"],
  ["int64 2^32", { large: 2n ** 32n }, "28 80 80 80 80 10"],
  ["int64 2^35 - 1", { large: 2n ** 35n - 1n }, "28 ff ff ff ff 7f"],
  ["int64 2^35", { large: 2n ** 35n }, "28 80 80 80 80 80 01"],
  ["int64 largest", { large: 2n ** 63n - 1n }, "28 ff ff ff ff ff ff ff ff 7f"],
  ["int64 smallest", { large: -(2n ** 63n) }, "28 80 80 80 80 80 80 80 80 80 01"],
  ["uint64 largest", { huge: 2n ** 64n - 1n }, "30 ff ff ff ff ff ff ff ff ff 01"],
  ["double", { ratio: 1.5 }, "39 00 00 00 00 00 00 f8 3f"],
  ["bool", { flag: true }, "10 01"],
  ["text", { text: "testing" }, "0a 07 74 65 73 74 69 6e 67"],
  ["an enum's value that has no name", { colour: 77 }, "48 4d"],
  ["numbers in a list are packed", { ports: [3, 270, 86942] }, "6a 06 03 8e 02 9e a7 05"],
  ["a map's entry has key and value", { labels: { a: "" } }, "62 05 0a 01 61 12 00"],
  ["an empty message is present", { inner: {} }, "52 00"],
  ["a field number beyond 15 takes two bytes", { far: "x" }, "e2 12 01 78"],
] as const;
for (const [name, value, wire] of numbers) {
  test(`wire: ${name}`, () => {
    assert.equal(Outer.encode(value).toString("hex"), wire.replaceAll(" ", ""));
    assert.deepEqual(Outer.decode(hex(wire)), Outer.create(value));
    const [field, want] = Object.entries(value)[0] ?? [];
    if (field !== "inner") assert.deepEqual(Outer.decode(hex(wire))[field as keyof typeof value], want);
  });
}

test("wire: absent fields have proto3's zero value; messages are undefined", () => {
  assert.deepEqual(Outer.decode(Buffer.alloc(0)), {
    text: "",
    flag: false,
    small: 0,
    natural: 0,
    large: 0n,
    huge: 0n,
    ratio: 0,
    blob: Buffer.alloc(0),
    colour: 0,
    inner: undefined,
    inners: [],
    labels: {},
    ports: [],
    groups: [],
    far: "",
  });
  const zeros = Outer.decode(Buffer.alloc(0));
  assert.equal(Outer.encode(zeros).length, 0);
});

test("wire: lists and maps of one message are not those of the next", () => {
  const first = Outer.decode(Buffer.alloc(0));
  const second = Outer.decode(Buffer.alloc(0));
  assert.notEqual(first.labels, second.labels);
  assert.notEqual(first.inners, second.inners);
});

const odd = [
  [
    "unknown fields are skipped",
    "c8 3e 01  d1 3e 0102030405060708  da 3e 02 6162  dd 3e 01020304  18 05",
    { small: 5 },
  ],
  ["groups are skipped, also nested ones", "a3 06  08 01 ab 06 10 01 ac 06  a4 06  18 05", { small: 5 }],
  ["the last of two values counts", "18 05 18 06", { small: 6 }],
  ["two halves of a message are merged", "52 03 0a 01 61  52 02 10 05", { inner: { name: "a", count: 5 } }],
  ["lists of two halves are joined", "52 03 1a 01 61  52 03 1a 01 62", { inner: { tags: ["a", "b"] } }],
  ["numbers in a list can be unpacked", "68 01 68 02 6a 01 03", { ports: [1, 2, 3] }],
  ["a map's entry without a value has an empty one", "62 03 0a 01 61", { labels: { a: "" } }],
  ["a map's entry can have its value first", "62 06 12 01 62 0a 01 61", { labels: { a: "b" } }],
  ["a varint can be longer than necessary", "18 85 80 80 00", { small: 5 }],
  ["an int32 sent as 64 bits is truncated", "18 85 80 80 80 70", { small: 5 }],
  ["invalid UTF-8 becomes replacement characters", "0a 03 61 ff 62", { text: "a\ufffdb" }],
] as const;
for (const [name, wire, value] of odd) {
  test(`wire: ${name}`, () => assert.deepEqual(Outer.decode(hex(wire)), Outer.create(value)));
}

const broken = [
  ["a length beyond the end", "0a 05 61", /unexpected EOF/],
  ["a length beyond the message that it is in", "52 02 0a 05 61 62 63 64 65", /unexpected EOF/],
  ["a varint without its end", "18 80", /unexpected EOF/],
  ["a varint of eleven bytes", "18 80 80 80 80 80 80 80 80 80 80 01", /overflow/],
  ["a tag of eleven bytes", "80 80 80 80 80 80 80 80 80 80 01", /overflow/],
  ["field number 0", "00 01", /illegal tag 0/],
  ["wire type 7", "c7 3e", /illegal wireType 7/],
  ["the end of a group without a start", "a4 06", /illegal wireType 4/],
  ["a group without an end", "a3 06 08 01", /unexpected EOF/],
  ["text sent as a number", "08 01", /wrong wireType = 0 for field text/],
  ["a number sent as text", "1a 01 61", /wrong wireType = 2 for field small/],
  ["a message sent as a number", "50 01", /wrong wireType = 0 for field inner/],
  ["a packed list that ends in the middle of a number", "6a 01 80  01", /unexpected EOF/],
  ["half a double", "39 00 00", /unexpected EOF/],
] as const;
for (const [name, wire, error] of broken) {
  test(`wire: refuses ${name}`, () => {
    assert.throws(
      () => Outer.decode(hex(wire)),
      (thrown) => thrown instanceof ProtobufError && error.test(thrown.message),
    );
  });
}

test("wire: a truncated message is either refused or has fewer fields", () => {
  const whole = Outer.encode({
    text: "abc",
    large: -5n,
    inner: { name: "n", tags: ["a"] },
    labels: { k: "v" },
    ports: [1, 300],
  });
  for (let length = 0; length < whole.length; length++) {
    try {
      Outer.decode(Buffer.from(whole.subarray(0, length)));
    } catch (error) {
      assert.ok(error instanceof ProtobufError, String(error));
    }
  }
});

test("wire: a map's key may be __proto__", () => {
  const labels = JSON.parse('{"__proto__":"x","b":"y"}') as Record<string, string>;
  const decoded = Outer.decode(Outer.encode({ labels })).labels;
  assert.deepEqual(Object.entries(decoded), [
    ["__proto__", "x"],
    ["b", "y"],
  ]);
  assert.equal(Object.getPrototypeOf(decoded), Object.prototype);
});

test("wire: texts of every length and script survive, and a lone surrogate is replaced", () => {
  for (const text of [
    "é",
    "節点",
    "😀",
    "a".repeat(19),
    "a".repeat(20),
    "a".repeat(21),
    "é".repeat(20),
    "x".repeat(70_000),
  ]) {
    assert.equal(Outer.decode(Outer.encode({ text, labels: { [text]: text } })).text, text);
    assert.deepEqual(Outer.decode(Outer.encode({ labels: { [text]: text } })).labels, { [text]: text });
  }
  assert.equal(Outer.decode(Outer.encode({ text: "a\ud800b" })).text, "a\ufffdb");
});

test("wire: keys in the same slot of the cache are not confused", () => {
  const labels = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`key-${i}-x`, String(i)]));
  const bytesOfAll = Outer.encode({ labels });
  assert.deepEqual(Outer.decode(bytesOfAll).labels, labels);
  assert.deepEqual(Outer.decode(bytesOfAll).labels, labels);
});

test("wire: an encoded message is copied into lists and fields", () => {
  const items = [{ name: "a" }, { name: "b", tags: ["x"] }];
  const encoded = items.map((item) => Inner.encoded(item));
  assert.ok(encoded[0] instanceof Encoded);
  const plain = Outer.encode({ inners: items, inner: { count: 1 } });
  assert.deepEqual(Outer.encode({ inners: encoded, inner: Inner.encoded({ count: 1 }) }), plain);
});

test("wire: a projection gives the same values for the fields it names, and nothing else", () => {
  const wire = Outer.encode({
    text: "t",
    small: 1,
    inner: { name: "n", count: 2 },
    labels: { a: "1", b: "2", ab: "3" },
  });
  const Projection = message("Outer", {
    ...Outer.pick("small").fields,
    inner: one(10, Inner.pick("count")),
    labels: stringMap(12, ["b", "missing"]),
  });
  assert.deepEqual(Projection.decode(wire), { small: 1, inner: { count: 2 }, labels: { b: "2" } });
  const valueFirst = hex("62 06 12 01 62 0a 01 62  62 06 12 01 62 0a 01 61");
  assert.deepEqual(Projection.decode(valueFirst).labels, { b: "b" });
});
