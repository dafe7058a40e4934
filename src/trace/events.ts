/**
 * What a trace consists of: facts, each reported at the place where it happened.
 *
 * A renderer (terminal, ndjson, ...) makes lines from them; nothing here knows how they look. Secrets are masked
 * before an event is made (`trace/redact.ts`).
 */

/** Who did it. `user` is the person at the keyboard, or the administrator whose part kubelab plays. */
export type Actor = "user" | "kubelet" | "apiserver" | "controller" | "scheduler" | "runtime";

/** A file of the Kubernetes repository at v1.25 and the function a step mirrors. */
export interface Upstream {
  /** for example `pkg/kubelet/certificate/bootstrap/bootstrap.go` */
  readonly file: string;
  /** for example `LoadClientConfig` */
  readonly func: string;
}

/** A constant that decided something, with the release its value is from. */
export interface Constant {
  /** as upstream spells it, for example `nodeMonitorGracePeriod` */
  readonly name: string;
  /** with its unit: `40 s` */
  readonly value: string;
  /** for example `v1.25`, or `v1.32 (40 s before)` */
  readonly release?: string;
}

/** A step of a chapter begins. Everything that happens inside it carries its `seq` as `causedBy`. */
export interface StepFact {
  readonly kind: "step";
  readonly title: string;
  readonly upstream?: Upstream;
}

/** One HTTP exchange, reported by client middleware when its answer (or failure) is there. */
export interface RequestFact {
  readonly kind: "request";
  readonly method: string;
  /** path and query */
  readonly path: string;
  /** the server's origin: `https://127.0.0.1:6443` */
  readonly server: string;
  /** who asks: `token abcdef.****`, `certificate system:node:n1`, `anonymous` */
  readonly identity: string;
  /** undefined when no answer came */
  readonly status?: number;
  readonly durationMs: number;
  /** Sent as the Audit-ID header: a real API server writes it into its audit log, the embedded one into its facts. */
  readonly auditId: string;
  /** why no answer came, in words */
  readonly failure?: string;
  /** A Status's `reason` or what a success brought, in a few words. */
  readonly outcome?: string;
  /** redacted; only made when the trace wants bodies */
  readonly requestBody?: unknown;
  readonly responseBody?: unknown;
}

/** One gRPC call, reported by the client when its status is there; a stream is reported when it begins and when it ends. */
export interface RpcFact {
  readonly kind: "rpc";
  /** without its package: `RuntimeService` */
  readonly service: string;
  /** `ListContainers` */
  readonly method: string;
  /** `unix:///run/containerd/containerd.sock` */
  readonly endpoint: string;
  /** in Go's spelling: `OK`, `NotFound`; undefined when the call was cancelled here, or is still under way */
  readonly code?: string;
  readonly durationMs: number;
  /** what the runtime said about a failure, or what a success brought, in a few words */
  readonly outcome?: string;
  /** redacted; only made when the trace wants bodies */
  readonly requestBody?: unknown;
  readonly responseBody?: unknown;
}

/** Somebody chose: what, why, and by which constants. */
export interface DecisionFact {
  readonly kind: "decision";
  /** the choice: `renew the certificate in 7m12s` */
  readonly what: string;
  readonly why: string;
  readonly constants?: readonly Constant[];
  readonly upstream?: Upstream;
  /** the request it was taken for, when an API server took it */
  readonly auditId?: string;
}

/** A thing changed: `node n1`, Ready: Unknown -> True. */
export interface StateFact {
  readonly kind: "state";
  readonly subject: string;
  readonly what: string;
  readonly from?: string;
  readonly to: string;
  readonly upstream?: Upstream;
}

/** A Kubernetes Event object that somebody recorded. */
export interface EventFact {
  readonly kind: "event";
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  /** `Node/n1` */
  readonly object: string;
}

/** A sentence for the learner. */
export interface NoteFact {
  readonly kind: "note";
  readonly text: string;
}

/** States side by side: columns that a renderer aligns. */
export interface TableFact {
  readonly kind: "table";
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** how many more rows there were than are kept here */
  readonly omittedRows?: number;
}

/** Something failed; the chapter may go on (a retry) or end. */
export interface ErrorFact {
  readonly kind: "error";
  readonly message: string;
  readonly hint?: string;
}

/** One frame of a stream, reported where it was sent or taken. */
export interface FrameFact {
  readonly kind: "frame";
  readonly direction: "sent" | "received";
  readonly framing: "SPDY" | "WebSocket";
  /** `DATA`, `SYN_STREAM`, `binary`, ... */
  readonly type: string;
  /** `stdin`, `stdout`, `stderr`, `error`, `resize`, ... */
  readonly channel?: string;
  /** SPDY's */
  readonly streamId?: number;
  /** bytes of the payload */
  readonly length: number;
  /** the payload's beginning, printable and redacted; absent where it may be a secret */
  readonly head?: string;
  readonly note?: string;
}

export type Fact =
  | StepFact
  | RequestFact
  | RpcFact
  | DecisionFact
  | StateFact
  | EventFact
  | NoteFact
  | TableFact
  | FrameFact
  | ErrorFact;

interface Stamp {
  /** 1, 2, 3, ... in the order reported */
  readonly seq: number;
  /** Unix ms on the trace's clock */
  readonly atMs: number;
  readonly actor: Actor;
  /** `bootstrap`, `lease`, ...: which chapter was running */
  readonly chapter?: string;
  /** seq of the step (or, for an API server's decision, of the request) that caused it */
  readonly causedBy?: number;
  /** from which `-v` on the terminal shows it: see `Verbosity` in trace.ts */
  readonly level: number;
}

export type TraceEvent = Stamp & Fact;
