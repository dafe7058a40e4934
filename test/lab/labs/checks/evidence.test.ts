import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { evidenceFor, evidenceOfStep } from "../../../../src/lab/labs/checks/evidence.js";
import {
  type Observation,
  observationOf,
  observationOfCommand,
  observationOfList,
  observationOfNothing,
} from "../../../../src/lab/labs/checks/observation.js";
import { LabFacts } from "../../../../src/lab/labs/environment/facts.js";
import { verdictEvidence } from "../../../../src/lab/labs/session/verdict-evidence.js";
import type { Actor, Fact, TraceEvent } from "../../../../src/trace/events.js";
import { type EmitOptions, Trace } from "../../../../src/trace/trace.js";
import { InstantClock } from "../../../support/memory-place.js";

/** An API server that stores objects, and clients that make it. */
function cluster() {
  const clock = new InstantClock();
  const facts = new LabFacts(clock);
  const trace = new Trace(clock);
  trace.addSink(facts);
  const emit = async (fact: Fact, options: EmitOptions): Promise<TraceEvent> => {
    await clock.sleep(1);
    return trace.emit(fact, options);
  };
  const decide = (actor: Actor, what: string, causedBy?: string) =>
    emit({ kind: "decision", what, why: "a test" }, { actor, ...(causedBy === undefined ? {} : { causedBy }) });
  const store = (subject: string, version: string, causedBy: string, what = "stored") =>
    emit({ kind: "state", subject, what, to: "resourceVersion", version }, { actor: "apiserver", level: 3, causedBy });
  const texts = (observations: readonly Observation[]) => {
    const evidence = evidenceFor(observations, facts.since());
    return evidence?.facts.map((one) => {
      if (one.kind === "request") return `${one.method} ${one.status}`;
      return one.kind === "state" ? `${one.subject} ${one.what}` : "what" in one && one.what;
    });
  };
  return { facts, trace, emit, decide, store, texts };
}

const pod = (uid: string, resourceVersion: string) => ({ metadata: { uid, resourceVersion } });
const WEB = "/api/v1/namespaces/default/pods/web";

describe("what a step's own commands have caused, for a check that sees none of it", () => {
  test("the last change that a command has caused, and nothing that would have happened without it", async () => {
    const { facts, trace, store, decide } = cluster();
    const before = facts.count;
    const renewed = await decide("kubelet", "renew the lease");
    await store("leases kube-node-lease/n1", "l@1", renewed.id);
    const command = await trace.origin("command", () => decide("user", "kubectl delete pod web"));
    const stopped = await decide("kubelet", "kill web", command.id);
    await decide("kubelet", "renew the lease again");
    const evidence = evidenceOfStep(facts.since(before), facts.since());
    assert.deepEqual(
      evidence?.facts.map(({ id }) => id),
      [command.id, stopped.id],
    );
    assert.equal(evidenceOfStep([renewed], facts.since()), undefined);
    const later = await decide("kubelet", "sync again", stopped.id);
    assert.equal(evidenceOfStep([later], facts.since()), undefined, "an earlier step began it");
  });
});

describe("the fact behind what a check saw", () => {
  test("the write of the version that was read, with what led to it", async () => {
    const { decide, store, texts } = cluster();
    const created = await decide("user", "apply");
    await store("pods default/web", "u@1", created.id);
    const bound = await decide("scheduler", "bind", "u@1");
    await store("pods default/web", "u@2", bound.id);
    const later = await decide("kubelet", "status", "u@2");
    await store("pods default/web", "u@3", later.id);
    assert.deepEqual(texts(observationOf(pod("u", "2"))), [
      "apply",
      "pods default/web stored",
      "bind",
      "pods default/web stored",
    ]);
    assert.equal(texts(observationOf(pod("u", "9"))), undefined);
    assert.equal(texts(observationOf({})), undefined);
  });

  test("of what kubectl printed, the API server's last answer to it: what it decided, or the request", async () => {
    const { facts, emit, decide, texts } = cluster();
    const ask = (path: string, agent: string) => {
      const identity = `kubernetes-admin (${agent})`;
      const request = { kind: "request", method: "GET", path, server: "https://h", identity, status: 200 } as const;
      return emit({ ...request, durationMs: 1, auditId: "a" }, { actor: "user", level: 3 });
    };
    const kubectl = "kubectl/v1.32.0 (linux/amd64)";
    const reviewed = await ask("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", kubectl);
    await decide("apiserver", "allow it", reviewed.id);
    const count = facts.count;
    await ask("/api/v1/nodes", kubectl);
    await ask("/api/v1/pods", "kubelet/v1.25.0");
    const observations = (from: number, to?: number) =>
      observationOfCommand(
        { code: 0, stdout: "yes", stderr: "", meanwhile: () => facts.since(from).slice(0, to) },
        "yes",
      );
    assert.deepEqual(texts(observations(0, count))?.at(-1), "allow it");
    const { facts: [last] = [] } = evidenceFor(observations(count), facts.since()) ?? {};
    assert.equal(last?.kind === "request" && last.path, "/api/v1/nodes");
    assert.equal(texts(observations(facts.count)), undefined);
  });

  test("that a read was allowed explains nothing; that a request was refused does", async () => {
    const { facts, emit, texts } = cluster();
    const upstream = { file: "authorization.go", func: "WithAuthorization" };
    const ask = async (what: string, status: number) => {
      const from = facts.count;
      const identity = "admin (kubectl/v1.32.0)";
      const request = { kind: "request", method: "GET", path: "/api/v1/pods", server: "https://h", identity } as const;
      const options = { actor: "user", level: 3 } as const;
      const { id } = await emit({ ...request, status, durationMs: 1, auditId: "a" }, options);
      await emit({ kind: "decision", what, why: "a test", upstream }, { actor: "apiserver", causedBy: id });
      const step = facts.since(from);
      const observation = observationOfCommand({ code: 0, stdout: "x", stderr: "", meanwhile: () => step }, "x");
      return [texts(observation)?.at(-1), evidenceOfStep(step, facts.since()) !== undefined];
    };
    assert.deepEqual(await ask("allow list /api/v1/pods", 200), ["GET 200", false]);
    assert.deepEqual(await ask("allow list /api/v1/pods", 409), ["GET 409", false]);
    assert.deepEqual(await ask("forbid list /api/v1/pods", 403), ["forbid list /api/v1/pods", true]);
  });

  test("of an object that is gone, its last deletion", async () => {
    const { decide, store, texts } = cluster();
    for (const who of ["first", "second"]) {
      await store("pods default/web", "u@1", (await decide("user", who)).id, "deleted");
    }
    await store("pods default/web2", "u@3", (await decide("user", "other")).id, "deleted");
    assert.deepEqual(texts(observationOfNothing(WEB)), ["second", "pods default/web deleted"]);
    assert.equal(texts(observationOfNothing("/api/v1/nodes/n1")), undefined);
    assert.equal(texts(observationOfNothing("/api/v1/nodes")), undefined);
  });

  test("of an object without a namespace, and of a group", async () => {
    const { decide, store, texts } = cluster();
    await store("leases kube-node-lease/n1", "u@1", (await decide("user", "lease")).id, "deleted");
    await store("nodes n1", "u@2", (await decide("user", "node")).id, "deleted");
    assert.deepEqual(texts(observationOfNothing("/api/v1/nodes/n1")), ["node", "nodes n1 deleted"]);
    const lease = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1";
    assert.deepEqual(texts(observationOfNothing(lease))?.[0], "lease");
  });

  test("of a field, the write that gave it its value; one that is answered without the object says nothing", async () => {
    const { facts, emit, store } = cluster();
    const write = async (version: string, phase: string | undefined) => {
      const responseBody = phase === undefined ? { kind: "Status" } : { ...pod("p", version), status: { phase } };
      const request = {
        kind: "request",
        method: "PATCH",
        path: "/",
        server: "https://h",
        identity: "kubelet",
      } as const;
      const answer = { status: 200, durationMs: 1, auditId: "a", responseBody };
      const { id } = await emit({ ...request, ...answer }, { actor: "kubelet" });
      await store(`pods ${version}`, `p@${version}`, id);
    };
    const phases = ["Running", "Pending", "Running", undefined, "Running", "Running"];
    for (const [i, phase] of phases.entries()) await write(`${i + 1}`, phase);
    const decided = (observations: readonly Observation[]) => {
      const { facts: [...shown] = [], shows = [] } = evidenceFor(observations, facts.since()) ?? {};
      const at = shows.findLastIndex((one) => one !== null);
      const one = shown[at];
      return [one?.kind === "state" && one.subject, shows[at]];
    };
    const seen = pod("p", "6");
    assert.deepEqual(decided(observationOf(seen, "status.phase", "Running")), ["pods 3", ["status.phase = Running"]]);
    assert.deepEqual(decided(observationOf(seen)), ["pods 6", []]);
    const read = { ...seen, status: { phase: "Running" } };
    const identity = "admin (kubectl/v1.32.0)";
    const request = { kind: "request", method: "GET", path: "/", server: "https://h", identity } as const;
    const from = facts.count;
    await emit({ ...request, status: 200, durationMs: 1, auditId: "a", responseBody: read }, { actor: "user" });
    const meanwhile = () => facts.since(from);
    const observations = observationOfCommand(
      { code: 0, stdout: "", stderr: "", meanwhile },
      undefined,
      "phase = Running",
    );
    assert.deepEqual(decided(observations), ["pods 3", []]);
    assert.deepEqual(decided(observationOf(pod("p", "2"), "status.phase", "Pending")), [
      "pods 2",
      ["status.phase = Pending"],
    ]);
  });

  describe("of what kubectl has read", () => {
    const event = (uid: string, reason: string) => ({ ...pod(uid, "1"), reason, message: "Node n status is now" });
    const [a, b] = [pod("a", "1"), pod("b", "2")];
    const [early, late] = [event("a", "NodeNotReady"), event("b", "NodeReady")];
    const table = (...rows: readonly (readonly [string, object])[]) => ({
      kind: "Table",
      rows: rows.map(([cell, object]) => ({ cells: [cell], object })),
    });
    const cases: readonly (readonly [
      what: string,
      line: string,
      answers: readonly unknown[],
      facts: readonly string[],
    ])[] = [
      ["an object", "restartCount = 2", [a], ["pods a"]],
      ["a list without the line's words: the last change", "2", [{ items: [b, a] }], ["pods b"]],
      ["the object that the line is about", "NodeNotReady 1 Node n", [{ items: [early, late] }], ["pods a"]],
      ["a row whose cells have the line", "old 5m", [table(["old", a], ["new", b])], ["pods a"]],
      ["only the exit code counts: each object", "", [a, b], ["decision", "pods b"]],
      ["only the exit code counts: of each list the last change", "", [{ items: [a, b] }], ["pods b"]],
      ["a log, which no object has", "line 0 of the log", [a, "line 0 of the log"], ["request"]],
      ["an answer without objects", "v1", [{ kind: "APIVersions" }], ["request"]],
    ];
    for (const [what, line, answers, expected] of cases) {
      test(what, async () => {
        const { facts, emit, decide, store } = cluster();
        await store("pods a", "a@1", (await decide("user", "a")).id);
        await store("pods b", "b@2", (await decide("kubelet", "b")).id);
        const from = facts.count;
        for (const responseBody of answers) {
          const identity = "admin (kubectl/v1.32.0)";
          const request = { kind: "request", method: "GET", path: "/", server: "https://h", identity } as const;
          const options = { actor: "user", level: 3 } as const;
          await emit({ ...request, status: 200, durationMs: 1, auditId: "a", responseBody }, options);
        }
        const meanwhile = () => facts.since(from);
        const observations = observationOfCommand({ code: 0, stdout: "", stderr: "", meanwhile }, undefined, line);
        const evidence = evidenceFor(observations, facts.since());
        const decided = evidence?.facts.filter((_, i) => evidence.shows[i] !== null);
        assert.deepEqual(
          decided?.map((one) => (one.kind === "state" ? one.subject : one.kind)),
          expected,
        );
        const verdict = { ok: true, seen: "", observations, prints: line } as const;
        const shown = verdictEvidence(verdict, facts, undefined, { isDecided: true, factsBefore: from });
        // The line is the program's output; no fact says it.
        assert.deepEqual(
          shown.map((one) => (one.kind === "look" ? one.line : one.kind)),
          ["evidence", ...(line === "" ? [] : [line])],
        );
      });
    }
  });

  test("the last fact that the author names, but no command of a user", async () => {
    const { decide, texts } = cluster();
    await decide("kubelet", "again in 4 s");
    await decide("kubelet", "again in 7 s");
    await decide("user", "grep again in kubelet.log");
    assert.deepEqual(texts([{ because: "again in [0-9]+ s" }]), ["again in 7 s"]);
    assert.equal(texts([{ because: "never" }]), undefined);
  });

  test("of several objects each, with the fields that the check read", async () => {
    const { decide, facts, store } = cluster();
    await store("nodes n1", "n@1", (await decide("kubelet", "register")).id);
    await store("pods default/web", "p@2", (await decide("user", "apply")).id);
    const [node, web] = [pod("n", "1"), pod("p", "2")];
    const ready = observationOf(node, "spec.taints", [{ key: "k" }]);
    const observations = [
      ...observationOf(web, "status.phase", "Running"),
      ...ready,
      ...observationOf(web, "spec.nodeName", "n1"),
    ];
    const evidence = evidenceFor(observations, facts.since());
    assert.deepEqual(
      evidence?.facts.map((one) => (one.kind === "state" ? one.subject : "what" in one && one.what)),
      // The decision says more than that the API server stored it.
      ["register", "apply", "pods default/web"],
    );
    assert.deepEqual(evidence?.shows, [
      ['spec.taints = [{"key":"k"}]'],
      null,
      ["status.phase = Running", "spec.nodeName = n1"],
    ]);
    assert.equal(evidence?.count, 3);
    const long = evidenceFor(observationOf(web, "data.text", "x".repeat(200)), facts.since());
    assert.deepEqual(long?.shows.at(-1), [`data.text = ${"x".repeat(160)}...`]);
  });

  test("of a list each counted object; of an empty one what emptied it", async () => {
    const { decide, store, texts } = cluster();
    await store("pods default/a", "a@1", (await decide("user", "a")).id);
    await store("pods default/b", "b@2", (await decide("user", "b")).id);
    await store("pods default/c", "c@3", (await decide("user", "gone")).id, "deleted");
    const list = "/api/v1/namespaces/default/pods";
    const [a, b] = [pod("a", "1"), pod("b", "2")];
    assert.deepEqual(texts(observationOfList(list, "", [a, b], [a, b])), ["a", "b", "pods default/b stored"]);
    assert.equal(texts(observationOfList(list, "", [a], [a, b]))?.[0], "a");
    assert.equal(texts(observationOfList(list, "", [], []))?.[0], "gone");
    assert.equal(texts(observationOfList("/api/v1/namespaces/other/pods", "", [], [])), undefined);
  });

  test("of a list whose items were chosen by a field: who gave it its value, a binding too", async () => {
    const { facts, emit, decide, store } = cluster();
    const write = async (uid: string, version: string, from: string, bodies: object) => {
      const path = version === "2" ? `/api/v1/namespaces/default/pods/${uid}/binding` : "/";
      const request = { kind: "request", method: "POST", path, server: "https://h", identity: "x" } as const;
      const answer = { status: 201, durationMs: 1, auditId: "a", ...bodies };
      const { id } = await emit({ ...request, ...answer }, { actor: "scheduler", causedBy: from });
      await store(`pods ${uid}`, `${uid}@${version}`, id);
    };
    const bound = (uid: string) => ({ ...pod(uid, "3"), spec: { nodeName: "n1" } });
    for (const uid of ["a", "b"]) {
      await write(uid, "1", (await decide("controller", `create ${uid}`)).id, { responseBody: pod(uid, "1") });
      await write(uid, "2", (await decide("scheduler", `bind ${uid}`, `${uid}@1`)).id, {});
      await write(uid, "3", (await decide("kubelet", `report ${uid}`, `${uid}@2`)).id, { responseBody: bound(uid) });
    }
    const items = [bound("a"), bound("b")];
    for (const counted of [items, []]) {
      const seen = observationOfList("/api/v1/namespaces/default/pods", "spec.nodeName", counted, items);
      const { facts: shown = [], shows = [] } = evidenceFor(seen, facts.since()) ?? {};
      const deciding = shown.flatMap((one, i) => (shows[i] === null ? [] : [["what" in one && one.what, shows[i]]]));
      assert.deepEqual(deciding, [
        ["bind a", ["spec.nodeName = n1"]],
        ["stored", ["spec.nodeName = n1"]],
      ]);
    }
  });

  test("of a command's output the first fact whose line has the text, also where a terminal breaks it", async () => {
    const { decide, facts, texts } = cluster();
    await decide("kubelet", "sleep");
    await decide("kubelet", `a sentence of ${"many ".repeat(40)}words`);
    await decide("kubelet", "words");
    const result = { code: 0, stdout: "", stderr: "", facts: () => facts.since() };
    assert.match(String(texts(observationOfCommand(result, "many words"))?.[0]), /^a sentence/);
    assert.equal(texts(observationOfCommand(result, "nothing of it")), undefined);
    assert.equal(texts(observationOfCommand({ code: 0, stdout: "words", stderr: "" }, "words")), undefined);
  });
});

test("of a long chain five facts: its ends, where an actor hands over, what came last", async () => {
  const { decide, store, facts } = cluster();
  let cause = (await decide("user", "apply")).id;
  for (const actor of ["scheduler", "kubelet"] as const) {
    for (let count = 1; count <= 4; count++) cause = (await decide(actor, `${actor} ${count}`, cause)).id;
  }
  await store("pods default/web", "u@1", cause);
  const evidence = evidenceFor(observationOf(pod("u", "1")), facts.since());
  assert.equal(evidence?.count, 10);
  assert.deepEqual(evidence.afterMs, [0, 4, 7, 8, 9]);
  const whats = evidence.facts.map((one) => ("what" in one ? one.what : ""));
  assert.deepEqual(whats, ["apply", "scheduler 4", "kubelet 3", "kubelet 4", "stored"]);
});

test("of an actor that decides and then writes, the decision", async () => {
  const { decide, store, facts, emit } = cluster();
  let cause = (await decide("user", "apply")).id;
  for (const name of ["deployment", "replicaset", "pod"]) {
    const decided = await decide("controller", `create ${name}`, cause);
    const request = { kind: "request", method: "POST", path: `/${name}`, server: "https://h", status: 201 } as const;
    const options = { actor: "controller", level: 2, causedBy: decided.id } as const;
    const posted = await emit({ ...request, durationMs: 1, identity: "c", auditId: name }, options);
    await store(`${name} default/web`, `${name}@1`, posted.id);
    cause = `${name}@1`;
  }
  const evidence = evidenceFor(observationOf(pod("pod", "1")), facts.since());
  const whats = evidence?.facts.map((one) => ("what" in one ? one.what : one.kind));
  assert.deepEqual(whats, ["apply", "create deployment", "create replicaset", "create pod", "stored"]);
});

test("what the lab's own reads cause is not kept", async () => {
  const { facts, decide } = cluster();
  await decide("apiserver", "allowed", facts.reads.newId());
  assert.equal(facts.count, 0);
  await decide("apiserver", "allowed", "0123456789abcdef");
  assert.equal(facts.count, 1);
});

test("what a command reports has its line as the cause", () => {
  const { facts, trace } = cluster();
  facts.command("kubelab join atlas\n", () => trace.emit({ kind: "note", text: "joined" }, { actor: "user" }));
  const [line, note] = facts.since();
  assert.deepEqual([line?.kind === "step" && line.title, line?.origin], ["$ kubelab join atlas", "command"]);
  assert.equal(note?.causedBy, line?.id);
});
