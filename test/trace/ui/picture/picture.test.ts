import assert from "node:assert/strict";
import { test } from "vitest";
import { Moment } from "../../../../src/trace/ui/browser/chapters/moment.js";
import { messageName } from "../../../../src/trace/ui/browser/message-name.js";
import type { Container, Pod } from "../../../../src/trace/ui/browser/picture/cluster.js";
import { FLIGHT_MS, Flights } from "../../../../src/trace/ui/browser/picture/flights.js";
import { type Message, messageOf } from "../../../../src/trace/ui/browser/picture/messages.js";
import { containerStatus, nodeStatus, podStatus } from "../../../../src/trace/ui/browser/picture/status.js";
import { concerns, keyOf, type Thing, thingWords } from "../../../../src/trace/ui/browser/picture/things.js";
import { wireAround, wireBetween } from "../../../../src/trace/ui/browser/picture/wire.js";
import { Story } from "../../../../src/trace/ui/browser/story.js";
import { titleOf } from "../../../../src/trace/ui/browser/words.js";
import { factLine, parseFacts } from "../../../../src/trace/ui/facts.js";
import { execFacts } from "../chapters/chapter-facts.js";
import { PageFacts, podFacts } from "../page-facts.js";

function podStory(): Story {
  const story = new Story();
  story.add(parseFacts(podFacts().map(factLine).join("")));
  return story;
}

const ways: readonly (readonly [title: string, way: string | undefined])[] = [
  ["Create the pod", undefined],
  ["POST /api/v1/namespaces/default/pods", "user > apiserver, request"],
  ["pods default/web: stored 1", "apiserver > storage, write"],
  ["bind default/web to n1", undefined],
  ["watch event ADDED pods default/web", "apiserver > kubelet n1, watch"],
  ["RuntimeService/StartContainer", "kubelet n1 > runtime n1, rpc"],
  ["PATCH /api/v1/namespaces/default/pods/web/status", "kubelet n1 > apiserver, request"],
];
for (const [title, way] of ways) {
  test(`messages: ${title}: ${way ?? "stays inside"}`, () => {
    const step = podStory().steps.find(({ event }) => titleOf(event) === title) ?? assert.fail(title);
    const message = messageOf(step);
    assert.equal(message && `${message.from} > ${message.to}, ${message.kind}`, way);
  });
}

test("messages: exec goes hop by hop, and the streams of a node are between its kubelet and its runtime", () => {
  const story = new Story();
  story.add(execFacts().map((event) => ({ event, bodies: undefined })));
  const sent = story.steps.map(messageOf).map((one) => one && `${one.from} > ${one.to}`);
  assert.deepEqual(sent, [
    "user > apiserver",
    "apiserver > kubelet node-1",
    undefined,
    "kubelet node-1 > runtime node-1",
    "kubelet node-1 > runtime node-1",
    "runtime node-1 > kubelet node-1",
    "runtime node-1 > kubelet node-1",
  ]);
});

const names: readonly (readonly [path: string, name: string])[] = [
  ["POST /api/v1/namespaces/default/pods", "create Pod"],
  ["POST /api/v1/namespaces/default/pods/web/binding", "Binding web → n1"],
  ["PATCH /api/v1/namespaces/default/pods/web/status", "patch Pod web status"],
  ["GET /apis/apps/v1/namespaces/a/replicasets/web-5d9c", "get ReplicaSet web-5d9c"],
  ["GET /api/v1/nodes?watch=true", "watch nodes"],
  ["GET /api/v1/namespaces/default", "get Namespace default"],
  ["GET /api/v1/pods?limit=500", "list pods"],
  ["DELETE /apis/coordination.k8s.io/v1/namespaces/x/leases/n1", "delete Lease n1"],
  ["POST /exec/default/web/app?command=ls", "POST /exec/default/web/app"],
];
for (const [line, name] of names) {
  test(`messages: ${line} is ${name}`, () => {
    const [method = "", path = ""] = line.split(" ");
    const facts = new PageFacts();
    const call = { server: "", identity: "", durationMs: 1, auditId: "" };
    facts.add({ kind: "request", method, path, ...call }, { actor: "scheduler" });
    const story = new Story();
    const [step] = story.add(facts.events.map((event) => ({ event, bodies: undefined })));
    assert.equal(step && messageName(step, "n1"), name);
  });
}

test("messages: watch events and calls have their names too", () => {
  const names = podStory().steps.map((step) => messageName(step));
  assert.ok(names.includes("Pod web ADDED"), names.join());
  assert.ok(names.includes("StartContainer"), names.join());
  assert.ok(names.includes("create Pod web"), names.join());
});

const things: readonly (readonly [thing: Thing, words: string, steps: number])[] = [
  [{ kind: "user", name: "" }, "user", 2],
  [{ kind: "apiserver", name: "" }, "API server", 4],
  [{ kind: "storage", name: "" }, "storage", 1],
  [{ kind: "node", name: "n1" }, "node n1", 5],
  [{ kind: "node", name: "" }, "this node", 1],
  [{ kind: "kubelet", name: "n1" }, "kubelet n1", 5],
  [{ kind: "runtime", name: "n1" }, "runtime n1", 1],
  [{ kind: "pod", name: "default/web" }, "pod default/web", 6],
  [{ kind: "container", name: "default/web/app" }, "container app of default/web", 1],
];
for (const [thing, words, count] of things) {
  test(`things: ${count} steps concern ${words}`, () => {
    assert.equal(thingWords(thing), words);
    assert.equal(podStory().steps.filter((step) => concerns(step, thing)).length, count);
  });
}

test("things: a Service's steps are those of its Endpoints and slices too", () => {
  const facts = new PageFacts();
  const store = (subject: string) =>
    facts.add({ kind: "state", subject, what: "stored", to: "1" }, { actor: "apiserver" });
  for (const subject of ["services a/web", "endpoints a/web", "endpointslices a/web-x2x4z"]) store(subject);
  for (const subject of ["services b/web", "endpointslices a/web-2-x2x4z", "pods a/web"]) store(subject);
  const story = new Story();
  story.add(facts.events.map((event) => ({ event, bodies: undefined })));
  const thing: Thing = { kind: "service", name: "a/web" };
  assert.equal(story.steps.filter((step) => concerns(step, thing)).length, 3);
  assert.equal(thingWords(thing), "service a/web");
});

test("moment: forward, back, and after a late fact, it is the cluster of exactly those steps", () => {
  const { steps } = podStory();
  const moment = new Moment();
  const seen = (list: typeof steps, count: number) => {
    const { cluster, count: facts } = moment.after(list, count);
    const { pods, nodes } = cluster;
    return [facts, [...pods.keys()].join(), [...nodes.keys()].join()];
  };
  assert.deepEqual(seen(steps, 2), [2, "", ""]);
  assert.deepEqual(seen(steps, 7), [7, "default/web", "n1"]);
  assert.deepEqual(seen(steps, 3), [3, "default/web", ""]);
  const [first, ...rest] = steps;
  assert.ok(first !== undefined);
  assert.deepEqual(seen(rest, 3), [3, "default/web", ""]);
  assert.deepEqual(seen([], 0), [0, "", ""]);
});

const message: Message = { from: "user", to: "apiserver", kind: "request", isBad: false };
test("flights: messages of one way share a dot, failures have their own, and dots end", () => {
  const flights = new Flights();
  const dots = (nowMs: number) => flights.at(nowMs).map(({ count, isBad }) => `${count}${isBad ? " bad" : ""}`);
  flights.launch([message, message, { ...message, isBad: true }], 1000);
  assert.deepEqual(dots(1000), ["2", "1 bad"]);
  flights.launch([message], 1050);
  flights.launch([message], 1300);
  flights.launch([message], 1340);
  assert.deepEqual(dots(1340), ["3", "1 bad", "2"]);
  assert.deepEqual(dots(1000 + FLIGHT_MS), ["2"]);
});

test("flights: a flood has a bounded number of dots", () => {
  const flights = new Flights();
  for (let i = 0; i < 10_000; i++) flights.launch([{ ...message, to: `kubelet n${i}` }], i / 100);
  assert.ok(flights.at(100).length <= 40);
});

test("wires: between the sides that face each other", () => {
  const box = (left: number, top: number) => ({ left, top, width: 100, height: 20 });
  assert.match(wireBetween(box(0, 0), box(200, 40)), /^M100,10C.*,200,50$/);
  assert.match(wireBetween(box(200, 40), box(0, 0)), /^M200,50C.*,100,10$/);
  assert.match(wireBetween(box(0, 0), box(30, 100)), /^M50,20C.*,80,100$/);
  assert.match(wireBetween(box(30, 100), box(0, 0)), /^M80,100C.*,50,20$/);
  // Around the frames that are between.
  assert.equal(
    wireAround(box(0, 0), box(320, 60), { left: 310, top: 40, width: 200, height: 80 }, 150),
    "M100 10H150V33H303V70H320",
  );
});

const container = (state: string, probe?: string): Container => ({
  name: "app",
  states: { runtime: state },
  probes: new Map(probe === undefined ? [] : [["liveness", probe]]),
  starts: 1,
});
const pod = (fields: Partial<Pod>, ...containers: Container[]): Pod => ({
  name: "default/web",
  isInApi: true,
  node: "n1",
  phase: undefined,
  worker: "syncing",
  sandbox: { runtime: "ready" },
  warning: undefined,
  isMarked: false,
  ...fields,
  containers: new Map(containers.map((one) => [one.name, one])),
});
const statuses: readonly (readonly [seen: { tone: string; words: string }, tone: string, words: string])[] = [
  [containerStatus(container("running")), "good", "running"],
  [containerStatus(container("running", "failure")), "bad", "running, liveness probe: failure"],
  [containerStatus(container("exited (0, Completed)")), "done", "exited (0, Completed)"],
  [containerStatus(container("exited")), "unknown", "exited"],
  [containerStatus(container("exited (1, Error)")), "bad", "exited (1, Error)"],
  [podStatus(pod({ phase: "Running" }, container("running"))), "good", "Running"],
  [podStatus(pod({}, container("running"))), "good", "running"],
  [podStatus(pod({ phase: "Pending" }, container("created"))), "waiting", "Pending"],
  [podStatus(pod({ phase: "Pending" }, container("running"))), "good", "running, not reported yet"],
  [
    podStatus(pod({ phase: "Running", worker: "terminating" }, container("running"))),
    "waiting",
    "Running, terminating",
  ],
  [podStatus(pod({ phase: "Running", isMarked: true })), "waiting", "Running, Terminating"],
  [podStatus(pod({ phase: "Pending", warning: "BackOff" })), "bad", "Pending, BackOff"],
  [podStatus(pod({ node: undefined, worker: undefined })), "waiting", "no node yet"],
  [
    podStatus(pod({ isInApi: false, phase: "Running", worker: "finished" })),
    "gone",
    "deleted from the API, its sandbox is left",
  ],
  [nodeStatus(nodeOf("True (KubeletReady: x)")), "good", "Ready"],
  [nodeStatus(nodeOf("Unknown")), "bad", "Ready: Unknown"],
  [nodeStatus(nodeOf(undefined)), "unknown", "in the API"],
];
for (const [{ tone, words }, wantTone, wantWords] of statuses) {
  test(`status: ${wantTone}: ${wantWords}`, () => assert.deepEqual([tone, words], [wantTone, wantWords]));
}

function nodeOf(ready: string | undefined) {
  return {
    name: "n1",
    isInApi: true,
    hasKubelet: true,
    hasRuntime: true,
    hasProxy: false,
    ready,
    renewTime: undefined,
  };
}

test("things: each actor's key is that of its lane", () => {
  const { lanes } = podStory();
  const keys = lanes.sorted.map(({ actor, instance }) => keyOf({ kind: actor, name: instance ?? "" }));
  assert.deepEqual(
    keys,
    lanes.sorted.map(({ key }) => key),
  );
});
