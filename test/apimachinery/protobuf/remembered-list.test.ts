import assert from "node:assert/strict";
import fc from "fast-check";
import { test } from "vitest";
import { int32, many, string, stringMap } from "../../../src/apimachinery/protobuf/fields.js";
import { message } from "../../../src/apimachinery/protobuf/message.js";
import { ProtobufError } from "../../../src/apimachinery/protobuf/reader.js";
import { RememberedList } from "../../../src/apimachinery/protobuf/remembered-list.js";

const Item = message("Item", { id: string(1), state: int32(2), labels: stringMap(3) });
const List = message("List", { items: many(1, Item) });

const item = (id: number, state = 0) => ({ id: String(id).padStart(64, "0"), state, labels: { n: String(id) } });
const encode = (items: readonly ReturnType<typeof item>[]) => List.encode({ items });

const edits: readonly (readonly [string, (items: ReturnType<typeof item>[]) => ReturnType<typeof item>[]])[] = [
  ["nothing", (items) => items],
  ["one item's state", (items) => items.map((one, i) => (i === 5 ? { ...one, state: 2 } : one))],
  [
    "the length of one item",
    (items) => items.map((one, i) => (i === 5 ? { ...one, labels: { n: "x".repeat(300) } } : one)),
  ],
  ["one item goes", (items) => items.filter((_, i) => i !== 3)],
  ["the first and the last go", (items) => items.slice(1, -1)],
  ["several neighbours go", (items) => items.filter((_, i) => i < 3 || i > 8)],
  ["one item comes in the middle", (items) => items.toSpliced(4, 0, item(99))],
  ["all in the opposite order", (items) => items.toReversed()],
  ["everything goes", () => []],
];
for (const [name, edit] of edits) {
  test(`remembered list: ${name}; what is the same is the same object`, () => {
    const before = Array.from({ length: 20 }, (_, i) => item(i));
    const after = edit(before);
    const remembered = new RememberedList(List);
    const first = remembered.decode(encode(before)).items;
    const second = remembered.decode(encode(after)).items;
    assert.deepEqual({ items: second }, List.decode(encode(after)));
    for (const [i, one] of second.entries()) {
      const known = first.find(({ id }) => id === one.id);
      const isUnchanged = after[i] !== undefined && before.includes(after[i]);
      assert.equal(one === known, isUnchanged, `item ${i}`);
    }
  });
}

test("remembered list: of bytes that hold only during the call, it keeps its own", () => {
  const remembered = new RememberedList(List);
  const message = encode(Array.from({ length: 3 }, (_, i) => item(i)));
  const buffer = Buffer.concat([Buffer.from("before"), message, Buffer.from("behind")]);
  const first = remembered.decodeWithin(buffer, 6, 6 + message.length);
  buffer.fill(0);
  assert.equal(remembered.decode(message), first);
});

test("remembered list: whatever lists come one after the other, each is decoded as if it came alone", () => {
  const items = fc.array(fc.record({ id: fc.integer({ min: 0, max: 12 }), state: fc.integer({ min: 0, max: 2 }) }), {
    maxLength: 12,
  });
  fc.assert(
    fc.property(fc.array(items, { maxLength: 6 }), (lists) => {
      const remembered = new RememberedList(List);
      for (const list of lists) {
        const bytes = encode(list.map(({ id, state }) => item(id, state)));
        assert.deepEqual(remembered.decode(bytes), List.decode(bytes));
      }
    }),
    { seed: 7 },
  );
});

const Labelled = message("Item", { id: string(1), labels: stringMap(3), note: string(4), marks: stringMap(5) });
const LabelledList = message("List", { items: many(1, Labelled) });
const Projected = message("List", {
  items: many(1, message("Item", { id: string(1), labels: stringMap(3, ["a", "b"]) })),
});
const labelled = (labels: Record<string, string>, note = "", marks: Record<string, string> = {}) =>
  LabelledList.encode({ items: [{ id: "1", labels, note, marks }] });

test.each([
  ["labels in another order", labelled({ c: "3", b: "2", a: "1" }), true],
  ["a field that nobody decodes", labelled({ a: "1", b: "2", c: "3" }, "other"), true],
  ["a map that nobody decodes", labelled({ a: "1", b: "2", c: "3" }, "", { x: "y" }), true],
  ["a label's value", labelled({ a: "1", b: "9", c: "3" }), false],
  ["values changed over", labelled({ a: "2", b: "1", c: "3" }), false],
  ["one label more", labelled({ a: "1", b: "2", c: "3", d: "4" }), false],
  ["one label less", labelled({ a: "1", b: "2" }), false],
  ["no labels", labelled({}), false],
])("remembered list: %s: the same list is %s", (_, bytes, isSame) => {
  const remembered = new RememberedList(Projected);
  const first = remembered.decode(labelled({ a: "1", b: "2", c: "3" }));
  const second = remembered.decode(bytes);
  assert.deepEqual(second, Projected.decode(bytes));
  assert.equal(second === first, isSame);
});

test("remembered list: a map of any size in any order is decoded as if it came alone", () => {
  const keys = fc.uniqueArray(fc.string({ maxLength: 3 }), { maxLength: 40 });
  const orders = keys.chain((all) => fc.array(fc.shuffledSubarray(all, { minLength: Math.max(0, all.length - 1) })));
  fc.assert(
    fc.property(orders, (lists) => {
      const remembered = new RememberedList(LabelledList);
      for (const order of lists) {
        const bytes = labelled(Object.fromEntries(order.map((key) => [`k${key}`, key])));
        assert.deepEqual(remembered.decode(bytes), LabelledList.decode(bytes));
      }
    }),
    { seed: 7 },
  );
});

test("remembered list: one that is broken is refused, and the next is whole again", () => {
  const remembered = new RememberedList(List);
  const bytes = encode([item(1), item(2)]);
  const { items } = remembered.decode(bytes);
  assert.throws(() => remembered.decode(Buffer.from(bytes.subarray(0, bytes.length - 3))), ProtobufError);
  const again = remembered.decode(Buffer.concat([bytes, Buffer.from([0x18, 1])])).items;
  assert.ok(again[0] === items[0] && again[1] === items[1], "unknown fields beside the list do no harm");
});

test("remembered list: an empty list has its field from the first", () => {
  assert.deepEqual(new RememberedList(List).decode(Buffer.alloc(0)), { items: [] });
});

test("remembered list: only for messages that are one list", () => {
  assert.throws(() => new RememberedList(Item), /Item is no list/);
});
