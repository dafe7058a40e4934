import { describe, expect, test } from "vitest";
import { UidTrackingControllerExpectations } from "../../../../src/cluster/controllers/support/controller-expectations.js";
import { FakeClock } from "../../../support/fake-clock.js";

const table: readonly [
  title: string,
  act: (expectations: UidTrackingControllerExpectations, clock: FakeClock) => unknown,
  isSatisfied: boolean,
][] = [
  ["nothing is expected", () => {}, true],
  ["two creations, none seen", (e) => e.expectCreations("a", 2), false],
  ["two creations, one seen", (e) => [e.expectCreations("a", 2), e.creationObserved("a")], false],
  ["two creations, both seen", (e) => [e.expectCreations("a", 2), e.lower("a", 2, 0)], true],
  ["more creations seen than expected", (e) => [e.expectCreations("a", 1), e.lower("a", 3, 0)], true],
  ["another key's creations", (e) => e.expectCreations("b", 1), true],
  ["a deletion, not seen", (e) => e.expectDeletions("a", ["p"]), false],
  ["a deletion, seen", (e) => [e.expectDeletions("a", ["p"]), e.deletionObserved("a", "p")], true],
  ["a deletion of another pod", (e) => [e.expectDeletions("a", ["p"]), e.deletionObserved("a", "q")], false],
  [
    "two deletions, one seen twice",
    (e) => [e.expectDeletions("a", ["p", "q"]), e.deletionObserved("a", "p"), e.deletionObserved("a", "p")],
    false,
  ],
  ["the owner is gone", (e) => [e.expectCreations("a", 2), e.delete("a")], true],
  ["five minutes", async (e, clock) => [e.expectCreations("a", 1), await clock.advance(300_000)], false],
  ["more than five minutes", async (e, clock) => [e.expectCreations("a", 1), await clock.advance(300_001)], true],
];

describe("expectations", () => {
  for (const [title, act, isSatisfied] of table) {
    test(`${title}: ${isSatisfied ? "satisfied" : "waits"}`, async () => {
      const clock = new FakeClock();
      const expectations = new UidTrackingControllerExpectations(clock);
      await act(expectations, clock);
      expect(expectations.isSatisfied("a")).toBe(isSatisfied);
    });
  }
});
