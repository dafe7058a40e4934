import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { ClusterFilterPlugin, ClusterScorePlugin } from "../../../src/cluster/scheduler/framework.js";
import type { ClusterLookups } from "../../../src/cluster/scheduler/lookups.js";
import type { NodeInfo } from "../../../src/cluster/scheduler/node-info.js";
import type { SchedulablePod } from "../../../src/cluster/scheduler/objects.js";
import { IMAGE_LOCALITY } from "../../../src/cluster/scheduler/plugins/image-locality.js";
import { interPodAffinity } from "../../../src/cluster/scheduler/plugins/inter-pod-affinity.js";
import { podTopologySpread } from "../../../src/cluster/scheduler/plugins/pod-topology-spread.js";
import { infoOf, makeNode, makePod, nodeInfo } from "./fixtures.js";

const ZONE = "topology.kubernetes.io/zone";
const HOST = "kubernetes.io/hostname";
const NAMESPACES: Readonly<Record<string, Readonly<Record<string, string>>>> = { default: {}, team: { team: "a" } };
const LOOKUPS: ClusterLookups = {
  namespaceLabels: (name) => NAMESPACES[name],
  defaultSelector: ({ metadata }) =>
    metadata.labels?.["app"] === "web" ? (labels) => labels?.["app"] === "web" : undefined,
  claim: () => undefined,
  volume: () => undefined,
  volumes: () => [],
  storageClass: () => undefined,
  budgets: () => [],
};

type Spec = NonNullable<SchedulablePod["spec"]>;

/** `web`, or `team/web` in another namespace, with more of its spec. */
function pod(text: string, spec: Partial<Spec> = {}, deletionTimestamp?: string): SchedulablePod {
  const [app = "", namespace = "default"] = text.split("/").reverse();
  const gone = deletionTimestamp === undefined ? {} : { deletionTimestamp };
  names++;
  return makePod(`${app}-${names}`, spec, {
    metadata: { name: `${app}-${names}`, namespace, labels: { app }, ...gone },
  });
}

let names = 0;

/** Two zones of two nodes: a1 and a2, b1 and b2; x has no zone. */
function cluster(pods: Readonly<Record<string, readonly SchedulablePod[]>>): NodeInfo[] {
  return ["a1", "a2", "b1", "b2", "x"].map((name) => {
    const labels = name === "x" ? {} : { [ZONE]: name.slice(0, 1) };
    return nodeInfo(makeNode(name, { labels }), ...(pods[name] ?? []));
  });
}

/** The nodes that fit, and the reasons of the others. */
function fitting(plugin: ClusterFilterPlugin, incoming: SchedulablePod, nodes: readonly NodeInfo[]): string {
  const check = plugin.filterAmong(infoOf(incoming), nodes);
  const rejected = new Map(nodes.map((node) => [node.name, check?.(node)]));
  const reasons = new Set([...rejected.values()].flatMap((one) => one?.reasons ?? []));
  const names = nodes.flatMap(({ name }) => (rejected.get(name) === undefined ? [name] : []));
  return [names.join(" "), ...reasons].join("; ");
}

function scored(plugin: ClusterScorePlugin, incoming: SchedulablePod, nodes: readonly NodeInfo[]): readonly number[] {
  const info = infoOf(incoming);
  const scorer = plugin.scoreAmong(info, nodes, nodes);
  const raw = nodes.map((node) => scorer?.score(info, node) ?? 0);
  return scorer?.normalize?.(raw) ?? raw;
}

const term = (app: string, more: object = {}) => ({
  topologyKey: ZONE,
  labelSelector: { matchLabels: { app } },
  ...more,
});
const near = (...terms: object[]) =>
  ({ affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } } }) as Partial<Spec>;
const apart = (...terms: object[]) =>
  ({ affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } } }) as Partial<Spec>;
const prefers = (kind: "podAffinity" | "podAntiAffinity", weight: number, podAffinityTerm: object) =>
  ({
    affinity: { [kind]: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight, podAffinityTerm }] } },
  }) as Partial<Spec>;

describe("InterPodAffinity filters", () => {
  const plugin = interPodAffinity(LOOKUPS);
  const RULES = "node(s) didn't match pod affinity rules";
  const ANTI = "node(s) didn't match pod anti-affinity rules";
  const OTHERS = "node(s) didn't satisfy existing pods anti-affinity rules";
  const ALL = "a1 a2 b1 b2 x";
  const table: readonly (readonly [
    string,
    SchedulablePod,
    Readonly<Record<string, readonly SchedulablePod[]>>,
    string,
  ])[] = [
    ["no terms", pod("web"), { a1: [pod("db")] }, ALL],
    ["in the zone of db", pod("web", near(term("db"))), { a1: [pod("db")] }, `a1 a2; ${RULES}`],
    ["on the node of db", pod("web", near(term("db", { topologyKey: HOST }))), { a1: [pod("db")] }, `a1; ${RULES}`],
    ["no db anywhere", pod("web", near(term("db"))), {}, `; ${RULES}`],
    ["db in another namespace", pod("web", near(term("db"))), { a1: [pod("team/db")] }, `; ${RULES}`],
    [
      "a named namespace",
      pod("web", near(term("db", { namespaces: ["team"] }))),
      { a1: [pod("team/db")] },
      `a1 a2; ${RULES}`,
    ],
    [
      "a namespace by its labels",
      pod("web", near(term("db", { namespaceSelector: { matchLabels: { team: "a" } } }))),
      { a1: [pod("team/db")], b1: [pod("db")] },
      `a1 a2; ${RULES}`,
    ],
    [
      "every namespace",
      pod("web", near(term("db", { namespaceSelector: {} }))),
      { a1: [pod("team/db")], b1: [pod("db")] },
      `a1 a2 b1 b2; ${RULES}`,
    ],
    ["the first of a group that needs itself", pod("web", near(term("web"))), {}, `a1 a2 b1 b2; ${RULES}`],
    ["the second of such a group", pod("web", near(term("web"))), { b1: [pod("web")] }, `b1 b2; ${RULES}`],
    [
      "one pod must match all terms",
      pod("web", near(term("db"), term("db", { labelSelector: { matchLabels: { tier: "x" } } }))),
      { a1: [pod("db")] },
      `; ${RULES}`,
    ],
    ["away from db", pod("web", apart(term("db"))), { a1: [pod("db")] }, `b1 b2 x; ${ANTI}`],
    [
      "away from its own kind",
      pod("web", apart(term("web", { topologyKey: HOST }))),
      { a1: [pod("web")] },
      `a2 b1 b2 x; ${ANTI}`,
    ],
    ["db stays away from web", pod("web"), { a1: [pod("db", apart(term("web")))] }, `b1 b2 x; ${OTHERS}`],
    ["db stays away from other pods", pod("web"), { a1: [pod("db", apart(term("cache")))] }, ALL],
    ["a term without a selector", pod("web", near({ topologyKey: ZONE })), { a1: [pod("db")] }, `; ${RULES}`],
    [
      "an empty selector",
      pod("web", near({ topologyKey: ZONE, labelSelector: {} })),
      { b1: [pod("db")] },
      `b1 b2; ${RULES}`,
    ],
    ["preferred terms do not filter", pod("web", prefers("podAffinity", 1, term("db"))), {}, ALL],
  ];
  for (const [name, incoming, pods, want] of table) {
    test(name, () => assert.equal(fitting(plugin, incoming, cluster(pods)), want));
  }
});

describe("InterPodAffinity scores", () => {
  const plugin = interPodAffinity(LOOKUPS);
  const table: readonly (readonly [
    string,
    SchedulablePod,
    Readonly<Record<string, readonly SchedulablePod[]>>,
    readonly number[],
  ])[] = [
    ["nothing to compare", pod("web"), { a1: [pod("db")] }, [0, 0, 0, 0, 0]],
    ["near db", pod("web", prefers("podAffinity", 10, term("db"))), { a1: [pod("db")] }, [100, 100, 0, 0, 0]],
    [
      "apart from db",
      pod("web", prefers("podAntiAffinity", 10, term("db"))),
      { a1: [pod("db")] },
      [0, 0, 100, 100, 100],
    ],
    ["db likes web", pod("web"), { b2: [pod("db", prefers("podAffinity", 5, term("web")))] }, [0, 0, 100, 100, 0]],
    [
      "db dislikes web",
      pod("web"),
      { b2: [pod("db", prefers("podAntiAffinity", 5, term("web")))] },
      [100, 100, 0, 0, 100],
    ],
    ["db needs web: weight 1", pod("web"), { a2: [pod("db", near(term("web")))] }, [100, 100, 0, 0, 0]],
    [
      "sums over pods: 2 and 1",
      pod("web", prefers("podAffinity", 10, term("db"))),
      { a1: [pod("db"), pod("db")], b1: [pod("db")] },
      [100, 100, 50, 50, 0],
    ],
  ];
  for (const [name, incoming, pods, want] of table) {
    test(name, () => assert.deepEqual(scored(plugin, incoming, cluster(pods)), want));
  }
});

const spread = (more: object = {}) =>
  ({
    topologySpreadConstraints: [
      {
        topologyKey: ZONE,
        maxSkew: 1,
        whenUnsatisfiable: "DoNotSchedule",
        labelSelector: { matchLabels: { app: "web" } },
        ...more,
      },
    ],
  }) as Partial<Spec>;

describe("PodTopologySpread filters", () => {
  const SKEW = "node(s) didn't match pod topology spread constraints";
  const NO_LABEL = `${SKEW} (missing required label)`;
  const inA: Partial<Spec> = { nodeSelector: { [ZONE]: "a" } };
  const table: readonly (readonly [
    string,
    SchedulablePod,
    Readonly<Record<string, readonly SchedulablePod[]>>,
    string,
  ])[] = [
    ["no constraints", pod("web"), { a1: [pod("web")] }, "a1 a2 b1 b2 x"],
    ["an empty cluster", pod("web", spread()), {}, `a1 a2 b1 b2; ${NO_LABEL}`],
    ["one in zone a", pod("web", spread()), { a1: [pod("web")] }, `b1 b2; ${SKEW}; ${NO_LABEL}`],
    ["one in each zone", pod("web", spread()), { a1: [pod("web")], b1: [pod("web")] }, `a1 a2 b1 b2; ${NO_LABEL}`],
    ["maxSkew 2", pod("web", spread({ maxSkew: 2 })), { a1: [pod("web")] }, `a1 a2 b1 b2; ${NO_LABEL}`],
    [
      "a terminating pod does not count",
      pod("web", spread()),
      { a1: [pod("web", {}, "2026-01-01T00:00:00Z")] },
      `a1 a2 b1 b2; ${NO_LABEL}`,
    ],
    ["other namespaces do not count", pod("web", spread()), { a1: [pod("team/web")] }, `a1 a2 b1 b2; ${NO_LABEL}`],
    ["a pod that its own selector misses", pod("api", spread()), { a1: [pod("web")] }, `a1 a2 b1 b2; ${NO_LABEL}`],
    [
      "zone b is excluded by the nodeSelector",
      pod("web", { ...spread(), ...inA }),
      { a1: [pod("web")] },
      `a1 a2 b1 b2; ${NO_LABEL}`,
    ],
    ["by host", pod("web", spread({ topologyKey: HOST })), { a1: [pod("web")] }, `a2 b1 b2 x; ${SKEW}`],
    [
      "ScheduleAnyway does not filter",
      pod("web", spread({ whenUnsatisfiable: "ScheduleAnyway" })),
      { a1: [pod("web")] },
      "a1 a2 b1 b2 x",
    ],
    [
      "no selector counts nothing",
      pod("web", spread({ labelSelector: undefined })),
      { a1: [pod("web")] },
      `a1 a2 b1 b2; ${NO_LABEL}`,
    ],
    [
      "minDomains 3 of 2 zones",
      pod("web", spread({ minDomains: 3 })),
      { a1: [pod("web")], b1: [pod("web")] },
      `; ${SKEW}; ${NO_LABEL}`,
    ],
  ];
  for (const [name, incoming, pods, want] of table) {
    const plugin = podTopologySpread(LOOKUPS, { minDomains: true });
    test(name, () => assert.equal(fitting(plugin, incoming, cluster(pods)), want));
  }

  test("before v1.27, minDomains is ignored", () => {
    const plugin = podTopologySpread(LOOKUPS, { minDomains: false });
    const pods = { a1: [pod("web")], b1: [pod("web")] };
    assert.equal(fitting(plugin, pod("web", spread({ minDomains: 3 })), cluster(pods)), `a1 a2 b1 b2; ${NO_LABEL}`);
  });
});

describe("PodTopologySpread scores", () => {
  const plugin = podTopologySpread(LOOKUPS, { minDomains: false });
  const soft = spread({ whenUnsatisfiable: "ScheduleAnyway" });
  test("the zone with fewer pods is better; a node without a zone is worst", () => {
    const nodes = cluster({ a1: [pod("web"), pod("web")], b1: [pod("web")] });
    assert.deepEqual(scored(plugin, pod("web", soft), nodes), [33, 33, 100, 100, 0]);
  });
  test("an empty cluster: all nodes with a zone are equal", () =>
    assert.deepEqual(scored(plugin, pod("web", soft), cluster({})), [100, 100, 100, 100, 0]));
  test("pods of a Service or controller are spread by default", () => {
    const nodes = cluster({ a1: [pod("web"), pod("web"), pod("web")] });
    const [a1 = 0, a2 = 0, b1 = 0] = scored(plugin, pod("web"), nodes);
    assert.ok(a1 < a2 && a2 < b1, `${a1} ${a2} ${b1}`);
  });
  test("a pod of its own is not", () =>
    assert.deepEqual(scored(plugin, pod("api"), cluster({ a1: [pod("api")] })), [0, 0, 0, 0, 0]));
});

describe("ImageLocality", () => {
  const MB = 1024 * 1024;
  const withImages = (name: string, images: Readonly<Record<string, number>>) => {
    const node = makeNode(name);
    const listed = Object.entries(images).map(([image, size]) => ({ names: [image], sizeBytes: size * MB }));
    return nodeInfo({ ...node, status: { ...node.status, images: listed } });
  };
  const using = (...images: readonly string[]) =>
    makePod("p", { containers: images.map((image, i) => ({ name: `c${i}`, image })) });
  const table: readonly (readonly [
    string,
    SchedulablePod,
    readonly Readonly<Record<string, number>>[],
    readonly number[],
  ])[] = [
    ["nobody has it", using("nginx"), [{}, {}], [0, 0]],
    ["half of the nodes have 500 MB: (250 - 23) / 977", using("nginx"), [{ "nginx:latest": 500 }, {}], [23, 0]],
    ["all have it", using("nginx:1.25"), [{ "nginx:1.25": 500 }, { "nginx:1.25": 500 }], [48, 48]],
    ["below 23 MB", using("pause"), [{ "pause:latest": 1 }, {}], [0, 0]],
    ["above 1000 MB", using("big"), [{ "big:latest": 4000 }, {}], [100, 0]],
    ["a port is no tag", using("r:5000/nginx"), [{ "r:5000/nginx:latest": 500 }, {}], [23, 0]],
    ["two containers: (250 - 23) / 1977", using("nginx", "other"), [{ "nginx:latest": 500 }, {}], [11, 0]],
  ];
  for (const [name, incoming, images, want] of table) {
    const nodes = images.map((one, i) => withImages(`n${i}`, one));
    test(name, () => assert.deepEqual(scored(IMAGE_LOCALITY, incoming, nodes), want));
  }
});
