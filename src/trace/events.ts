/**
 * The events of a trace. Each one reports a fact at the place where it happened.
 *
 * A renderer (terminal, ndjson, ...) turns events into lines; nothing here knows how they look. Secrets are masked
 * when an event is made: bodies by their kind (`redact-body.ts`), every text by what it looks like and by the values that this
 * process has seen (`secrets.ts`).
 */

import type { Origin } from "./scope.js";

/** The components that act. `user` is the person at the keyboard, or the administrator whose part kubelab plays. */
export const ACTORS = ["user", "kubelet", "apiserver", "controller", "scheduler", "proxy", "dns", "runtime"] as const;

export type Actor = (typeof ACTORS)[number];

/** A file of the Kubernetes repository at v1.25, and the function that a step mirrors. */
export interface Upstream {
  /** for example `pkg/kubelet/certificate/bootstrap/bootstrap.go` */
  readonly file: string;
  /** for example `LoadClientConfig` */
  readonly func: string;
}

/** A constant that a decision was based on, with the release that introduced its value. */
export interface Constant {
  /** as upstream spells it, for example `nodeMonitorGracePeriod` */
  readonly name: string;
  /** with its unit: `40 s` */
  readonly value: string;
  /** for example `v1.25`, or `v1.32 (40 s before)` */
  readonly release?: string;
}

/** A step of a chapter begins. Everything inside the step carries its `id` as `causedBy`. */
export interface StepFact {
  readonly kind: "step";
  readonly title: string;
  readonly upstream?: Upstream;
}

/** One HTTP exchange, reported by client middleware once it was answered or failed. */
export interface RequestFact {
  readonly kind: "request";
  readonly method: string;
  /** path and query */
  readonly path: string;
  /** the server's origin: `https://127.0.0.1:6443` */
  readonly server: string;
  /** the client's identity: `token abcdef.****`, `certificate system:node:n1`, `anonymous` */
  readonly identity: string;
  /** undefined without an answer */
  readonly status?: number;
  readonly durationMs: number;
  /** Sent as the Audit-ID header. A real API server writes it to its audit log, the embedded one to its facts. */
  readonly auditId: string;
  /** the version of the object that the request wrote, see `versionOf` */
  readonly version?: string;
  /** why there was no answer, in words */
  readonly failure?: string;
  /** The `reason` of a Status, or a short description of a success. */
  readonly outcome?: string;
  /** redacted; only set if the trace wants bodies */
  readonly requestBody?: unknown;
  readonly responseBody?: unknown;
}

/**
 * One gRPC call, reported by the client when its status arrives. A stream is reported when it begins and when it ends.
 */
export interface RpcFact {
  readonly kind: "rpc";
  /** without its package: `RuntimeService` */
  readonly service: string;
  /** `ListContainers` */
  readonly method: string;
  /** `unix:///run/containerd/containerd.sock` */
  readonly endpoint: string;
  /** in Go's spelling: `OK`, `NotFound`; undefined if the client cancelled the call, or while it is running */
  readonly code?: string;
  readonly durationMs: number;
  /** the runtime's error message, or a short description of a success */
  readonly outcome?: string;
  /** redacted; only set if the trace wants bodies */
  readonly requestBody?: unknown;
  readonly responseBody?: unknown;
}

/** What a part of a server changed in an object: one operation of a JSON patch (RFC 6902). */
export interface Change {
  readonly op: "add" | "remove" | "replace";
  /** a JSON pointer: `/spec/containers/0/image` */
  readonly path: string;
  /** redacted; absent for `remove` */
  readonly value?: unknown;
}

/** A decision: what, why, and based on which constants. */
export interface DecisionFact {
  readonly kind: "decision";
  /** the decision: `renew the certificate in 7m12s` */
  readonly what: string;
  readonly why: string;
  readonly constants?: readonly Constant[];
  /** what it changed in an object */
  readonly changes?: readonly Change[];
  /** the numbers that it compared, as a table */
  readonly compared?: Pick<TableFact, "columns" | "rows">;
  readonly upstream?: Upstream;
  /** the request that an API server decided about */
  readonly auditId?: string;
}

/** A state changed: `node n1`, Ready: Unknown -> True. */
export interface StateFact {
  readonly kind: "state";
  readonly subject: string;
  readonly what: string;
  readonly from?: string;
  readonly to: string;
  readonly upstream?: Upstream;
  /** the version of the object that the change made, see `versionOf` */
  readonly version?: string;
}

/** A watch event arrived at a client. Its cause is the version of the object, and so the request that wrote that version. */
export interface WatchFact {
  readonly kind: "watch";
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  /** `pods` */
  readonly resource: string;
  /** `default/web`, or the name of an object without a namespace */
  readonly object: string;
}

/** A recorded Kubernetes Event object. */
export interface EventFact {
  readonly kind: "event";
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  /** `Node/n1` */
  readonly object: string;
  readonly upstream?: Upstream;
}

/** A sentence for the learner. */
export interface NoteFact {
  readonly kind: "note";
  readonly text: string;
  readonly upstream?: Upstream;
}

/** A table of states; the renderer aligns the columns. */
export interface TableFact {
  readonly kind: "table";
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** the number of rows that were left out */
  readonly omittedRows?: number;
  readonly upstream?: Upstream;
}

/** A failure. The chapter may continue (a retry) or end. */
export interface ErrorFact {
  readonly kind: "error";
  readonly message: string;
  readonly hint?: string;
}

/** One frame of a stream, reported where it was sent or received. */
export interface FrameFact {
  readonly kind: "frame";
  readonly direction: "sent" | "received";
  readonly framing: "SPDY" | "WebSocket";
  /** `DATA`, `SYN_STREAM`, `binary`, ... */
  readonly type: string;
  /** `stdin`, `stdout`, `stderr`, `error`, `resize`, ... */
  readonly channel?: string;
  /** the SPDY stream */
  readonly streamId?: number;
  /** bytes of the payload */
  readonly length: number;
  /** the beginning of the payload, printable and redacted; absent if it could be a secret */
  readonly head?: string;
  readonly note?: string;
}

/** One step of a story. */
export interface StoryStep {
  /** the id of the fact that the step is */
  readonly fact: string;
  /** what happened, in one sentence: `asks the API server to create pod web` */
  readonly text: string;
  /** why, in one sentence */
  readonly why?: string;
  /** for `kubelab explain` */
  readonly topic?: string;
  readonly upstream?: Upstream;
}

/**
 * The facts that a command's story consists of: what a reader of the trace sees first. Steps are numbered from 1 in this order.
 * A later fact with the same title has further steps; one with another title begins a new story. Terminals do not show it.
 */
export interface StoryFact {
  readonly kind: "story";
  /** `pod default/web: from the request to Running` */
  readonly title: string;
  readonly steps: readonly StoryStep[];
}

export type Fact =
  | StepFact
  | RequestFact
  | RpcFact
  | DecisionFact
  | StateFact
  | WatchFact
  | EventFact
  | NoteFact
  | TableFact
  | FrameFact
  | ErrorFact
  | StoryFact;

/** An actor, and its node if it has one. */
export interface Peer {
  readonly actor: Actor;
  readonly instance?: string;
}

interface Stamp {
  /** 1, 2, 3, ... in the order reported */
  readonly seq: number;
  /** 16 hexadecimal digits, unique among the traces of all processes; the parent ID of a `traceparent` header */
  readonly id: string;
  /** Unix ms on the trace's clock */
  readonly atMs: number;
  readonly actor: Actor;
  /** which of several: the node of a kubelet or runtime, the name of a controller */
  readonly instance?: string;
  /** the running chapter: `bootstrap`, `lease`, ... */
  readonly chapter?: string;
  /** the pod that the actor worked on: `default/web` */
  readonly pod?: string;
  /** the id of the fact that caused it, or the version of the object that did (see `versionOf`) */
  readonly causedBy?: string;
  /** what began the chain, for a fact without a cause, and for a step that follows another one of the command */
  readonly origin?: Origin;
  /** the other end of a stream that a decision opens, or whose state changed; of the same node unless it names another */
  readonly peer?: Peer;
  /** for periodic facts: the interval, `10 s` */
  readonly every?: string;
  /** the lowest `-v` level that shows it: see `Verbosity` in trace.ts */
  readonly level: number;
}

export type TraceEvent = Stamp & Fact;
