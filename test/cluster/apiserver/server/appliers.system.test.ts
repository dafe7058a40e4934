import { describe, expect, test } from "vitest";
import { Appliers } from "../../../../src/cluster/apiserver/endpoints/handlers/apply.js";
import type { KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";
import { StatusError } from "../../../../src/staging/apimachinery/errors.js";

function withData(data: Record<string, string>, uid = "u"): KubeObject & { data: Record<string, string> } {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "x", uid }, data };
}

function keys(count: number, value = "v"): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, value]));
}

describe("appliers of an object", () => {
  test("dropped fields are removed together: the map that held them is copied once", () => {
    const copiesOf = (count: number) => {
      const appliers = new Appliers();
      appliers.remember("u", withData(keys(count)), "a");
      let copies = 0;
      const data = new Proxy(keys(count), {
        ownKeys: (target) => {
          copies++;
          return Reflect.ownKeys(target);
        },
      });
      const left = appliers.prepare(withData(data), withData({}), "a", false) as KubeObject & { data: object };
      expect(Object.keys(left.data)).toEqual([]);
      return copies;
    };
    expect(copiesOf(400)).toBe(copiesOf(100));
  });

  test("a conflict of 100,000 fields has a bounded answer", () => {
    const appliers = new Appliers();
    appliers.remember("u", withData(keys(100_000)), "a");
    const conflict = () => appliers.prepare(withData(keys(100_000)), withData(keys(100_000, "w")), "b", false);
    expect(conflict).toThrow(StatusError);
    try {
      conflict();
    } catch (error) {
      const { status } = error as StatusError;
      expect(status.details?.causes).toHaveLength(100);
      expect(JSON.stringify(status).length).toBeLessThan(1_000_000);
    }
  });

  test("half a million fields are remembered at most: the oldest object loses its appliers first", () => {
    const appliers = new Appliers();
    for (const uid of ["u1", "u2", "u3"]) appliers.remember(uid, withData(keys(200_000)), "a");
    const conflict = (uid: string) => () =>
      appliers.prepare(withData({ k1: "v" }, uid), withData({ k1: "w" }), "b", false);
    expect(conflict("u1")).not.toThrow();
    expect(conflict("u3")).toThrow("Apply failed");
  });
});
