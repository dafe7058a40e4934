import { describe, expect, test } from "vitest";
import {
  byRevision,
  type ControllerRevision,
  controllerRevisionName,
  equalRevision,
  findEqualRevisions,
  hashControllerRevision,
  newControllerRevision,
  nextRevision,
  templatePatch,
} from "../../../../../src/cluster/controllers/support/history/controller-revision.js";

const TEMPLATE = {
  metadata: { labels: { app: "web" }, creationTimestamp: null },
  spec: { containers: [{ name: "app", image: "nginx", args: ["a<b && c>d", "\u2028é"] }] },
};

const OWNER = {
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  metadata: { name: "web", namespace: "default", uid: "u1" },
  spec: { replicas: 3, template: TEMPLATE as never },
};

function revision(name: string, number: number, data: object = {}, creationTimestamp?: string): ControllerRevision {
  const metadata = { name, ...(creationTimestamp === undefined ? {} : { creationTimestamp }) };
  return { apiVersion: "apps/v1", kind: "ControllerRevision", metadata, data, revision: number };
}

describe("a revision of a template", () => {
  test("its data is a patch whose text is Go's: sorted keys, with nulls", () => {
    expect(JSON.stringify(templatePatch(OWNER))).toBe(
      '{"spec":{"template":{"$patch":"replace","metadata":{"creationTimestamp":null,"labels":{"app":"web"}},' +
        '"spec":{"containers":[{"args":["a<b && c>d","\u2028é"],"image":"nginx","name":"app"}]}}}}',
    );
  });

  // What Go's encoding/json and hash/fnv give for the same data.
  for (const [probe, hash] of [
    [undefined, "5dc68648c7"],
    [0, "c4568fb55"],
    [1, "c4568fb54"],
  ] as const) {
    test(`its hash with collision count ${probe} is upstream's`, () => {
      expect(hashControllerRevision({ data: templatePatch(OWNER) }, probe)).toBe(hash);
    });
  }

  test("it is named by its hash, has the template's labels and is controlled by the workload", () => {
    expect(newControllerRevision(OWNER, 4, 0)).toMatchObject({
      metadata: {
        name: "web-c4568fb55",
        namespace: "default",
        labels: { app: "web", "controller.kubernetes.io/hash": "c4568fb55" },
        ownerReferences: [{ kind: "StatefulSet", name: "web", uid: "u1", controller: true, blockOwnerDeletion: true }],
      },
      revision: 4,
    });
  });

  test("a name has room for the hash", () => {
    expect(controllerRevisionName("a".repeat(300), "x")).toHaveLength(225);
  });
});

describe("several revisions", () => {
  const [a, b, c] = [
    revision("a", 2, { x: 1, y: [2] }),
    revision("b", 1, { x: 1 }),
    revision("c", 9, { y: [2], x: 1 }),
  ];

  test("are equal by their data, in whatever order its keys are", () => {
    expect([equalRevision(a, c), equalRevision(a, b)]).toEqual([true, false]);
    expect(findEqualRevisions([a, b, c], revision("d", 3, { x: 1, y: [2] }))).toEqual([a, c]);
    expect(findEqualRevisions([b], a)).toEqual([]);
  });

  test("are numbered from 1", () => {
    expect([nextRevision([]), nextRevision([a, c, b])]).toEqual([1, 10]);
  });

  for (const [title, given, want] of [
    ["by number", [a, c, b], "b a c"],
    [
      "by age if the numbers are equal",
      [revision("x", 1, {}, "2022-01-02"), revision("y", 1, {}, "2022-01-01")],
      "y x",
    ],
    ["by name otherwise", [revision("z", 1), revision("x", 1), revision("y", 1)], "x y z"],
  ] as const) {
    test(`are sorted ${title}`, () => {
      expect(
        [...given]
          .sort(byRevision)
          .map(({ metadata }) => metadata.name)
          .join(" "),
      ).toBe(want);
    });
  }
});
