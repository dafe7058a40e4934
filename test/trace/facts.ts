import type { Fact, RequestFact, StateFact, TraceEvent } from "../../src/trace/events.js";

let lastSeq = 0;

function stamped<F extends Fact>(id: string, fact: F, stamp: Partial<TraceEvent>): TraceEvent {
  lastSeq += 1;
  return { seq: lastSeq, id, atMs: lastSeq, actor: "user", level: 1, ...fact, ...stamp } as TraceEvent;
}

type Stamp = Partial<Omit<TraceEvent, "kind">>;

/** Facts for tests; each comes a millisecond after the one before. */
export function note(id: string, stamp: Stamp): TraceEvent {
  return stamped(id, { kind: "note", text: id }, stamp);
}

export function watch(id: string, stamp: Stamp): TraceEvent {
  return stamped(id, { kind: "watch", type: "ADDED", resource: "pods", object: "default/web" }, stamp);
}

export function state(id: string, stamp: Stamp & Partial<Omit<StateFact, "kind">>): TraceEvent {
  return stamped(id, { kind: "state", subject: "Pod default/web", what: "object", to: "stored" }, stamp);
}

export function request(id: string, stamp: Stamp & Partial<Omit<RequestFact, "kind">>): TraceEvent {
  const fact: RequestFact = {
    kind: "request",
    method: "POST",
    path: "/api/v1/namespaces/default/pods",
    server: "https://127.0.0.1:6443",
    identity: "certificate kubernetes-admin",
    status: 201,
    durationMs: 0,
    auditId: `audit-${id}`,
  };
  return stamped(id, fact, stamp);
}
