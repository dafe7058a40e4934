import type { Fact, TraceEvent } from "../trace/events.js";
import { type Level, Trace } from "../trace/trace.js";
import type { Clock } from "../util/clock.js";
import { defined } from "../util/defined.js";

/** Steps of the kubelet's server that a stream or a log goes through. */
const HOPS = new Set(["getExec", "getAttach", "getPortForward", "getContainerLogs"]);
/** The calls that they ask the runtime with. */
const CALLS = new Set(["Exec", "Attach", "PortForward"]);
/** From which -v on the rest is shown: how a cluster starts is told by other commands. */
const SCENERY_LEVEL = 3;

/**
 * What servers of this process report, when only some of it is the story: the hops that one request goes through, at
 * `-v 1`. All else, the start of a cluster and a node and what they do beside, is for `-v 3`.
 */
export class RequestTrace {
  /** for the servers */
  readonly trace: Trace;
  readonly #out: Trace;
  #auditIds: ReadonlySet<string> | undefined;
  /** steps that are told: their number there, and here */
  readonly #steps = new Map<number, number>();

  constructor(out: Trace, clock: Clock) {
    this.#out = out;
    this.trace = new Trace(clock, out.wantsBodies);
    const levelNow = () => this.#level;
    this.trace.addSink({
      get level(): Level {
        return levelNow();
      },
      write: (event) => this.#write(event),
    });
  }

  /** Until something is followed, facts that nobody would see need not be made. */
  get #level(): Level {
    if (this.#out.wants(SCENERY_LEVEL)) return 4;
    return this.#auditIds === undefined ? 0 : SCENERY_LEVEL;
  }

  /** From now on the hops of these requests are told; what a kubelet serves is one of theirs. */
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
    // The API server says of a connection that ended which one it was, not whose.
    return fact.kind === "state" && fact.what === "connection";
  }
}

/** Who asked, whether they may, and the call to the runtime: elsewhere details, here the story. */
function hopLevel(fact: Fact, level: number): number {
  if (fact.kind === "decision") return 1;
  if (fact.kind === "rpc") return CALLS.has(fact.method) ? 1 : level;
  return level;
}
