import assert from "node:assert/strict";
import fc from "fast-check";
import { test } from "vitest";
import { SortedKeys } from "../../../../src/cluster/apiserver/storage/sorted-keys.js";

const key = fc
  .tuple(fc.constantFrom("/a/", "/a/b/", "/b/", "/bb/"), fc.integer({ min: 0, max: 2000 }))
  .map(([prefix, n]) => `${prefix}${n}`);

test("sorted keys: any sequence of adds and deletes gives the ranges of a sorted list", () => {
  const range = fc.record({
    prefix: fc.constantFrom("/", "/a/", "/a/b/", "/b/", "/c/"),
    afterKey: fc.option(key, { nil: undefined }),
    limit: fc.option(fc.integer({ min: 1, max: 50 }), { nil: undefined }),
  });
  fc.assert(
    fc.property(
      fc.uniqueArray(key, { minLength: 0, maxLength: 1500 }),
      fc.array(range, { minLength: 1, maxLength: 10 }),
      (all, ranges) => {
        const keys = new SortedKeys();
        for (const one of all) keys.add(one);
        const gone = all.filter((_, index) => index % 3 === 0);
        for (const one of gone) keys.delete(one);
        keys.delete("/never");
        const model = all.filter((one) => !gone.includes(one)).sort();
        assert.equal(keys.size, model.length);
        for (const { prefix, afterKey, limit } of ranges) {
          const want = model.filter((one) => one.startsWith(prefix) && (afterKey === undefined || one > afterKey));
          const seen = keys.range(prefix, afterKey, limit);
          assert.deepEqual(seen.keys, want.slice(0, limit));
          assert.equal(seen.remaining, want.length - seen.keys.length);
        }
      },
    ),
    { numRuns: 30 },
  );
});
