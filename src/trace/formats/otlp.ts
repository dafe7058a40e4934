import { defined } from "../../util/defined.js";
import type { Actor, TraceEvent, Upstream } from "../events.js";
import { startMs, type TraceGraph } from "../graph/graph.js";
import { stepEnds } from "../graph/step-ends.js";
import { isFailure, nameOf } from "./name.js";

/** The programs of a cluster by their own names. */
const SERVICES: Readonly<Record<Actor, string>> = {
  user: "user",
  kubelet: "kubelet",
  apiserver: "kube-apiserver",
  controller: "kube-controller-manager",
  scheduler: "kube-scheduler",
  proxy: "kube-proxy",
  dns: "coredns",
  runtime: "container-runtime",
};

/** From the enumerations of opentelemetry/proto/trace/v1/trace.proto. */
const SPAN_KIND_INTERNAL = 1;
const SPAN_KIND_CLIENT = 3;
const STATUS_CODE_ERROR = 2;

interface Identity {
  readonly traceId: string;
  readonly endMs: number;
  readonly cause?: TraceEvent;
  /** the request that the fact is about, if that is not its cause */
  readonly related?: TraceEvent;
}

/**
 * OpenTelemetry spans as OTLP/JSON: a resource for each actor and instance, a trace for each causal tree, a span for each fact.
 * A span's parent is the fact's cause; links name the request that a decision is about. Bodies are left out.
 */
export function* otlpTrace(graph: TraceGraph): Generator<string> {
  const identities = identify(graph);
  const groups = new Map<string, TraceEvent[]>();
  for (const event of graph.inOrder()) {
    const key = `${event.actor} ${event.instance ?? ""}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [event]);
    else group.push(event);
  }
  yield '{"resourceSpans":[';
  let separator = "\n";
  for (const events of groups.values()) {
    const [first] = events;
    if (first === undefined) continue;
    yield `${separator}{"resource":${JSON.stringify(resourceOf(first))},"scopeSpans":[{"scope":{"name":"kubelab"},"spans":[`;
    separator = ",\n";
    let comma = "\n";
    for (const event of events) {
      yield `${comma}${JSON.stringify(spanOf(event, identities))}`;
      comma = ",\n";
    }
    yield "\n]}]}";
  }
  yield "\n]}\n";
}

/** Which trace a fact belongs to, and what it is connected with. */
function identify(graph: TraceGraph): Map<TraceEvent, Identity> {
  const requests = new Map(graph.events.flatMap((event) => (event.kind === "request" ? [[event.auditId, event]] : [])));
  const identities = new Map<TraceEvent, Identity>();
  const ends = stepEnds(graph);
  const seen = new Set<TraceEvent>();
  for (const root of graph.roots()) {
    // A trace ID has 16 bytes, a fact's id 8.
    const traceId = root.id + root.id;
    for (const { event } of graph.walk(root, seen)) {
      const cause = event === root ? undefined : graph.causeOf(event);
      const about = event.kind === "decision" && event.auditId !== undefined ? requests.get(event.auditId) : undefined;
      const related = event === root ? (about ?? graph.causeOf(event)) : about;
      const endMs = ends.get(event) ?? event.atMs;
      identities.set(event, {
        traceId,
        endMs,
        ...defined({ cause, related: related === cause ? undefined : related }),
      });
    }
  }
  return identities;
}

function resourceOf({ actor, instance }: TraceEvent): unknown {
  return { attributes: attributes({ "service.name": SERVICES[actor], "service.instance.id": instance }) };
}

function spanOf(event: TraceEvent, identities: ReadonlyMap<TraceEvent, Identity>): unknown {
  const { traceId, endMs, cause, related } = identities.get(event) ?? {
    traceId: event.id + event.id,
    endMs: event.atMs,
  };
  const link = related === undefined ? undefined : identities.get(related);
  return {
    traceId,
    spanId: event.id,
    ...(cause === undefined ? {} : { parentSpanId: cause.id }),
    name: wellFormed(nameOf(event)),
    kind: event.kind === "request" || event.kind === "rpc" ? SPAN_KIND_CLIENT : SPAN_KIND_INTERNAL,
    startTimeUnixNano: nanoseconds(startMs(event)),
    endTimeUnixNano: nanoseconds(endMs),
    attributes: attributes({ ...commonAttributes(event), ...ownAttributes(event) }),
    ...(link === undefined ? {} : { links: [{ traceId: link.traceId, spanId: related?.id }] }),
    ...(isFailure(event) ? { status: { code: STATUS_CODE_ERROR } } : {}),
  };
}

/** A decimal string, because JSON numbers cannot hold 64 bits. */
function nanoseconds(ms: number): string {
  return `${BigInt(Math.max(0, Math.round(ms * 1000))) * 1000n}`;
}

type Value = string | number | undefined;

function commonAttributes(event: TraceEvent): Readonly<Record<string, Value>> {
  const [namespace, pod] = event.pod?.split("/") ?? [];
  return {
    "kubelab.kind": event.kind,
    "kubelab.level": event.level,
    "kubelab.chapter": event.chapter,
    "kubelab.origin": event.origin,
    "kubelab.caused_by": event.causedBy,
    "k8s.namespace.name": namespace,
    "k8s.pod.name": pod,
  };
}

/** By OpenTelemetry's semantic conventions where they have a name. */
function ownAttributes(event: TraceEvent): Readonly<Record<string, Value>> {
  switch (event.kind) {
    case "request":
      return {
        "http.request.method": event.method,
        "url.full": event.server + event.path,
        "http.response.status_code": event.status,
        "error.type": event.failure,
        "kubelab.identity": event.identity,
        "kubelab.outcome": event.outcome,
        "kubelab.audit_id": event.auditId,
        "kubelab.version": event.version,
      };
    case "rpc":
      return {
        "rpc.system": "grpc",
        "rpc.service": event.service,
        "rpc.method": event.method,
        "server.address": event.endpoint,
        "kubelab.code": event.code,
        "kubelab.outcome": event.outcome,
      };
    case "decision":
      return {
        "kubelab.why": event.why,
        "kubelab.changes": event.changes === undefined ? undefined : JSON.stringify(event.changes),
        ...upstreamAttributes(event.upstream),
        "kubelab.audit_id": event.auditId,
      };
    case "state":
      return { "kubelab.from": event.from, ...upstreamAttributes(event.upstream), "kubelab.version": event.version };
    case "step":
    case "event":
    case "note":
    case "table":
      return upstreamAttributes(event.upstream);
    case "error":
      return { "kubelab.hint": event.hint };
    default:
      return {};
  }
}

function upstreamAttributes(upstream: Upstream | undefined): Readonly<Record<string, Value>> {
  return { "code.file.path": upstream?.file, "code.function.name": upstream?.func };
}

function attributes(values: Readonly<Record<string, Value>>): unknown[] {
  return Object.entries(values).flatMap(([key, value]) => {
    if (value === undefined) return [];
    return [
      {
        key,
        value: typeof value === "number" ? { intValue: String(Math.trunc(value)) } : { stringValue: wellFormed(value) },
      },
    ];
  });
}

/** Protobuf strings are UTF-8, which has no half of a surrogate pair. */
function wellFormed(text: string): string {
  return text.replace(/\p{Cs}/gu, "\ufffd");
}
