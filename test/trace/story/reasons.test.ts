import assert from "node:assert/strict";
import { test } from "vitest";
import type { Fact, TraceEvent } from "../../../src/trace/events.js";
import { CHANNEL, topicOf, upstreamOf, whyOf } from "../../../src/trace/story/reasons.js";
import { fact } from "../facts.js";

const ID = "0123456789abcdef";
const note = (text: string): Fact => ({ kind: "note", text });
const state = (subject: string, what: string): Fact => ({ kind: "state", subject, what, to: "ready" });

const step = (title: string, func: string): Fact => ({ kind: "step", title, upstream: { file: "f.go", func } });
const request = (method: string, path: string): Fact => ({
  kind: "request",
  method,
  path,
  server: "",
  identity: "admin",
  durationMs: 1,
  auditId: "",
});
const stream = (to: string): Fact => ({ kind: "state", subject: "streams of /exec/a/b/c", what: "connection", to });

const table: readonly [TraceEvent["actor"], Fact, RegExp | undefined, string | undefined][] = [
  // actor, fact, sentence, upstream function
  ["kubelet", note('SyncLoop ADD source="api" pods=[default/web]'), /new on this node/, "syncLoopIteration"],
  [
    "kubelet",
    note('SyncLoop RECONCILE source="api" pods=[default/web]'),
    /whose status alone changed/,
    "syncLoopIteration",
  ],
  ["kubelet", note('SyncLoop (PLEG): event for pod pod="default/web" event=&{}'), /PLEG/, "syncLoopIteration"],
  ["kubelet", note('SyncLoop (probe) probe="liveness" status="unhealthy"'), /probes/, "syncLoopIteration"],
  ["kubelet", state("cache default/web", "now"), /Workers wait for the cache/, "Set"],
  ["runtime", state("default/web", "sandbox"), /pod's network/, "PodSandboxState"],
  ["runtime", state("default/web/nginx", "container"), /next relist/, "ContainerState"],
  ["runtime", state("nginx:latest", "image"), /has the image/, "PullImage"],
  ["kubelet", state("a file", "written"), undefined, undefined],
  ["kubelet", step("Store key and certificate", "Update"), /starts again/, "Update"],
  ["user", step('Run "ls" in web', "Run"), /asks only the API server/, "Run"],
  ["kubelet", step("Start the kubelet", "Run"), undefined, "Run"],
  ["user", request("POST", "/api/v1/namespaces/default/pods/web/exec?command=ls"), /asks as/, "ConnectResource"],
  ["user", request("GET", "/api/v1/namespaces/default/pods/web/log"), /asks as/, "GetResourceWithOptions"],
  ["user", request("DELETE", "/api/v1/namespaces/default/pods/web"), /asks as/, "DeleteResource"],
  ["kubelet", stream("upgraded to SPDY/3.1"), /frames of streams/, "tryUpgrade"],
  ["kubelet", stream("ended: 1 bytes to the runtime, 2 bytes from it"), /process behind it/, "tryUpgrade"],
  [
    "scheduler",
    { kind: "event", type: "Normal", reason: "Scheduled", message: "assigned", object: "Pod/web" },
    /^The scheduler records an Event/,
    "generateEvent",
  ],
];

for (const [actor, what, why, func] of table) {
  test(`explain: ${JSON.stringify(what).slice(0, 80)}`, () => {
    const event = fact(ID, what, { actor });
    if (why === undefined) assert.equal(whyOf(event), undefined);
    else assert.match(whyOf(event) ?? "", why);
    assert.equal(upstreamOf(event)?.func, func);
  });
}

test("explain: topics of streams, admission and the watch cache", () => {
  const decided = (func: string): Fact => ({ kind: "decision", what: "a", why: "b", upstream: { file: "f.go", func } });
  const topics = [
    request("POST", "/api/v1/namespaces/default/pods/web/exec?command=ls"),
    request("GET", "/api/v1/namespaces/default/pods/web/log"),
    decided("chainAdmissionHandler.Admit"),
    decided("strategy.Validate"),
    decided("InstallAuthFilter"),
    decided("dispatchEvent"),
    stream("upgraded to SPDY/3.1"),
    step("Start the kubelet", "Run"),
  ].map((what) => topicOf(fact(ID, what, { actor: "kubelet" })));
  const want = [
    "exec",
    "container log",
    "admission",
    "Store",
    "kubelet authentication",
    "watch",
    "UpgradeAwareHandler",
    undefined,
  ];
  assert.deepEqual(topics, want);
});

test("explain: what the sync loop ignores, and its periodic channels, are no steps of a life", () => {
  for (const text of ["SyncLoop (PLEG): pod does not exist, ignore irrelevant event", "SyncLoop (SYNC) pods total=1"])
    assert.equal(CHANNEL.test(text), false, text);
});
