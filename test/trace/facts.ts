import type { Fact, RequestFact, RpcFact, StateFact, TraceEvent } from "../../src/trace/events.js";

let lastSeq = 0;

/** Facts for tests; each comes a millisecond after the one before. */
export function fact(id: string, fact: Fact, stamp: Stamp): TraceEvent {
  lastSeq += 1;
  return { seq: lastSeq, id, atMs: lastSeq, actor: "user", level: 1, ...fact, ...stamp } as TraceEvent;
}

type Stamp = Partial<Omit<TraceEvent, "kind">>;

export function note(id: string, stamp: Stamp): TraceEvent {
  return fact(id, { kind: "note", text: id }, stamp);
}

export function watch(id: string, stamp: Stamp): TraceEvent {
  return fact(id, { kind: "watch", type: "ADDED", resource: "pods", object: "default/web" }, stamp);
}

export function state(id: string, stamp: Stamp & Partial<Omit<StateFact, "kind">>): TraceEvent {
  return fact(id, { kind: "state", subject: "Pod default/web", what: "object", to: "stored" }, stamp);
}

export function request(id: string, stamp: Stamp & Partial<Omit<RequestFact, "kind">>): TraceEvent {
  const exchange: RequestFact = {
    kind: "request",
    method: "POST",
    path: "/api/v1/namespaces/default/pods",
    server: "https://127.0.0.1:6443",
    identity: "certificate kubernetes-admin",
    status: 201,
    durationMs: 0,
    auditId: `audit-${id}`,
  };
  return fact(id, exchange, stamp);
}

export function rpc(id: string, stamp: Stamp & Partial<Omit<RpcFact, "kind">>): TraceEvent {
  const endpoint = "unix:///run/containerd/containerd.sock";
  const call: RpcFact = {
    kind: "rpc",
    service: "RuntimeService",
    method: "RunPodSandbox",
    endpoint,
    code: "OK",
    durationMs: 0,
  };
  return fact(id, call, stamp);
}
