import assert from "node:assert/strict";
import { test } from "vitest";
import { journeySteps } from "../../../src/commands/journey/steps.js";
import type { Fact, TraceEvent } from "../../../src/trace/events.js";
import { TraceGraph } from "../../../src/trace/graph/graph.js";
import type { EmitOptions } from "../../../src/trace/trace.js";
import { sentencesIn } from "../../../src/util/i18n/sentences.js";
import { FakeClock } from "../../support/fake-clock.js";
import { recordingTrace } from "../../support/trace.js";

const REQUEST = { server: "s", identity: "admin", auditId: "a", durationMs: 2, status: 201 } as const;

const PODS = "/api/v1/namespaces/default/pods";

/** A pod that is created, stored, seen by the kubelet and started, among facts of others. */
async function life() {
  const clock = new FakeClock();
  const { trace, events } = recordingTrace(clock);
  const tell = (fact: Fact, options: EmitOptions): TraceEvent => trace.emit(fact, options);
  const id = trace.newId();
  await clock.advance(2);
  tell({ kind: "note", text: "before" }, { actor: "user" });
  tell({ kind: "decision", what: "allow", why: "x", auditId: "a" }, { actor: "apiserver", level: 3, causedBy: id });
  tell(
    { kind: "state", subject: "pods default/web", what: "stored", to: "resourceVersion 1", version: "u@1" },
    { actor: "apiserver", causedBy: id },
  );
  tell({ kind: "request", method: "POST", path: PODS, version: "u@1", ...REQUEST }, { actor: "user", id });
  const seen = tell(
    { kind: "watch", type: "ADDED", resource: "pods", object: "default/web" },
    { actor: "kubelet", causedBy: "u@1", instance: "n" },
  );
  await clock.advance(5);
  const upstream = { file: "pkg/kubelet/kubelet.go", func: "syncPod" };
  const step = tell({ kind: "step", title: "Sync pod default/web", upstream }, { actor: "kubelet", causedBy: seen.id });
  const rpc = { kind: "rpc", service: "RuntimeService", endpoint: "unix:///x", durationMs: 1, code: "OK" } as const;
  tell({ ...rpc, method: "ListContainers" }, { actor: "kubelet", causedBy: step.id });
  tell({ ...rpc, method: "StartContainer" }, { actor: "kubelet", causedBy: step.id });
  const patch = trace.newId();
  const until = tell(
    { kind: "state", subject: "pods default/web", what: "stored", to: "resourceVersion 2", version: "u@2" },
    { actor: "apiserver", causedBy: patch },
  );
  tell(
    { kind: "request", method: "PATCH", path: `${PODS}/web/status`, version: "u@2", ...REQUEST, status: 200 },
    { actor: "kubelet", id: patch, causedBy: step.id },
  );
  await clock.advance(100);
  tell(
    { kind: "watch", type: "MODIFIED", resource: "pods", object: "default/web" },
    { actor: "kubelet", causedBy: "u@2" },
  );
  const root = events.find((event) => event.id === id);
  assert(root !== undefined);
  return { graph: TraceGraph.of(events), root, until };
}

test("a journey has the told facts that the request caused, in order, each with its cause", async () => {
  const { graph, root, until } = await life();
  const steps = journeySteps(graph, root, until);
  assert.deepEqual(
    steps.map(({ number, because, atMs, actor, text }) => [number, because, atMs, actor, text]),
    [
      [1, 0, 0, "user", "asks the API server to create pod web"],
      [2, 1, 2, "apiserver", "stores pod default/web, revision 1"],
      [3, 2, 2, "kubelet", "hears that pod web was added"],
      [4, 3, 7, "kubelet", "syncs pod default/web"],
      [5, 4, 7, "kubelet", "asks the runtime to start the container"],
      [6, 4, 7, "kubelet", "reports the status of pod web"],
      [7, 6, 7, "apiserver", "stores pod default/web, revision 2"],
    ],
  );
});

test("each step has its reason and its source", async () => {
  const { graph, root, until } = await life();
  assert.deepEqual(
    journeySteps(graph, root, until).map(({ why, upstream }) => [why, upstream?.func]),
    [
      ["The client asks as admin; the response took 2 ms.", "createHandler"],
      ["Each watch of this resource gets an event with this version.", undefined],
      ["The watch that the kubelet of n holds open delivered this version.", "watchHandler"],
      ["The worker brings the pod to what its spec asks for: volumes, images, sandbox, containers.", "syncPod"],
      ["The container is there; now its process starts.", "StartContainer"],
      ["Other components see this state only through the API.", "PatchResource"],
      ["Each watch of this resource gets an event with this version.", undefined],
    ],
  );
});

test("a journey in another language: the same steps, and their reasons", async () => {
  const { graph, root, until } = await life();
  const say = (await sentencesIn("zh"))?.say;
  const [english, chinese] = [journeySteps(graph, root, until), journeySteps(graph, root, until, say)];
  assert.deepEqual(
    chinese.map(({ number, because }) => [number, because]),
    english.map(({ number, because }) => [number, because]),
  );
  for (const { why = "。" } of chinese) assert.match(why, /。$/u);
  assert.ok(chinese.some(({ why = "" }) => /^worker 让 Pod/u.test(why)));
});
