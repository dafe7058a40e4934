import type { Fact, TraceEvent } from "../trace/events.js";
import { type Level, Trace } from "../trace/trace.js";
import type { Clock } from "../util/clock.js";
import { defined } from "../util/defined.js";

/** The steps of the kubelet's server for streams and logs. */
const HOPS = new Set(["getExec", "getAttach", "getPortForward", "getContainerLogs"]);
/** The runtime calls of these steps. */
const CALLS = new Set(["Exec", "Attach", "PortForward"]);
/** The level of all other facts: other commands show how a cluster starts. */
const SCENERY_LEVEL = 3;

/**
 * Filters the trace of servers in this process: the hops of followed requests are shown at `-v 1`, all other facts,
 * such as the start of a cluster and a node, at `-v 3`.
 */
export class RequestTrace {
  /** for the servers */
  readonly trace: Trace;
  readonly #out: Trace;
  #auditIds: ReadonlySet<string> | undefined;
  /** the shown steps: their numbers in the servers' trace and in this one */
  readonly #steps = new Map<number, number>();

  constructor(out: Trace, clock: Clock) {
    this.#out = out;
    this.trace = new Trace(clock, out.wantsBodies, out.secrets);
    const levelNow = () => this.#level;
    this.trace.addSink({
      get level(): Level {
        return levelNow();
      },
      write: (event) => this.#write(event),
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

  #write(event: TraceEvent): void {
    const { seq, atMs: _atMs, causedBy, chapter: _chapter, actor, level, ...fact } = event;
    const parent = causedBy === undefined ? undefined : this.#steps.get(causedBy);
    const isHop = this.#isHop(fact as Fact) || parent !== undefined;
    const told = isHop ? hopLevel(fact as Fact, level) : level === 0 ? 0 : Math.max(level, SCENERY_LEVEL);
    const cause = defined({ causedBy: parent });
    const written = this.#out.emit(fact as Fact, { actor, level: told as Level, ...cause });
    if (isHop && fact.kind === "step") this.#steps.set(seq, written.seq);
  }

  #isHop(fact: Fact): boolean {
    if (this.#auditIds === undefined) return false;
    if (fact.kind === "step") return fact.upstream !== undefined && HOPS.has(fact.upstream.func);
    if (fact.kind === "decision") return fact.auditId !== undefined && this.#auditIds.has(fact.auditId);
    // The API server's fact about a closed connection has no audit ID.
    return fact.kind === "state" && fact.what === "connection";
  }
}

/** Authentication, authorization and the runtime call are details elsewhere, but shown here. */
function hopLevel(fact: Fact, level: number): number {
  if (fact.kind === "decision") return 1;
  if (fact.kind === "rpc") return CALLS.has(fact.method) ? 1 : level;
  return level;
}
