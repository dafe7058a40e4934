import fc from "fast-check";
import { expect, test } from "vitest";
import { SmallMap, SmallSet } from "../../../src/util/collections/small-set.js";

const steps = fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 0, max: 9 })), { maxLength: 60 });

test("a bag contains the same items as a set", () => {
  fc.assert(
    fc.property(steps, (all) => {
      const bag = new SmallSet<number>();
      const set = new Set<number>();
      for (const [isAdded, item] of all) {
        if (!isAdded) expect(bag.delete(item)).toBe(set.delete(item));
        else if (!set.has(item)) {
          set.add(item);
          bag.add(item);
        }
        expect(bag.size).toBe(set.size);
      }
      expect([...bag].sort()).toEqual([...set].sort());
    }),
  );
});

test("a numbered bag contains the same items as a map", () => {
  fc.assert(
    fc.property(steps, (all) => {
      const bag = new SmallMap<string>();
      const map = new Map<number, string>();
      for (const [i, [isSet, number]] of all.entries()) {
        if (!isSet) expect(bag.delete(number)).toBe(map.delete(number));
        else if (!map.has(number)) {
          map.set(number, `item ${i}`);
          bag.set(number, `item ${i}`);
        }
        for (let each = 0; each < 10; each++) {
          expect([bag.get(each), bag.has(each)]).toEqual([map.get(each), map.has(each)]);
        }
      }
      expect([bag.size, [...bag.values()].sort()]).toEqual([map.size, [...map.values()].sort()]);
    }),
  );
});
