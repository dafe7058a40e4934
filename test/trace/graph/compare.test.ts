import assert from "node:assert/strict";
import { test } from "vitest";
import type { TraceEvent } from "../../../src/trace/events.js";
import { compareTraces } from "../../../src/trace/graph/compare.js";
import { TraceGraph } from "../../../src/trace/graph/graph.js";
import { normalText } from "../../../src/trace/graph/normal-text.js";
import { fact, note, request, rpc } from "../facts.js";

const GENERATED = [
  ["/api/v1/pods/6ed504c7-d820-4b11-bd6a-0ce98cb0fbde", "/api/v1/pods/UID"],
  ["Pod default/web-5d4f7c9b8d-x2x4z", "Pod default/web-NAME"],
  ["job-7xk2p is done", "job-NAME is done"],
  [
    "fieldSelector=metadata.name%3Dnode-csr-9Q-ULqsjzJSmqARoqXGqtaPptbsq-2xospYI2dSgrno&x",
    "fieldSelector=metadata.name%3Dnode-csr-HASH&x",
  ],
  ["token x083z4.**** of bootstrap-token-x083z4", "token TOKEN of bootstrap-token-ID"],
  ["at 2026-11-23T01:56:04.337000Z", "at TIME"],
  ["https://127.0.0.1:42043/healthz", "https://127.0.0.1:PORT/healthz"],
  ["container 3f2a9c81d04be5f7a6c1", "container HASH"],
  ["renew in 7m12s, took 12 ms", "renew in DURATION, took DURATION"],
  ["pods?resourceVersion=96&timeoutSeconds=411&watch=true", "pods?resourceVersion=N&timeoutSeconds=N&watch=true"],
  ["pod IP 10.244.1.17", "pod IP IP"],
  ["events node-1.**** and node-1.18eaa84eef1d32f9", "events node-1.HASH and node-1.HASH"],
  ["kube-proxy and coredns stay", "kube-proxy and coredns stay"],
  ["Ready: 3 of 5 replicas, level 2", "Ready: 3 of 5 replicas, level 2"],
] as const;
for (const [text, normal] of GENERATED) {
  test(`normalText: ${text}`, () => assert.equal(normalText(text), normal));
}

const texts = (events: readonly TraceEvent[]) =>
  events.map((event) => (event.kind === "note" ? event.text : event.kind));
const notes = (...words: readonly string[]) =>
  TraceGraph.of(words.map((text, i) => note(`${i}`, { atMs: i, text } as object)));

test("compareTraces: the same facts with other ids, times and names are no difference", () => {
  const run = (uid: string, atMs: number) =>
    TraceGraph.of([
      request(uid, { atMs, path: `/api/v1/pods/${uid}`, causedBy: `${uid}-cause` }),
      note("n", { atMs: atMs + 1 }),
      rpc("r", { atMs: atMs + 9, durationMs: 5 }),
    ]);
  const { pairs, onlyA, onlyB, ...differences } = compareTraces(
    run("6ed504c7-d820-4b11-bd6a-0ce98cb0fbde", 10),
    run("11111111-d820-4b11-bd6a-0ce98cb0fbde", 70),
  );
  assert.deepEqual([pairs.length, onlyA.length, onlyB.length], [3, 0, 0]);
  assert.deepEqual(differences, { nodes: [], moved: [], fields: [], times: [] });
});

test("compareTraces: a node with another name is the same node", () => {
  const run = (node: string, ...more: readonly string[]) =>
    TraceGraph.of(
      [node, ...more].flatMap((instance, i) => [
        note(`${i}a`, { atMs: i, actor: "kubelet", instance, text: `Register node ${instance}.` } as object),
        request(`${i}b`, {
          atMs: i,
          path: `/nodes?fieldSelector=metadata.name%3D${instance}`,
          actor: "kubelet",
          instance,
        }),
        note(`${i}c`, {
          atMs: i,
          actor: "kubelet",
          instance,
          text: `mirror pod web-${instance}, Event ${instance}.18eaa84eef1d32f9`,
        } as object),
        note(`${i}d`, { atMs: i, text: `${instance}-neighbour and my.${instance} are others` } as object),
      ]),
    );
  const { nodes, pairs, onlyA, onlyB, fields } = compareTraces(run("node-1"), run("kind-worker.local"));
  assert.deepEqual(nodes, [{ a: "node-1", b: "kind-worker.local" }]);
  assert.deepEqual([pairs.length, fields.length], [3, 0]);
  assert.deepEqual(
    [texts(onlyA), texts(onlyB)],
    [
      ["node-1-neighbour and my.node-1 are others"],
      ["kind-worker.local-neighbour and my.kind-worker.local are others"],
    ],
  );
  assert.deepEqual(compareTraces(run("node-1", "n2"), run("n3", "node-1")).nodes, [{ a: "n2", b: "n3" }]);
  assert.deepEqual(compareTraces(run("node-1"), run("node-1", "n3")).nodes, []);
});

const ORDERS = [
  // one run        the other         only there  only here  moved
  ["a b c d", "a b c d", "", "", ""],
  ["a b c", "a c", "b", "", ""],
  ["a c", "a b c", "", "b", ""],
  ["a b c d e", "a e b c d", "", "", "e"],
  ["a a b", "b a a a", "", "a", "b"],
  ["a b", "c d", "a b", "c d", ""],
] as const;
for (const [a, b, onlyA, onlyB, moved] of ORDERS) {
  test(`compareTraces: ${a} and ${b}`, () => {
    const found = compareTraces(notes(...a.split(" ")), notes(...b.split(" ")));
    assert.deepEqual(
      [texts(found.onlyA), texts(found.onlyB), texts(found.moved.map((pair) => pair.a))].map((list) => list.join(" ")),
      [onlyA, onlyB, moved],
    );
  });
}

test("compareTraces: actors that work at the same time may take turns in another way", () => {
  const run = (kubeletMs: number) =>
    TraceGraph.of([note("u1", { atMs: 1 }), note("u2", { atMs: 3 }), note("k", { atMs: kubeletMs, actor: "kubelet" })]);
  assert.deepEqual(compareTraces(run(2), run(9)).moved, []);
});

test("compareTraces: fields with other values, by their names", () => {
  const decision = (why: string, value: string) => {
    return fact("d", { kind: "decision", what: "wait", why, constants: [{ name: "grace", value }] }, {});
  };
  const a = TraceGraph.of([
    request("r", { status: 201 }),
    decision("it is 2026-11-23T01:56:04Z", "40 s"),
    rpc("c", {}),
  ]);
  const b = TraceGraph.of([
    request("r", { status: 409, outcome: "AlreadyExists" }),
    decision("it is 2027-11-23T01:56:04Z", "50 pods"),
    rpc("c", { code: "NotFound" }),
  ]);
  assert.deepEqual(
    compareTraces(a, b).fields.map(({ field, from, to }) => [field, from, to]),
    [
      ["status", "201", "409"],
      ["outcome", "-", "AlreadyExists"],
      ["constants", "grace = 40 s", "grace = 50 pods"],
      ["code", "OK", "NotFound"],
    ],
  );
});

test("compareTraces: what took clearly longer, the largest difference first", () => {
  const run = (...durations: readonly number[]) => {
    return TraceGraph.of(durations.map((durationMs, i) => request(`${i}`, { atMs: 1_000, durationMs, path: `/${i}` })));
  };
  const { times } = compareTraces(run(10, 1, 100, 100, 50), run(19, 9, 140, 160, 500));
  assert.deepEqual(
    times.map(({ fromMs, toMs }) => [fromMs, toMs]),
    [
      [50, 500],
      [100, 160],
    ],
  );
});

test("compareTraces: two runs of 10,000 facts in reverse order", () => {
  const words = Array.from({ length: 10_000 }, (_, i) => `fact ${i}`);
  const { pairs, moved } = compareTraces(notes(...words), notes(...words.toReversed()));
  assert.deepEqual([pairs.length, moved.length], [10_000, 9_999]);
});
