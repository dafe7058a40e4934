import assert from "node:assert/strict";
import { test } from "vitest";
import type { TraceEvent } from "../../../../src/trace/events.js";
import { translated } from "../../../../src/trace/translated.js";
import type { At, Block } from "../../../../src/trace/ui/browser/chapters/chapter.js";
import { CHAPTERS } from "../../../../src/trace/ui/browser/chapters/registry.js";
import { Scene } from "../../../../src/trace/ui/browser/chapters/scene.js";
import words from "../../../../src/trace/ui/browser/content/words.zh.json" with { type: "json" };
import { Cluster } from "../../../../src/trace/ui/browser/picture/cluster.js";
import { PageState } from "../../../../src/trace/ui/browser/state.js";
import { factLine, parseFacts } from "../../../../src/trace/ui/facts.js";
import { zh } from "../../../../src/util/i18n/sentences/zh.js";
import { Sentences } from "../../../../src/util/i18n/sentences.js";
import {
  bootstrapFacts,
  evictionFacts,
  execFacts,
  leaseFacts,
  plegFacts,
  podWorkerFacts,
  renewalFacts,
  requestFacts,
  schedulerFacts,
  twoNodesFacts,
} from "./chapter-facts.js";

const SIGNS = { done: "+", now: "*", ahead: "-", bad: "!", gone: "x" };

/** `* the way's station: text, code`; a slot: `* name: what waits > what its worker does` */
function linesOf(block: Block): string[] {
  switch (block.kind) {
    case "line":
      return [`${SIGNS[block.tone]} ${[block.text, block.sub].filter(Boolean).join(" | ")}`];
    case "meter":
      return [`${block.ms / 1000} of ${block.maxMs / 1000}: ${block.text}`];
    case "way":
      return block.marks.map(({ tone, title, text, code }) =>
        tone === "ahead" ? `- ${title}` : `${SIGNS[tone]} ${[title, text, code].filter(Boolean).join(" | ")}`,
      );
    case "slots":
      return block.slots.map(({ tone, name, waiting, doing }) => `${SIGNS[tone]} ${name}: ${waiting} > ${doing}`);
    case "table":
      return block.rows.map(
        ({ tone, cells }) =>
          `${SIGNS[tone]} ${cells.map((one) => (typeof one === "string" ? one : `${one.text} (${one.share.toFixed(2)})`)).join(" | ")}`,
      );
  }
}

/** A chapter's picture after the first facts of a trace. */
function pictureOf(id: string, events: readonly TraceEvent[], count: number, live: Partial<At> = {}): string[] {
  const [scene, all, ever] = [new Scene(), new Scene(), new Cluster(true)];
  const facts = parseFacts(events.map(factLine).join(""));
  for (const [i, { event, bodies }] of facts.entries()) {
    if (i < count) scene.add(event, bodies);
    all.add(event, bodies);
    ever.add(event, bodies);
  }
  const chapter = CHAPTERS.find((one) => one.id === id) ?? assert.fail(id);
  const event = facts[count - 1]?.event;
  const at = { nowMs: event?.atMs ?? 0, cluster: scene.cluster, ever, event, ...live };
  return chapter.draw(scene.models.get(chapter), all.models.get(chapter), at).flatMap(linesOf);
}

const FILTERS = "+ ";
const pictures: readonly (readonly [
  id: string,
  facts: () => TraceEvent[],
  moments: readonly (readonly [count: number, ...lines: string[]])[],
])[] = [
  [
    "pod-workers",
    podWorkerFacts,
    [
      [0, "- default/web: no update waits > does not exist yet"],
      [1, "* default/web: no update waits > waits for a status newer than its last sync"],
      [3, "* default/web: no update waits > syncPod runs: create"],
      [4, "* default/web: 1 update waits: sync > syncPod runs: create"],
      [5, "* default/web: 3 updates merged into the newest: reconcile > syncPod runs: create"],
      [6, "* default/web: no update waits > waits for a status newer than its last sync"],
      [7, "* default/web: no update waits > syncPod runs: the newest of 3 updates"],
      [8, "+ default/web: no update waits > is idle"],
    ],
  ],
  [
    "bootstrap",
    bootstrapFacts,
    [
      [
        1,
        "- The kubelet holds no credential yet.",
        "+ bootstrap token abcdef.**** | the API server trusts it: it has this Secret | kube-system/bootstrap-token-abcdef",
        "- private key",
        "- certificate signing request",
        "- approved",
        "- signed by the cluster's CA",
        "- client certificate system:node:node-1",
      ],
      [
        5,
        "* The kubelet is system:bootstrap:abcdef",
        "+ bootstrap token abcdef.**** | the API server trusts it: it has this Secret | kube-system/bootstrap-token-abcdef",
        "+ private key | /n/kubelet.key: generated, readable by its owner only",
        "+ certificate signing request | asked with the token | node-csr-abc",
        "* approved | it may",
        "- signed by the cluster's CA",
        "- client certificate system:node:node-1",
      ],
      [
        6,
        "* The kubelet is system:bootstrap:abcdef",
        "+ bootstrap token abcdef.**** | the API server trusts it: it has this Secret | kube-system/bootstrap-token-abcdef",
        "+ private key | /n/kubelet.key: generated, readable by its owner only",
        "+ certificate signing request | asked with the token | node-csr-abc",
        "+ approved | it may",
        "* signed by the cluster's CA | valid until 2027-01-01T00:00:00Z",
        "- client certificate system:node:node-1",
      ],
      [
        9,
        "* The kubelet is system:node:node-1",
        "x bootstrap token abcdef.**** | deleted: nobody can join with it | kube-system/bootstrap-token-abcdef",
        "+ private key | /n/kubelet.key: generated, readable by its owner only",
        "+ certificate signing request | asked with the token | node-csr-abc",
        "+ approved | it may",
        "+ signed by the cluster's CA | valid until 2027-01-01T00:00:00Z",
        "* client certificate system:node:node-1 | the API server trusts it: its CA signed it | /n/kubelet.pem",
      ],
    ],
  ],
  [
    "hops",
    execFacts,
    [
      [
        2,
        "+ client → API server | POST /api/v1/namespaces/default/pods/nettool/exec?command=date&container=nettool&stdout=true",
        "* API server → kubelet | POST https://127.0.0.1:10250/exec/default/nettool/nettool?command=date&output=1",
        "- the kubelet serves",
        "- kubelet → runtime, by gRPC",
        "- kubelet → streaming server of the runtime",
        "- the connection carries the streams",
        "- the connection has ended",
      ],
      [
        7,
        "+ client → API server | POST /api/v1/namespaces/default/pods/nettool/exec?command=date&container=nettool&stdout=true",
        "+ API server → kubelet | POST https://127.0.0.1:10250/exec/default/nettool/nettool?command=date&output=1",
        "+ the kubelet serves | POST /exec/default/nettool/nettool",
        "+ kubelet → runtime, by gRPC | RuntimeService/Exec → OK",
        "+ kubelet → streaming server of the runtime | http://127.0.0.1:4000/exec/q1****",
        "+ the connection carries the streams | upgraded to SPDY/3.1, v4.channel.k8s.io",
        "* the connection has ended | ended: 173 bytes to the runtime, 209 bytes from it",
      ],
    ],
  ],
  [
    "eviction",
    evictionFacts,
    [
      [0, "- No threshold is met yet.", "-  | default/mild", "-  | default/bold", "-  | default/steady"],
      [
        2,
        "! memory.available is below its threshold of 100Mi | 75Mi of 1Gi are available, and 100Mi must be; a hard threshold: act at once",
        "! 1. | default/mild | 130Mi (0.46) | 50Mi | yes | 0 | goes first",
        "+ 2. | default/bold | 240Mi (0.86) | 50Mi | yes | 1000 | ",
        "+ 3. | default/steady | 280Mi (1.00) | 300Mi | no | 0 | ",
      ],
      [
        3,
        "! memory.available is below its threshold of 100Mi | 75Mi of 1Gi are available, and 100Mi must be; a hard threshold: act at once",
        "x 1. | default/mild | 130Mi (0.46) | 50Mi | yes | 0 | evicted",
        "+ 2. | default/bold | 240Mi (0.86) | 50Mi | yes | 1000 | ",
        "+ 3. | default/steady | 280Mi (1.00) | 300Mi | no | 0 | ",
      ],
    ],
  ],
  [
    "scheduler",
    schedulerFacts,
    [
      [
        1,
        "- no pod was scheduled yet",
        "- node-2",
        "- node-1",
        "- node-3",
        `${FILTERS}The filters, in their order: NodeName, TaintToleration`,
      ],
      [
        2,
        "* default/web goes to node-2",
        "* ➜ node-2 | ✓ passed | 200 (1.00) | NodeAffinity 200",
        "+ node-1 | ✓ passed | 50 (0.25) | ImageLocality 50",
        "! node-3 | ✕ TaintToleration: node(s) had untolerated taint {a: b}",
        `${FILTERS}The filters, in their order: NodeName, TaintToleration`,
      ],
    ],
  ],
  [
    "request",
    requestFacts,
    [
      [
        6,
        "* POST /api/v1/namespaces/default/pods",
        "+ authentication | kubernetes-admin",
        "+ authorization | allow create /api/v1/namespaces/default/pods",
        "- decoding and defaults",
        "* mutating admission | Priority and 1 more",
        "- validation",
        "- validating admission",
        "- storage",
        "- answer",
      ],
      [
        9,
        "* POST /api/v1/namespaces/default/pods",
        "+ authentication | kubernetes-admin",
        "+ authorization | allow create /api/v1/namespaces/default/pods",
        "- decoding and defaults",
        "+ mutating admission | Priority and 1 more",
        "+ validation | find Pod web valid",
        "+ validating admission | accept create of pods default/web",
        "* storage | if no entry has the key, then keep the object with the next revision, else change nothing | transaction on /registry/pods/default/web: revision 144",
        "- answer",
      ],
    ],
  ],
  [
    "request",
    () => requestFacts(true),
    [
      [
        9,
        "* POST /api/v1/namespaces/default/pods",
        "+ authentication | kubernetes-admin",
        "+ authorization | allow create /api/v1/namespaces/default/pods",
        "x decoding and defaults | not reached",
        "+ mutating admission | Priority and 1 more",
        "+ validation | find Pod web valid",
        "! validating admission | refuse create of pods default/web: ResourceQuota: exceeded quota",
        "x storage | not reached",
        "! answer | answer 403: 247 bytes of application/json: Accept: application/json",
      ],
    ],
  ],
  [
    "pleg",
    plegFacts,
    [
      [3, "- no relist yet", "* default/web/app | running | ≠ nothing: until the next relist"],
      [
        5,
        "+ last relist 0.0 s ago",
        "180 of 180: healthy: after 180 s without a relist the node would be NotReady",
        "+ default/web/app | running | running",
      ],
      [
        7,
        "+ last relist 8.9 s ago",
        "171.1 of 180: healthy: after 180 s without a relist the node would be NotReady",
        "* a relist began 8.0 s ago and waits for the runtime",
        "* default/web/app | exited (1, Error) | ≠ running: until the next relist",
      ],
      [
        8,
        "+ last relist 0.0 s ago",
        "180 of 180: healthy: after 180 s without a relist the node would be NotReady",
        "+ default/web/app | exited (1, Error) | exited",
      ],
    ],
  ],
  [
    "lease",
    leaseFacts,
    [
      [
        1,
        "40 of 40: 40 s of 40 s are left",
        "* node node-1 renews its Lease | Lease renewed 0 s ago",
        "- Ready becomes Unknown",
        "- taint",
        "- pod default/hasty",
        "- pod default/patient",
      ],
      [
        3,
        "10 of 40: 10 s of 40 s are left",
        "* node node-1 no longer renews its Lease | Lease renewed 30 s ago",
        "- Ready becomes Unknown",
        "- taint",
        "- pod default/hasty",
        "- pod default/patient",
      ],
      [
        7,
        "0 of 40: 0 s of 40 s are left",
        "! node node-1 no longer renews its Lease | Lease renewed 43 s ago",
        "+ Ready becomes Unknown",
        "+ taint | node.kubernetes.io/unreachable:NoExecute",
        "+ pod default/hasty | to be deleted in 20 s",
        "* pod default/patient | to be deleted in 300 s",
      ],
      [
        8,
        "0 of 40: 0 s of 40 s are left",
        "! node node-1 no longer renews its Lease | Lease renewed 63 s ago",
        "+ Ready becomes Unknown",
        "+ taint | node.kubernetes.io/unreachable:NoExecute",
        "* pod default/hasty | Terminating",
        "+ pod default/patient | to be deleted in 280 s",
      ],
    ],
  ],
];

test("the Lease chapter shows the node that joined last, not the one that was there", () => {
  for (const [count, line] of [
    [1, "- node atlas renews its Lease"],
    [3, "* node atlas renews its Lease | Lease renewed 5 s ago"],
    [5, "* node atlas renews its Lease | Lease renewed 5 s ago"],
  ] as const)
    assert.deepEqual(pictureOf("lease", twoNodesFacts(), count), [line], `after ${count}`);
});

const pleg = { actor: "kubelet", instance: "node-1", chapter: "pleg" } as const;
const upstream = { file: "pkg/kubelet/pleg/generic.go", func: "relist" };

test("the PLEG chapter at a relist's step knows that this relist finds the change, and beyond the threshold that the node is NotReady", () => {
  const found = { ...pleg, seq: 4, id: "4", atMs: 2050, level: 1, kind: "step", title: "Relist 1: 1 change", upstream };
  const facts = plegFacts().toSpliced(4, 0, found as TraceEvent);
  const late = pictureOf("pleg", facts, 5, { nowMs: 190_000 });
  assert.equal(pictureOf("pleg", facts, 5).at(-1), "* default/web/app | running | ≠ nothing: this relist finds it");
  assert.match(late[1] ?? "", /not healthy: 180 s without a relist, so the node is NotReady/);
});

test("a live PLEG chapter shows a relist that hangs before any fact tells of it; by the facts, one that failed does not hang", () => {
  const facts = plegFacts();
  const at = (all: readonly TraceEvent[], nowMs: number, relist?: At["relist"]) =>
    pictureOf("pleg", all, all.length, { nowMs, relist });
  const waits = "* a relist began 6.7 s ago and waits for the runtime";
  // A relist that changed nothing is no fact of a quiet page.
  const live = at(facts, 19_800, { nowMs: 19_800, lastMs: 12_100, beganMs: 13_100 });
  assert.deepEqual([live[0], live[2]], ["+ last relist 7.7 s ago", waits]);
  const first = facts.slice(0, 1);
  assert.deepEqual(at(first, 2500, { nowMs: 2500, beganMs: 1000 }), ["- no relist yet", waits.replace("6.7", "1.5")]);
  assert.deepEqual(at(first, 2500, { nowMs: 2500, beganMs: 2400 }), ["- no relist yet"]);
  const rpc = facts[3] ?? assert.fail("plegFacts has a list");
  const failed = { ...rpc, seq: 10, id: "10", atMs: 19_700, durationMs: 6600, code: "DEADLINE_EXCEEDED" } as TraceEvent;
  assert.equal(at([...facts, failed], 19_800).length, 3);
  assert.equal(at([...facts, failed], 19_600)[2], waits.replace("6.7", "6.5"));
});

test("the Lease chapter at a renewal's request has the time that it was renewed to", () => {
  const [left, node] = pictureOf("lease", renewalFacts(), 2);
  assert.deepEqual(
    [left, node],
    ["39 of 40: 39 s of 40 s are left", "* node node-1 renews its Lease | Lease renewed 1 s ago"],
  );
});

test.each(pictures)("chapter %s: its picture at each moment", (id, facts, moments) => {
  for (const [count, ...lines] of moments) assert.deepEqual(pictureOf(id, facts(), count), lines, `after ${count}`);
});

test.each(pictures)(
  "chapter %s: a trace in Chinese gives the same picture, with its sentences in Chinese",
  (id, facts, moments) => {
    const { say } = new Sentences(zh);
    const shapeOf = (lines: readonly string[]) => lines.map((line) => line.replace(/^(.).*$/s, "$1"));
    for (const [count, ...lines] of moments) {
      const chinese = facts().map((event) => translated(event, say));
      assert.deepEqual(shapeOf(pictureOf(id, chinese, count)), shapeOf(lines), `after ${count}`);
    }
  },
);

test("a scene knows the chapter of the latest fact and that of the command; other facts change no model", () => {
  const scene = new Scene();
  for (const event of schedulerFacts()) scene.add(event);
  assert.deepEqual([scene.latest?.id, scene.main?.id, scene.models.size], ["scheduler", undefined, 1]);
  const before = new Map(scene.models);
  scene.add({ seq: 9, id: "9", atMs: 9, actor: "user", level: 1, kind: "note", text: "hello" });
  assert.deepEqual([...scene.models], [...before]);
  for (const event of execFacts()) scene.add(event);
  assert.equal(scene.main?.id, "hops");
});

/** A run of which no chapter is the command's own: a pod is created, scheduled, and started by its node. */
function journeyFacts(): TraceEvent[] {
  const renamed = (first: string, events: readonly TraceEvent[]) =>
    events.map((event) => ({
      ...event,
      id: `${first}${event.id.slice(1)}`,
      ...(event.causedBy === undefined ? {} : { causedBy: `${first}${event.causedBy.slice(1)}` }),
    }));
  const patched = requestFacts().map((event) =>
    event.kind === "request"
      ? { ...event, actor: "kubelet" as const }
      : { ...event, ...(event.kind === "decision" ? { why: event.why.replace("POST", "PATCH") } : {}) },
  );
  return [
    ...requestFacts(),
    ...renamed("a", schedulerFacts()),
    ...renamed("b", podWorkerFacts()),
    ...renamed("c", plegFacts()),
    ...renamed("d", patched),
  ].map((event, i) => ({ ...event, chapter: "journey", seq: i + 1, atMs: (i + 1) * 10 }));
}

test("without a chapter of the command's own, each step shows the chapter that it is about", () => {
  const state = new PageState({ isLive: false });
  state.load(parseFacts(journeyFacts().map(factLine).join("")));
  const shownAt = (find: (event: TraceEvent) => boolean) => {
    state.select(state.story.steps.find(({ event }) => find(event)));
    return state.shownChapter.value?.id;
  };
  const shown = [
    shownAt(({ kind, actor }) => kind === "request" && actor === "user"),
    shownAt(({ kind, actor }) => kind === "decision" && actor === "scheduler"),
    shownAt(({ kind, id }) => kind === "decision" && id.startsWith("b")),
    shownAt(({ actor }) => actor === "runtime"),
    shownAt(({ kind, actor }) => kind === "request" && actor === "kubelet"),
  ];
  assert.deepEqual(shown, ["request", "scheduler", "pod-workers", "pleg", "request"]);
});

test("after a search that leaves the selected step out, the player stands at the last row before it", () => {
  const state = new PageState({ isLive: false });
  state.load(parseFacts(journeyFacts().map(factLine).join("")));
  state.look("all");
  state.select(state.story.steps.at(-1));
  state.change({ search: "scheduler" });
  const { length } = state.rows.value;
  assert.ok(length > 0 && state.row.value === -1);
  assert.equal(state.place.value, length - 1);
});

test("the Request chapter shows the request of the selected step, not the first one of the run", () => {
  const facts = journeyFacts();
  const lines = pictureOf("request", facts, facts.length - 1);
  assert.deepEqual(lines.slice(0, 2), [
    "* PATCH /api/v1/namespaces/default/pods",
    "+ authentication | kubernetes-admin",
  ]);
  assert.match(lines.at(-2) ?? "", /^\* storage/);
});

test("a token or certificate that the API server refuses is not one that the kubelet holds", () => {
  const facts = bootstrapFacts().map((event) => (event.kind === "request" ? { ...event, status: 401 } : event));
  assert.equal(pictureOf("bootstrap", facts, facts.length)[0], "- The kubelet holds no credential yet.");
});

test("titles of chapters and stations have a Chinese word", () => {
  const missing = CHAPTERS.filter(({ title }) => !(title in words)).map(({ title }) => title);
  assert.deepEqual(missing, []);
});

test("at a step of the story the picture has the answer to what the step sent, not only what came before it", () => {
  const last = bootstrapFacts().at(-1) ?? assert.fail();
  const step = { ...last, id: "step", kind: "step", title: "Test the new identity", seq: 90 };
  const asked = { ...last, causedBy: "step", seq: 91 };
  const told = { fact: "step", text: "tests the new identity" };
  const story = { ...last, id: "story", kind: "story", title: "node-1 joins", steps: [told], seq: 92 };
  const facts = [...bootstrapFacts().slice(0, -1), step, asked, story] as TraceEvent[];
  const state = new PageState({ isLive: false });
  state.load(parseFacts(facts.map(factLine).join("")));
  const { scene } = state.picture.value;
  const shown = state.shownChapter.value ?? assert.fail("no chapter is shown");
  const at = { nowMs: 0, cluster: scene.cluster, ever: scene.cluster, event: undefined };
  const [line] = shown.draw(scene.models.get(shown), scene.models.get(shown), at);
  assert.deepEqual(line && linesOf(line), ["* The kubelet is system:node:node-1"]);
});

test("a request and its answer: a picture has both at one step, or each at its own if the story tells the answer", () => {
  const [facts, last] = [requestFacts(), requestFacts().at(-1) ?? assert.fail()];
  const request = facts.find(({ kind }) => kind === "request") ?? assert.fail();
  const partsOf = (...told: readonly TraceEvent[]) => {
    const steps = told.map(({ id }) => ({ fact: id, text: "x" }));
    const story = { ...last, id: "story", kind: "story", title: "t", steps, seq: 90 } as TraceEvent;
    const state = new PageState({ isLive: false });
    state.load(parseFacts([...facts, story].map(factLine).join("")));
    return told.map(({ id }) => {
      state.select(state.story.get(id));
      const shown = state.shownChapter.value ?? assert.fail("no chapter is shown");
      const { cluster, now } = state.picture.value;
      const at = { nowMs: 0, cluster, ever: cluster, event: state.shownFact.value };
      const whole = now.models.get(shown);
      const lines = shown.draw(state.chapterScene.value.models.get(shown), whole, at).flatMap(linesOf);
      const { part, sent } = state.exchange.value;
      return [part, sent?.event.id, lines.filter((line) => line.startsWith("- ")).length, lines.at(-1)?.slice(0, 8)];
    });
  };
  assert.deepEqual(partsOf(request), [["both", undefined, 1, "* answer"]]);
  assert.deepEqual(partsOf(request, last), [
    ["question", undefined, 8, "- answer"],
    ["answer", request.id, 1, "* answer"],
  ]);
});
