import { describe, expect, test } from "vitest";
import {
  newReplicaSetAnnotations,
  REVISION_ANNOTATION,
} from "../../../../src/cluster/controllers/deployment/util/annotations.js";
import {
  type Deployment,
  deploymentComplete,
  deploymentProgressing,
  equalIgnoreHash,
  findActiveOrLatest,
  findNewReplicaSet,
  isSaturated,
  maxSurge,
  maxUnavailable,
  newReplicaSetReplicas,
  proportionOf,
} from "../../../../src/cluster/controllers/deployment/util/deployment-util.js";
import type { ReplicaSet } from "../../../../src/cluster/controllers/replicaset/replica-set-utils.js";
import { computeHash } from "../../../../src/cluster/controllers/support/compute-hash.js";
import { podTemplate } from "../support/workload-stage.js";

function deployment(replicas: number, rollingUpdate: object | undefined, rest: object = {}): Deployment {
  const strategy = rollingUpdate === undefined ? { type: "Recreate" } : { type: "RollingUpdate", rollingUpdate };
  const spec = { replicas, strategy, template: podTemplate(), selector: {} };
  const metadata = { name: "web", namespace: "default", uid: "d", generation: 2 };
  return { apiVersion: "apps/v1", kind: "Deployment", metadata, spec, ...rest } as unknown as Deployment;
}

function set(
  replicas: number,
  rest: { available?: number; name?: string; max?: number; age?: number; image?: string } = {},
) {
  const { available = 0, name = "one", max, age = 0, image } = rest;
  const annotations = max === undefined ? {} : { "deployment.kubernetes.io/max-replicas": String(max) };
  const creationTimestamp = `2026-01-01T00:00:0${age}Z`;
  const template = podTemplate(image === undefined ? {} : { image });
  return {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: { name, uid: name, annotations, creationTimestamp },
    spec: { replicas, template, selector: {} },
    status: { replicas, availableReplicas: available },
  } as unknown as ReplicaSet;
}

describe("how far a rollout may go", () => {
  const table: readonly [replicas: number, surge: unknown, unavailable: unknown, want: readonly [number, number]][] = [
    [10, "25%", "25%", [3, 2]],
    [3, "25%", "25%", [1, 0]],
    [1, "25%", "25%", [1, 0]],
    [4, 0, 1, [0, 1]],
    [4, 0, 0, [0, 1]],
    [4, "0%", "0%", [0, 1]],
    [4, 2, 10, [2, 4]],
    [0, "25%", "25%", [0, 0]],
    [100, "1%", "1%", [1, 1]],
    [100, "100%", "100%", [100, 100]],
  ];
  for (const [replicas, surge, unavailable, want] of table) {
    test(`${replicas} replicas, maxSurge ${surge}, maxUnavailable ${unavailable}: ${want}`, () => {
      const one = deployment(replicas, { maxSurge: surge, maxUnavailable: unavailable });
      expect([maxSurge(one), maxUnavailable(one)]).toEqual(want);
    });
  }
  test("Recreate knows neither", () => {
    expect([maxSurge(deployment(3, undefined)), maxUnavailable(deployment(3, undefined))]).toEqual([0, 0]);
  });
});

describe("the size of the new set", () => {
  const table: readonly [replicas: number, surge: number, old: number, current: number, want: number][] = [
    [10, 0, 10, 0, 0],
    [10, 2, 10, 0, 2],
    [10, 2, 5, 0, 7],
    [10, 2, 10, 2, 2],
    [10, 2, 2, 10, 10],
    [10, 2, 0, 0, 10],
  ];
  for (const [replicas, surge, old, current, want] of table) {
    test(`${replicas} replicas + ${surge}, ${old} old pods: ${current} -> ${want}`, () => {
      const sets = [set(old), set(current)];
      expect(newReplicaSetReplicas(deployment(replicas, { maxSurge: surge }), sets, current)).toBe(want);
    });
  }
  test("Recreate: all at once", () => expect(newReplicaSetReplicas(deployment(7, undefined), [], 0)).toBe(7));
});

describe("the share of a set in a change of size", () => {
  // size and noted maximum of the set, replicas wanted, surge, pods to add, pods added by others
  const table: readonly [size: number, max: number, replicas: number, toAdd: number, added: number, want: number][] = [
    [10, 12, 20, 10, 0, 8],
    [5, 10, 20, 10, 0, 6],
    [5, 10, 20, 10, 8, 2],
    [10, 10, 5, -5, 0, -4],
    [0, 10, 20, 10, 0, 0],
    [10, 10, 0, -10, 0, -10],
    [10, 12, 20, 0, 0, 0],
    [10, 12, 20, 10, 10, 0],
  ];
  for (const [size, max, replicas, toAdd, added, want] of table) {
    test(`${size} of ${max}, ${replicas} wanted, ${toAdd} to add, ${added} added: ${want}`, () => {
      const one = deployment(replicas, { maxSurge: 1 });
      expect(proportionOf(set(size, { max }), one, toAdd, added)).toBe(want);
    });
  }
});

describe("which set", () => {
  const [old, newest, empty] = [set(3, { name: "a" }), set(2, { name: "b", age: 1 }), set(0, { name: "c", age: 2 })];
  const table: readonly [title: string, seen: ReplicaSet | undefined, want: string | undefined][] = [
    ["none", findActiveOrLatest(undefined, []), undefined],
    ["the new one, if none has pods", findActiveOrLatest(set(0, { name: "new" }), [empty]), "new"],
    ["the newest old one, if none has pods", findActiveOrLatest(undefined, [set(0, { name: "x" }), empty]), "c"],
    ["the only one with pods", findActiveOrLatest(empty, [old]), "a"],
    ["none, if two have pods", findActiveOrLatest(newest, [old]), undefined],
    ["the oldest with the template", findNewReplicaSet(deployment(1, {}), [newest, old]), "a"],
    ["none with another template", findNewReplicaSet(deployment(1, {}), [set(1, { image: "x" })]), undefined],
  ];
  for (const [title, seen, want] of table) test(title, () => expect(seen?.metadata.name).toBe(want));

  test("a set is saturated with all pods available and the size noted", () => {
    const one = deployment(3, {});
    const cases = [
      isSaturated(one, set(3, { available: 3 }), 3),
      isSaturated(one, set(3, { available: 2 }), 3),
      isSaturated(one, set(2, { available: 2 }), 3),
      isSaturated(one, set(3, { available: 3 }), 2),
      isSaturated(one, undefined, 3),
    ];
    expect(cases).toEqual([true, false, false, false, false]);
  });
});

describe("templates", () => {
  const [web, other] = [podTemplate(), podTemplate({ image: "nginx:2" })];
  const hashed = podTemplate({ labels: { app: "web", "pod-template-hash": "x" } });
  test("are equal without their hash", () => {
    expect([equalIgnoreHash(web, hashed), equalIgnoreHash(web, other)]).toEqual([true, false]);
  });
  test("have a hash that is stable, and changes with template and collisions", () => {
    const reordered = { spec: web.spec, metadata: web.metadata };
    const hashes = [
      computeHash(web),
      computeHash(reordered),
      computeHash(other),
      computeHash(web, 1),
      computeHash(web, 2),
    ];
    expect(hashes[0]).toBe(hashes[1]);
    expect(new Set(hashes).size).toBe(4);
    for (const hash of hashes) expect(hash).toMatch(/^[bcdfghjklmnpqrstvwxz2456789]{1,10}$/);
  });
});

describe("annotations of the new set", () => {
  const one = deployment(
    1,
    {},
    {
      metadata: {
        annotations: {
          note: "n",
          [REVISION_ANNOTATION]: "7",
          "kubectl.kubernetes.io/last-applied-configuration": "{}",
        },
      },
    },
  );
  const history = "deployment.kubernetes.io/revision-history";
  const table: readonly [title: string, before: Record<string, string>, revision: number | bigint, want: object][] = [
    [
      "a new set gets the revision, and the Deployment's own annotations",
      {},
      1,
      { note: "n", [REVISION_ANNOTATION]: "1" },
    ],
    ["a lower revision is kept", { [REVISION_ANNOTATION]: "5" }, 4, { note: "n", [REVISION_ANNOTATION]: "5" }],
    [
      "a raised one is remembered",
      { [REVISION_ANNOTATION]: "1" },
      3,
      { note: "n", [REVISION_ANNOTATION]: "3", [history]: "1" },
    ],
    [
      "also a second time",
      { [REVISION_ANNOTATION]: "3", [history]: "1" },
      5,
      { note: "n", [REVISION_ANNOTATION]: "5", [history]: "1,3" },
    ],
    [
      "a revision that is no number stays",
      { [REVISION_ANNOTATION]: "x" },
      2,
      { note: "n", [REVISION_ANNOTATION]: "x" },
    ],
  ];
  for (const [title, before, revision, want] of table) {
    test(title, () => expect(newReplicaSetAnnotations(one, before, BigInt(revision))).toEqual(want));
  }
  test("the history stays below 2000 characters", () => {
    const before = {
      [REVISION_ANNOTATION]: "999",
      [history]: Array.from({ length: 500 }, (_, i) => 100 + i).join(","),
    };
    const after = newReplicaSetAnnotations(one, before, 1000n)[history] ?? "";
    expect([after.length <= 2000, after.endsWith(",999"), after.startsWith("100")]).toEqual([true, true, false]);
  });
});

describe("progress", () => {
  const status = { observedGeneration: 2, replicas: 3, updatedReplicas: 3, availableReplicas: 3, readyReplicas: 3 };
  const one = (before: object) => deployment(3, {}, { status: before });
  const table: readonly [title: string, before: object, now: object, want: readonly [boolean, boolean]][] = [
    ["complete", status, status, [true, false]],
    ["an old pod is left", status, { ...status, replicas: 4 }, [false, false]],
    ["a pod is not available", status, { ...status, availableReplicas: 2 }, [false, false]],
    ["the change was not seen", status, { ...status, observedGeneration: 1 }, [false, false]],
    ["more updated pods", { ...status, updatedReplicas: 2 }, { ...status, availableReplicas: 2 }, [false, true]],
    ["fewer old pods", { ...status, replicas: 5 }, { ...status, replicas: 4 }, [false, true]],
    ["more ready pods", { ...status, readyReplicas: 1 }, { ...status, availableReplicas: 2 }, [false, true]],
    ["more available pods", { ...status, availableReplicas: 1 }, { ...status, availableReplicas: 2 }, [false, true]],
  ];
  for (const [title, before, now, want] of table) {
    test(title, () => {
      expect([deploymentComplete(one(before), now), deploymentProgressing(one(before), now)]).toEqual(want);
    });
  }
});
