import assert from "node:assert/strict";
import { test } from "vitest";
import type { Actor, Fact, TraceEvent } from "../../../../src/trace/events.js";
import { english } from "../../../../src/trace/ui/browser/language.js";
import { Cluster, stateOf } from "../../../../src/trace/ui/browser/picture/cluster.js";
import { zh } from "../../../../src/util/i18n/sentences/zh.js";
import { Sentences } from "../../../../src/util/i18n/sentences.js";

/** A fact in short: the actor, its node or the pod that it works on, and what happened. */
type Short = readonly [actor: Actor, where: { instance?: string; pod?: string }, fact: Fact];

const N1 = { instance: "n1" };
const WEB = { instance: "n1", pod: "default/web" };
const state = (subject: string, what: string, to: string, from?: string): Fact =>
  from === undefined ? { kind: "state", subject, what, to } : { kind: "state", subject, what, from, to };
const stored = (object: string, from?: string): Short => [
  "apiserver",
  {},
  state(object, "stored", "resourceVersion 2", from),
];
const deleted = (object: string): Short => [
  "apiserver",
  {},
  state(object, "deleted", "resourceVersion 3", "resourceVersion 2"),
];
const watched = (actor: Actor, type: "ADDED" | "MODIFIED" | "DELETED", resource: string, object: string): Short => [
  actor,
  {},
  { kind: "watch", type, resource, object },
];
const sandbox = (from: string, to: string): Short => ["runtime", WEB, state("default/web", "sandbox", to, from)];
const app = (from: string, to: string): Short => ["runtime", WEB, state("default/web/app", "container", to, from)];
const worker = (to: string): Short => ["kubelet", WEB, state("pod default/web", "worker", to)];
const relist = (...rows: string[]): Short => [
  "kubelet",
  N1,
  {
    kind: "table",
    title: "changes since the last relist",
    columns: ["pod", "container", "old", "new"],
    rows: rows.map((row) => row.split("|")),
  },
];
const note: Fact = { kind: "note", text: "hello" };

function clusterOf(facts: readonly Short[]): Cluster {
  const cluster = new Cluster();
  for (const [i, [actor, where, fact]] of facts.entries()) {
    const stamp = { seq: i, id: `${i}`, atMs: i, level: 1 };
    cluster.add({ ...stamp, actor, ...where, ...fact } as TraceEvent);
  }
  return cluster;
}

/** `web@n1 in API Running syncing ready [app running]` */
function wordsOf(cluster: Cluster): string[] {
  const nodes = [...cluster.nodes.values()].map((node) => {
    const parts = [node.hasKubelet ? "kubelet" : "", node.hasRuntime ? "runtime" : "", node.hasProxy ? "proxy" : ""];
    const api = node.isInApi === undefined ? "" : node.isInApi ? "in API" : "not in API";
    return ["node", node.name, ...parts, api, node.ready, node.renewTime].filter(Boolean).join(" ");
  });
  const pods = [...cluster.pods.values()].map((pod) => {
    const containers = [...pod.containers.values()].map(({ name, states, probes, starts }) =>
      [name, stateOf(states), ...[...probes].flat(), starts > 1 ? `x${starts}` : ""].filter(Boolean).join(" "),
    );
    const api = pod.isInApi === undefined ? "" : pod.isInApi ? "in API" : "not in API";
    const words = [`pod ${pod.name}@${pod.node ?? ""}`, api, pod.phase, pod.worker, stateOf(pod.sandbox), pod.warning];
    return `${words.filter(Boolean).join(" ")} [${containers.join(", ")}]`;
  });
  return [...nodes, ...pods, ...[...cluster.services].map((name) => `service ${name}`)];
}

const table: readonly (readonly [title: string, facts: readonly Short[], words: readonly string[]])[] = [
  ["nothing is there before a fact reports it", [["user", {}, note]], []],
  ["a kubelet makes a node, which the API may not know", [["kubelet", N1, note]], ["node n1 kubelet"]],
  ["a kube-proxy is a part of its node", [["proxy", N1, note]], ["node n1 proxy"]],
  ["a kube-proxy without a name has no node", [["proxy", {}, note]], []],
  [
    "a Service is there from its creation to its deletion",
    [
      stored("services a/web"),
      stored("services b/web"),
      stored("services a/web", "resourceVersion 1"),
      deleted("services b/web"),
    ],
    ["service a/web"],
  ],
  [
    "a call shows that the node has a runtime",
    [["kubelet", N1, { kind: "rpc", service: "RuntimeService", method: "Version", endpoint: "", durationMs: 1 }]],
    ["node n1 kubelet runtime"],
  ],
  [
    "a kubelet that does not say where it runs is on the only node that has a name",
    [
      ["kubelet", {}, note],
      stored("nodes n1"),
      ["runtime", { pod: "default/web" }, state("default/web", "sandbox", "ready", "none")],
    ],
    ["node n1 kubelet runtime in API", "pod default/web@n1 ready []"],
  ],
  [
    "with several nodes, nobody knows, and no node without a name is drawn",
    [stored("nodes n1"), stored("nodes n2"), ["kubelet", {}, note]],
    ["node n1 in API", "node n2 in API"],
  ],
  ["a kubelet that does not say where it runs", [["kubelet", {}, note]], ["node kubelet"]],
  [
    "a node is stored, reports Ready and renews its Lease",
    [
      stored("nodes n1"),
      ["kubelet", N1, state("Node n1", "Ready", "True (KubeletReady: posting)", "False")],
      ["kubelet", N1, state("Lease n1", "renewTime", "2026-01-01T00:00:00.000000Z (created)")],
    ],
    ["node n1 kubelet in API True (KubeletReady: posting) 2026-01-01T00:00:00.000000Z"],
  ],
  [
    "a controller finds that a node is silent",
    [stored("nodes n1"), ["controller", { instance: "nodelifecycle" }, state("node n1", "Ready", "Unknown", "True")]],
    ["node n1 in API Unknown"],
  ],
  ["a deleted node without a kubelet is gone", [stored("nodes n1"), deleted("nodes n1")], []],
  ["a pod waits for a node", [stored("pods default/web")], ["pod default/web@ in API []"]],
  [
    "the scheduler's Event names the node",
    [
      stored("pods default/web"),
      [
        "scheduler",
        { pod: "default/web" },
        {
          kind: "event",
          type: "Normal",
          reason: "Scheduled",
          message: "Successfully assigned default/web to n1",
          object: "Pod/web",
        },
      ],
    ],
    ["pod default/web@n1 in API []"],
  ],
  [
    "a pod runs: each state from the component that reports it",
    [
      stored("pods default/web"),
      worker("syncing"),
      sandbox("none", "ready"),
      app("none", "created"),
      app("created", "running"),
      ["kubelet", WEB, state("pod default/web", "phase", "Running", "Pending")],
      ["kubelet", WEB, state("container app of default/web", "readiness probe", "success")],
    ],
    ["node n1 kubelet runtime", "pod default/web@n1 in API Running syncing ready [app running readiness success]"],
  ],
  [
    "the removal of the old container says nothing about the new one",
    [
      sandbox("none", "ready"),
      app("none", "created"),
      app("created", "running"),
      app("running", "exited (1, Error)"),
      app("none", "created"),
      app("created", "running"),
      app("exited (1, Error)", "gone"),
    ],
    ["node n1 runtime", "pod default/web@n1 ready [app running x2]"],
  ],
  [
    "a warning stays until a container starts",
    [
      stored("pods default/web"),
      ["kubelet", WEB, { kind: "event", type: "Warning", reason: "BackOff", message: "", object: "Pod/default/web" }],
    ],
    ["node n1 kubelet", "pod default/web@n1 in API BackOff []"],
  ],
  [
    "without facts of the runtime, what PLEG knows",
    [relist("default/web|app 0123456789|non-existent|running", "default/web|sandbox 0123456789|non-existent|running")],
    ["node n1 kubelet", "pod default/web@n1 running [app running]"],
  ],
  [
    "a relist with a dead container of the same name",
    [relist("default/web|app 01|running|running", "default/web|app 00|exited|exited")],
    ["node n1 kubelet", "pod default/web@n1 [app running]"],
  ],
  [
    "a pod that is deleted from the API stays while the runtime has something of it",
    [
      stored("pods default/web"),
      worker("syncing"),
      sandbox("none", "ready"),
      app("none", "created"),
      app("created", "running"),
      app("running", "exited (0, Completed)"),
      sandbox("ready", "not ready"),
      worker("finished"),
      app("exited (0, Completed)", "gone"),
      deleted("pods default/web"),
    ],
    ["node n1 kubelet runtime", "pod default/web@n1 not in API finished not ready []"],
  ],
  [
    "then it is gone, and facts about it do not bring it back",
    [
      stored("pods default/web"),
      sandbox("none", "ready"),
      deleted("pods default/web"),
      sandbox("not ready", "gone"),
      sandbox("ready", "gone"),
      ["kubelet", WEB, note],
      watched("controller", "MODIFIED", "pods", "default/web"),
    ],
    ["node n1 kubelet runtime"],
  ],
  [
    "a foreign API server reports no writes: the first watch says what exists, later ones lag",
    [
      watched("user", "ADDED", "pods", "default/web"),
      watched("user", "DELETED", "pods", "default/web"),
      watched("kubelet", "MODIFIED", "pods", "default/web"),
    ],
    ["node kubelet"],
  ],
  [
    "hostile texts are names and nothing else",
    [
      stored("pods __proto__/constructor"),
      relist("|x|y|z", "a"),
      ["kubelet", N1, state("container of", "x probe", "y")],
    ],
    ["node n1 kubelet", "pod __proto__/constructor@ in API []"],
  ],
];

for (const [title, facts, words] of table) {
  test(`cluster: ${title}`, () => assert.deepEqual(wordsOf(clusterOf(facts)), words));
}

test("cluster: what ever was keeps its place", () => {
  const ever = new Cluster(true);
  const facts = [
    stored("pods default/web"),
    app("none", "running"),
    app("running", "gone"),
    deleted("pods default/web"),
  ];
  for (const object of ["deployments default/web", "services a/web", "nodes n2"])
    facts.push(stored(object), deleted(object));
  for (const [i, [actor, where, fact]] of facts.entries())
    ever.add({ seq: i, id: `${i}`, atMs: i, level: 1, actor, ...where, ...fact } as TraceEvent);
  assert.deepEqual([...ever.nodes.keys()], ["n1", "n2"]);
  assert.deepEqual([...(ever.pods.get("default/web")?.containers.keys() ?? [])], ["app"]);
  assert.deepEqual([[...ever.services], [...ever.workloads]], [["a/web"], ["deployments default/web"]]);
});

test("cluster: a pod's node is in the body that creates it, or in its binding", () => {
  const cluster = new Cluster();
  const call = { server: "", identity: "", durationMs: 1, auditId: "" };
  const post = (path: string, requestBody: unknown) => {
    const fact = { kind: "request", method: "POST", path, ...call } as const;
    const bodies = JSON.stringify({ requestBody });
    cluster.add({ seq: 1, id: path, atMs: 1, level: 1, actor: "user", ...fact }, bodies);
  };
  const pods = "/api/v1/namespaces/default/pods";
  post(pods, { metadata: { name: "hasty" }, spec: { nodeName: "n1" } });
  for (const [i, name] of ["hasty", "web"].entries())
    cluster.add({
      seq: 2,
      id: `${i}`,
      atMs: 2,
      level: 1,
      actor: "apiserver",
      ...state(`pods default/${name}`, "stored", "1"),
    });
  post(`${pods}/web/binding`, { target: { kind: "Node", name: "n2" } });
  assert.deepEqual([cluster.pods.get("default/hasty")?.node, cluster.pods.get("default/web")?.node], ["n1", "n2"]);
});

test("cluster: a pod's phase is in the status that was written, also by a node without pod workers", () => {
  for (const [status, phase] of [
    [200, "Running"],
    [409, undefined],
  ] as const) {
    const cluster = clusterOf([stored("pods default/web")]);
    const path = "/api/v1/namespaces/default/pods/web/status";
    const call = {
      kind: "request",
      method: "PATCH",
      path,
      server: "",
      identity: "",
      durationMs: 1,
      auditId: "",
    } as const;
    const bodies = JSON.stringify({ requestBody: { status: { phase: "Running" } } });
    cluster.add({ seq: 2, id: "2", atMs: 2, level: 1, actor: "kubelet", instance: "n1", ...call, status }, bodies);
    assert.equal(cluster.pods.get("default/web")?.phase, phase);
  }
});

test("cluster: facts in Chinese are read as in English", () => {
  const chinese: readonly Short[] = [
    ["apiserver", {}, state("pods default/web", "已存入", "resourceVersion 2")],
    ["runtime", WEB, state("default/web", "sandbox", "就绪", "无")],
    ["runtime", WEB, state("default/web/app", "容器", "运行中", "已创建")],
    ["kubelet", WEB, state("Pod default/web", "phase", "Running", "Pending")],
    ["kubelet", WEB, state("Pod default/web", "worker", "同步中")],
    ["kubelet", WEB, state("default/web 的容器 app", "readiness 探针", "success")],
  ];
  assert.deepEqual(wordsOf(clusterOf(chinese)), [
    "node n1 kubelet runtime",
    "pod default/web@n1 in API Running syncing ready [app running readiness success]",
  ]);
});

test("cluster: the Chinese words are those of the catalogue", () => {
  const { say } = new Sentences(zh);
  for (const word of [
    "stored",
    "deleted",
    "container",
    "none",
    "created",
    "running",
    "ready",
    "syncing",
    "changes since the last relist",
  ])
    assert.equal(english(say(word)), word);
  for (const text of ["node n1", "container app of a/web", "liveness probe"]) assert.equal(english(say(text)), text);
});

test("cluster: counts what the API server stores, and names the controllers that report", () => {
  const { writes, controllers, actors } = clusterOf([
    stored("secrets a/b"),
    stored("secrets a/b", "resourceVersion 1"),
    deleted("secrets a/b"),
    ["controller", { instance: "csrsigning" }, note],
    watched("scheduler", "ADDED", "secrets", "a/b"),
  ]);
  assert.deepEqual(writes, { created: 1, changed: 1, deleted: 1 });
  assert.deepEqual([...controllers], ["csrsigning"]);
  assert.deepEqual([...actors], ["apiserver", "controller", "scheduler"]);
});

test("a pod is marked for deletion until a new one has its name", () => {
  const marked = ["apiserver", {}, state("Pod default/web", "deletionTimestamp", "2026-01-01T00:00:30Z")] as const;
  const isMarked = (...facts: readonly Short[]) => clusterOf(facts).pods.get("default/web")?.isMarked;
  const created = stored("pods default/web");
  assert.deepEqual(
    [isMarked(created), isMarked(created, marked), isMarked(created, marked, created)],
    [false, true, false],
  );
});
