import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseLabelSelector } from "../../../src/staging/apimachinery/label-selector.js";

describe("a long label selector", () => {
  const key = fc.constantFrom("a", "b", "c", "constructor");
  const value = fc.constantFrom("1", "2", "x", "");
  const requirement = fc.oneof(
    key,
    key.map((one) => `!${one}`),
    fc.tuple(key, fc.constantFrom("=", "!="), value).map((parts) => parts.join("")),
    fc.tuple(key, fc.constantFrom("in", "notin"), value, value).map(([one, op, x, y]) => `${one} ${op} (${x},${y})`),
    fc.tuple(key, fc.constantFrom(">", "<")).map((parts) => `${parts.join("")}1`),
  );
  const labels = fc.dictionary(key, value, { maxKeys: 4 });

  test("selects what all its requirements select", () => {
    const long = fc.array(requirement, { minLength: 9, maxLength: 12 });
    fc.assert(
      fc.property(long, labels, (requirements, of) => {
        const each = requirements.every((one) => parseLabelSelector(one)(of));
        expect(parseLabelSelector(requirements.join(","))(of)).toBe(each);
      }),
      { numRuns: 2000 },
    );
  });

  test("reads an object's labels, not its requirements", () => {
    const readsOf = (count: number) => {
      let reads = 0;
      const counted = new Proxy({ a: "1", b: "2" } as Record<string, string>, {
        get: (target, name) => {
          reads++;
          return Reflect.get(target, name);
        },
        getOwnPropertyDescriptor: (target, name) => {
          reads++;
          return Reflect.getOwnPropertyDescriptor(target, name);
        },
      });
      const requirements = Array.from({ length: count }, (_, i) => `k${i}!=v`);
      expect(parseLabelSelector(requirements.join(","))(counted)).toBe(true);
      return reads;
    };
    expect(readsOf(4000)).toBe(readsOf(1000));
  });
});
