import type { Fact } from "../trace/events.js";
import type { EmitOptions, Level, Trace } from "../trace/trace.js";
import { TraceView } from "../trace/view.js";

/** The steps of the kubelet's server for streams and logs. */
const HOPS = new Set(["getExec", "getAttach", "getPortForward", "getContainerLogs"]);
/** The runtime calls of these steps. */
const CALLS = new Set(["Exec", "Attach", "PortForward"]);
/** Stages of a request in which nothing is decided. */
const UNDECIDED = new Set([
  "WithAuditInit",
  "WithRequestInfo",
  "WithCacheControl",
  "WithWarningRecorder",
  "WithWaitGroup",
  "WithRequestDeadline",
  "WriteObjectNegotiated",
]);
/** The level of all other facts: other commands show how a cluster starts. */
const SCENERY_LEVEL = 3;

/**
 * How servers in this process are shown: the hops of followed requests at `-v 1`, all other facts, such as the start of a cluster
 * and a node, at `-v 3`.
 */
export class RequestTrace {
  /** for the servers */
  readonly trace: Trace;
  readonly #out: Trace;
  #auditIds: ReadonlySet<string> | undefined;
  /** the shown steps */
  readonly #steps = new Set<string>();

  constructor(out: Trace) {
    this.#out = out;
    this.trace = new TraceView(out, {
      wants: (level) => this.#level >= level,
      levelOf: (fact, level, options) => this.#levelOf(fact, level, options),
    });
  }

  /** Before a request is followed, only facts that are shown are created. */
  get #level(): Level {
    if (this.#out.wants(SCENERY_LEVEL)) return 4;
    return this.#auditIds === undefined ? 0 : SCENERY_LEVEL;
  }

  /** Shows the hops of these requests from now on, and the kubelet's part in them. */
  follow(auditIds: readonly string[]): void {
    this.#auditIds = new Set([...(this.#auditIds ?? []), ...auditIds]);
  }

  #levelOf(fact: Fact, level: Level, { id, causedBy = this.#out.cause }: EmitOptions): Level {
    if (this.#isHop(fact) || (causedBy !== undefined && this.#steps.has(causedBy))) {
      if (fact.kind === "step" && id !== undefined) this.#steps.add(id);
      return hopLevel(fact, level);
    }
    return level === 0 || level > SCENERY_LEVEL ? level : SCENERY_LEVEL;
  }

  #isHop(fact: Fact): boolean {
    if (this.#auditIds === undefined) return false;
    if (fact.kind === "step") return fact.upstream !== undefined && HOPS.has(fact.upstream.func);
    if (fact.kind === "decision")
      return this.#auditIds.has(fact.auditId ?? "") && !UNDECIDED.has(fact.upstream?.func ?? "");
    // The API server's fact about a closed connection has no audit ID.
    return fact.kind === "state" && fact.what === "connection";
  }
}

/** Authentication, authorization and the runtime call are details elsewhere, but shown here. */
function hopLevel(fact: Fact, level: Level): Level {
  if (fact.kind === "decision") return 1;
  if (fact.kind === "rpc") return CALLS.has(fact.method) ? 1 : level;
  return level;
}
