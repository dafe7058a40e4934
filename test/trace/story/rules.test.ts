import assert from "node:assert/strict";
import { test } from "vitest";
import { runInScope } from "../../../src/trace/scope.js";
import { KEY_LEVEL } from "../../../src/trace/story/roles.js";
import { keysRule, labRule } from "../../../src/trace/story/rules.js";
import { tellStory } from "../../../src/trace/story/teller.js";
import { FakeClock } from "../../support/fake-clock.js";
import { recordingTrace } from "../../support/trace.js";

const kubelet = { actor: "kubelet", level: 2 } as const;
const upstream = (func: string) => ({ upstream: { file: "pkg/kubelet/kubelet.go", func } });

test("a window without a key tells its start; the first key begins another story", async () => {
  const { trace, events } = recordingTrace(new FakeClock());
  const story = tellStory(trace, keysRule("the kubelet of n1 starts"));
  trace.emit({ kind: "step", title: "Load the key", ...upstream("LoadClientCert") }, kubelet);
  const run = trace.emit({ kind: "step", title: "Start the kubelet of n1", ...upstream("Run") }, kubelet);
  trace.emit({ kind: "step", title: "Report n1 Ready", ...upstream("tryUpdate") }, { ...kubelet, causedBy: run.id });
  trace.emit({ kind: "step", title: "Relist 1", ...upstream("relist") }, kubelet);
  // A source of pods has no cause, and what follows from it belongs to the start.
  const added = trace.emit(
    { kind: "decision", what: "ADD from file: [default/web]", why: "w", ...upstream("Merge") },
    kubelet,
  );
  runInScope({ pod: "default/web" }, () =>
    trace.emit(
      { kind: "decision", what: "default/web: create sandbox", why: "w", ...upstream("computePodActions") },
      { ...kubelet, causedBy: added.id },
    ),
  );
  await Promise.resolve();
  trace.emit({ kind: "step", title: "add a pod" }, { actor: "user", level: KEY_LEVEL });
  trace.emit({ kind: "decision", what: "ADD from api: []", why: "late", ...upstream("Merge") }, kubelet);
  story[Symbol.dispose]();
  const told = events.flatMap((event) =>
    event.kind === "story" ? event.steps.map(({ text }) => `${event.title}: ${text}`) : [],
  );
  assert.deepEqual(told, [
    "the kubelet of n1 starts: starts the kubelet of n1",
    "the kubelet of n1 starts: merges ADD from file: [default/web]",
    "the kubelet of n1 starts: reports n1 Ready",
    "the kubelet of n1 starts: decides: create sandbox",
    "add a pod: adds a pod",
  ]);
});

test("a key's story is told with what the key did, also if nothing else follows from it", async () => {
  const { trace, events } = recordingTrace(new FakeClock());
  using _story = tellStory(trace, keysRule("the first relist"));
  for (const title of ["let lists hang, or not", "let lists hang, or not", "cut the event stream"]) {
    const { id } = trace.emit({ kind: "step", title }, { actor: "user", level: KEY_LEVEL });
    trace.because({ causedBy: id }, () => trace.emit({ kind: "note", text: `it did ${title}` }, { actor: "user" }));
    await Promise.resolve();
    const last = events.at(-1);
    assert.ok(last?.kind === "story" && last.title.startsWith(title), JSON.stringify(last));
    assert.deepEqual(
      last.steps.map(({ why }) => why),
      [`it did ${title}`],
    );
  }
});

test("what a kubelet observes begins a story, unless a key is its cause", async () => {
  const { trace, events } = recordingTrace(new FakeClock());
  using _story = tellStory(trace, keysRule("the kubelet of n1 starts"));
  const observe = (what: string) => trace.emit({ kind: "decision", what, why: "w" }, { actor: "kubelet", level: 1 });
  const key = trace.emit({ kind: "step", title: "change the newest manifest" }, { actor: "user", level: KEY_LEVEL });
  await Promise.resolve();
  trace.because({ causedBy: key.id }, () => observe("forget web.yaml"));
  await Promise.resolve();
  trace.origin("observed", () => observe("read mine.yaml"));
  await Promise.resolve();
  const told = events.flatMap((event) =>
    event.kind === "story" ? event.steps.map(({ text }) => `${event.title}: ${text}`) : [],
  );
  assert.deepEqual(told, [
    "change the newest manifest: changes the newest manifest",
    "change the newest manifest: forgets web.yaml",
    "read mine.yaml: reads mine.yaml",
  ]);
});

test("a lab tells for each of its steps what the commands and writes of that step led to", async () => {
  const { trace, events } = recordingTrace(new FakeClock());
  let step: string | undefined;
  using _story = tellStory(
    trace,
    labRule(() => step),
  );
  const apiserver = { actor: "apiserver", level: 1 } as const;
  const decision = (what: string) => ({ kind: "decision", what, why: "w" }) as const;
  // The cluster's own start is no part of a step.
  trace.emit(decision("create the namespace default"), apiserver);
  trace.emit({ kind: "step", title: "$ kubectl config" }, { actor: "user", level: 1 });
  step = "Create a pod";
  for (const title of ["$ kubectl create", "$ kubectl label"]) {
    const command = trace.emit({ kind: "step", title }, { actor: "user", level: 1 });
    trace.emit(decision(`run ${title}`), { ...apiserver, causedBy: command.id });
    await Promise.resolve();
  }
  step = "Delete it";
  trace.emit(decision("take a rest"), apiserver);
  trace.emit({ kind: "step", title: "$ kubectl delete" }, { actor: "user", level: 1 });
  await Promise.resolve();
  trace.emit(decision("take another rest"), apiserver);
  await Promise.resolve();
  const told = events.flatMap((event) =>
    event.kind === "story" ? event.steps.map(({ text }) => `${event.title}: ${text}`) : [],
  );
  assert.deepEqual(told, [
    "Create a pod: $ kubectl create",
    "Create a pod: runs $ kubectl create",
    "Create a pod: $ kubectl label",
    "Create a pod: runs $ kubectl label",
    "Delete it: $ kubectl delete",
  ]);
});
