import assert from "node:assert/strict";
import { test } from "vitest";
import { encodedList } from "../../../src/apimachinery/protobuf/encoded-list.js";
import { Container } from "../../../src/cri/messages/container.js";
import { ListContainersResponse } from "../../../src/cri/messages/container-calls.js";

for (const length of [0, 1, 100, 127, 128, 20_000, 3_000_000]) {
  test(`a list of items of about ${length} bytes is what the encoder makes of them`, () => {
    const items = ["a", "b", "c"].map((id) => Container.encoded({ id, imageRef: "x".repeat(length) }));
    const fast = encodedList(ListContainersResponse.fields.containers.number, items).bytes;
    assert.deepEqual(Buffer.from(fast), ListContainersResponse.encode({ containers: items }));
  });
}

test("a list of nothing is an empty message", () => {
  assert.equal(encodedList(1, []).bytes.length, 0);
});
