import { describe, expect, test } from "vitest";
import { StrategicPatchError } from "../../../../src/staging/apimachinery/patch/strategic-errors.js";
import { applyStrategicMergePatch } from "../../../../src/staging/apimachinery/patch/strategic-merge-patch.js";

type Json = Record<string, unknown>;

const container = (name: string, image = "x") => ({ name, image });
const POD: Json = {
  metadata: { finalizers: ["a", "b"], labels: { l: "1", m: "2" } },
  spec: {
    containers: [container("one"), container("two"), container("three")],
    volumes: [{ name: "v", emptyDir: {} }],
    tolerations: [{ key: "k" }],
  },
};

const MERGES: [string, Json, Json][] = [
  // name, patch, the fields of the pod's spec or metadata that differ afterwards
  [
    "merges by key, in place",
    { spec: { containers: [{ name: "two", image: "y" }] } },
    { spec: { containers: [container("one"), container("two", "y"), container("three")] } },
  ],
  [
    "a new element goes first",
    { spec: { containers: [container("new")] } },
    { spec: { containers: [container("new"), container("one"), container("two"), container("three")] } },
  ],
  [
    "several new elements keep the patch's order; the server's are merged in where both orders agree",
    { spec: { containers: [container("n1"), { name: "two" }, container("n2")] } },
    { spec: { containers: ["n1", "one", "two", "n2", "three"].map((name) => container(name)) } },
  ],
  [
    "the last of two duplicates wins",
    {
      spec: {
        containers: [
          { name: "one", image: "1" },
          { name: "one", image: "2" },
        ],
      },
    },
    { spec: { containers: [container("one", "2"), container("two"), container("three")] } },
  ],
  [
    "$patch: delete",
    { spec: { containers: [{ $patch: "delete", name: "two" }] } },
    { spec: { containers: [container("one"), container("three")] } },
  ],
  [
    "$patch: replace in a list",
    { spec: { containers: [container("only"), { $patch: "replace" }] } },
    { spec: { containers: [container("only")] } },
  ],
  [
    "$patch: replace in a map",
    { metadata: { labels: { $patch: "replace", n: "3" } } },
    { metadata: { labels: { n: "3" } } },
  ],
  ["$patch: delete of a map", { metadata: { labels: { $patch: "delete" } } }, { metadata: { labels: {} } }],
  [
    "a list without merge key is replaced",
    { spec: { tolerations: [{ key: "q" }] } },
    { spec: { tolerations: [{ key: "q" }] } },
  ],
  ["null removes", { metadata: { labels: { l: null, none: null } } }, { metadata: { labels: { m: "2" } } }],
  [
    "a set of plain values grows",
    { metadata: { finalizers: ["c", "a"] } },
    { metadata: { finalizers: ["c", "a", "b"] } },
  ],
  [
    "$deleteFromPrimitiveList",
    { metadata: { "$deleteFromPrimitiveList/finalizers": ["a", "z"] } },
    { metadata: { finalizers: ["b"] } },
  ],
  [
    "$setElementOrder alone reorders",
    { spec: { "$setElementOrder/containers": [{ name: "three" }, { name: "one" }, { name: "two" }] } },
    { spec: { containers: [container("three"), container("one"), container("two")] } },
  ],
  [
    "$setElementOrder with a change; unnamed elements stay before their successors on the server",
    {
      spec: {
        "$setElementOrder/containers": [{ name: "three" }, { name: "one" }],
        containers: [{ name: "one", image: "y" }],
      },
    },
    { spec: { containers: [container("two"), container("three"), container("one", "y")] } },
  ],
  [
    "$setElementOrder of a set",
    { metadata: { "$setElementOrder/finalizers": ["b", "a", "c"], finalizers: ["c"] } },
    { metadata: { finalizers: ["b", "a", "c"] } },
  ],
  [
    "$retainKeys switches a volume to another kind",
    { spec: { volumes: [{ name: "v", $retainKeys: ["name", "hostPath"], hostPath: { path: "/x" } }] } },
    { spec: { volumes: [{ name: "v", hostPath: { path: "/x" } }] } },
  ],
];

const REFUSED: [string, Json, number, string][] = [
  [
    "an unknown directive",
    { spec: { $patch: "nonsense" } },
    500,
    "unknown patch type: nonsense in map: map[$patch:nonsense]",
  ],
  [
    "an element without its merge key",
    { spec: { containers: [{ image: "x" }] } },
    500,
    "map: map[image:x] does not contain declared merge key: name",
  ],
  [
    "a deletion without its merge key",
    { spec: { containers: [{ $patch: "delete" }] } },
    500,
    "map: map[$patch:delete] does not contain declared merge key: name",
  ],
  [
    "$patch: merge in a list",
    { spec: { containers: [{ $patch: "merge", name: "one" }] } },
    500,
    "merging lists cannot yet be specified in the patch",
  ],
  ["$retainKeys that is not a list", { spec: { $retainKeys: "x" } }, 400, "invalid patch format of retainKeys"],
  [
    "$retainKeys that omits a key of the patch",
    { spec: { $retainKeys: ["a"], hostname: "b" } },
    400,
    "invalid patch format of retainKeys",
  ],
  [
    "$deleteFromPrimitiveList without a name",
    { metadata: { $deleteFromPrimitiveList: ["a"] } },
    400,
    "invalid patch format of primitive list",
  ],
  [
    "$setElementOrder without a name",
    { metadata: { $setElementOrder: ["a"] } },
    400,
    "invalid patch format of setElementOrder list",
  ],
  [
    "$setElementOrder that is not a list",
    { metadata: { "$setElementOrder/finalizers": "a" } },
    500,
    "expected a []interface {}, but received a string",
  ],
  ["a list of lists", { spec: { containers: [[]] } }, 500, "list element types are not identical"],
  [
    "a patch in a different order",
    { metadata: { "$setElementOrder/finalizers": ["a"], finalizers: ["c"] } },
    500,
    "The order in patch list:\n[c]\n doesn't match $setElementOrder list:\n[a]\n",
  ],
];

describe("strategic merge patch", () => {
  for (const [what, patch, changed] of MERGES) {
    test(what, () => {
      const before = structuredClone(POD);
      const merged = applyStrategicMergePatch(POD, structuredClone(patch), "Pod");
      const wanted = Object.fromEntries(
        Object.entries(before).map(([part, value]) => [
          part,
          { ...(value as Json), ...(changed[part] as Json | undefined) },
        ]),
      );
      expect(merged).toEqual(wanted);
      expect(POD).toEqual(before);
    });
  }

  for (const [what, patch, code, message] of REFUSED) {
    test(`refused: ${what}`, () => {
      let thrown: unknown;
      try {
        applyStrategicMergePatch(POD, structuredClone(patch), "Pod");
      } catch (error) {
        thrown = error;
      }
      expect(thrown).toBeInstanceOf(StrategicPatchError);
      expect(thrown).toMatchObject({ code, message: expect.stringContaining(message) as string });
    });
  }
});

describe("the work of a merge grows with the list, not with its square", () => {
  /** Volumes that count how often their name is read. */
  function counted(count: number, reads: { count: number }): Json[] {
    return Array.from({ length: count }, (_, i) => ({
      get name() {
        reads.count++;
        return `v${i}`;
      },
    }));
  }
  const patches: readonly (readonly [what: string, element: (name: string) => Json])[] = [
    ["merged", (name) => ({ name, emptyDir: {} })],
    ["added", (name) => ({ name: `new-${name}` })],
    ["deleted", (name) => ({ name, $patch: "delete" })],
  ];
  for (const [what, element] of patches) {
    test(`elements that are ${what}`, () => {
      const readsOf = (count: number) => {
        const reads = { count: 0 };
        const volumes = Array.from({ length: count }, (_, i) => element(`v${i}`));
        applyStrategicMergePatch({ spec: { volumes: counted(count, reads) } }, { spec: { volumes } }, "Pod");
        return reads.count;
      };
      expect(readsOf(800)).toBeLessThan(5 * readsOf(200));
    });
  }
});
