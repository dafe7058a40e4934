import assert from "node:assert/strict";
import { test } from "vitest";
import { randomOf, SystemRandom } from "../../src/util/random.js";
import { SeededRandom } from "../../src/util/seeded-random.js";

test("a part's numbers do not depend on what others ask for", () => {
  const alone = new SeededRandom(7);
  const shared = new SeededRandom(7);
  shared.uuid();
  randomOf(shared, "b").float();
  assert.equal(randomOf(shared, "a").uuid(), randomOf(alone, "a").uuid());
  assert.notEqual(randomOf(shared, "a").uuid(), randomOf(shared, "b").uuid());
});

test("a part goes on when it is asked for again", () => {
  const random = new SeededRandom(7);
  assert.notEqual(randomOf(random, "a").uuid(), randomOf(random, "a").uuid());
});

test("the system's randomness has no parts", () => {
  const random = new SystemRandom();
  assert.equal(randomOf(random, "a"), random);
});
