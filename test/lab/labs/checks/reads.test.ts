import assert from "node:assert/strict";
import { test } from "vitest";
import { readsOf, touches } from "../../../../src/lab/labs/checks/reads.js";
import type { Check } from "../../../../src/lab/labs/format/schema.js";
import type { TraceEvent } from "../../../../src/trace/events.js";

const event = (fact: object): TraceEvent =>
  ({ id: "1", atMs: 0, level: 3, actor: "apiserver", kind: "state", ...fact }) as unknown as TraceEvent;
const written = (subject: string) =>
  event({ subject, what: "stored", to: "resourceVersion 7", version: `${subject}@7` });
const POD: Check = { object: "/api/v1/namespaces/default/pods/web", exists: true };

test("what a check reads, also inside all, any and not", () => {
  const check: Check = {
    all: [
      POD,
      { any: [{ list: "/api/v1/nodes", is: 1 }, { not: { file: "key.txt", exists: true } }] },
      { output: "start", stream: "both", matches: "x" },
      { exit: "join", is: 0 },
      { command: "kubectl get pods", exit: 0 },
    ],
  };
  assert.deepEqual(readsOf(check), {
    paths: ["/api/v1/namespaces/default/pods/web", "/api/v1/nodes"],
    files: ["key.txt"],
    outputs: ["start", "join"],
    commands: ["kubectl get pods"],
  });
});

const COMMAND: Check = { command: "kubectl get pods", exit: 0 };
const CASES: readonly (readonly [
  what: string,
  check: Check,
  fact: TraceEvent,
  touched: "sure" | "maybe" | undefined,
])[] = [
  ["the object", POD, written("pods default/web"), "sure"],
  ["another object", POD, written("pods default/web-2"), undefined],
  ["an object of a list", { list: "/api/v1/namespaces/default/pods", is: 1 }, written("pods default/a"), "sure"],
  ["of another namespace", { list: "/api/v1/namespaces/default/pods", is: 1 }, written("pods other/a"), undefined],
  ["of all namespaces", { list: "/api/v1/pods", is: 1 }, written("pods other/a"), "sure"],
  ["a path that is no object", { object: "/version", exists: true }, written("pods other/a"), "sure"],
  ["a write, for a command", COMMAND, written("pods default/a"), "sure"],
  ["a heartbeat, for a command", COMMAND, written("leases kube-node-lease/n1"), undefined],
  [
    "a heartbeat, for one about leases",
    { command: "kubectl get lease n1", exit: 0 },
    written("leases kube-node-lease/n1"),
    "sure",
  ],
  ["a decision of a kubelet, for a command", COMMAND, event({ kind: "decision", actor: "kubelet", level: 1 }), "maybe"],
  ["its detail", COMMAND, event({ kind: "decision", actor: "kubelet", level: 2 }), undefined],
  ["the learner's command", COMMAND, event({ kind: "step", actor: "user", level: 0 }), undefined],
  ["a read", POD, event({ kind: "request", path: "/api/v1/namespaces/default/pods/web" }), undefined],
  [
    "a fact of the node",
    { output: "node-1", stream: "both", matches: "x" },
    event({ kind: "note", instance: "node-1", actor: "kubelet" }),
    "maybe",
  ],
];
for (const [what, check, fact, touched] of CASES) {
  test(`${what}: ${touched ?? "the result stays"}`, () => {
    assert.equal(touches(fact, readsOf(check)), touched);
  });
}
