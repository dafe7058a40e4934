import type { TraceEvent } from "../../../trace/events.js";
import { RecentFacts } from "../../../trace/file/recent-facts.js";
import { Secrets } from "../../../trace/redaction/secrets.js";
import { type Level, Trace, type TraceSink } from "../../../trace/trace.js";
import type { Clock } from "../../../util/clock.js";

/** The limit of all bodies, in characters as JSON: those of about a thousand requests. */
const MAX_BODIES_LENGTH = 8_000_000;

/** The last facts of a lab: of its control plane, its nodes, and the commands that it runs in this process. */
export class LabFacts implements TraceSink {
  readonly level: Level = 3;
  readonly wantsBodies = true;
  /** secrets that one part of the lab has seen are masked in the facts of all */
  readonly secrets = new Secrets();
  readonly #recent = new RecentFacts(undefined, MAX_BODIES_LENGTH);
  readonly #trace: Trace;
  /** for the client of the checks: facts that their reads cause in the control plane are not part of the lab, and are not kept */
  readonly reads: Trace;
  readonly #readsPrefix: string;
  #sink: TraceSink | undefined;
  readonly #followers = new Set<(event: TraceEvent) => void>();

  constructor(readonly clock: Clock) {
    this.#trace = this.openTrace();
    this.reads = new Trace(clock);
    // Without a sink its client would not name itself to the API server.
    this.reads.addSink({ level: this.level, write: () => {} });
    this.#readsPrefix = this.reads.newId().slice(0, 8);
  }

  /** The trace of a part of the lab. */
  openTrace(): Trace {
    const trace = new Trace(this.clock, this.wantsBodies, this.secrets);
    trace.addSink(this);
    return trace;
  }

  write(event: TraceEvent): void {
    if (event.causedBy?.startsWith(this.#readsPrefix) === true) return;
    this.#recent.write(event);
    this.#sink?.write(event);
    for (const follower of this.#followers) follower(event);
  }

  /** Calls `onFact` with each later fact, until the result is disposed of. */
  follow(onFact: (event: TraceEvent) => void): Disposable {
    this.#followers.add(onFact);
    return { [Symbol.dispose]: () => this.#followers.delete(onFact) };
  }

  /** Passes on the facts up to now and later ones. */
  passTo(sink: TraceSink): void {
    for (const event of this.since()) sink.write(event);
    this.#sink = sink;
  }

  /** how many facts there were: a mark for `since` */
  get count(): number {
    return this.#recent.count;
  }

  since(count = 0): readonly TraceEvent[] {
    return this.#recent.since(count);
  }

  /** Runs a command line, which becomes the cause of its facts in this process. */
  command<T>(line: string, body: () => T): T {
    return this.#begin(`$ ${line.trim()}`, body);
  }

  injection<T>(name: string, args: Readonly<Record<string, unknown>>, body: () => T): T {
    const words = Object.entries(args).map(([key, value]) => `${key} ${value}`);
    return this.#begin([`the lab injects ${name}`, ...words].join(", "), body);
  }

  #begin<T>(title: string, body: () => T): T {
    return this.#trace.origin("command", () => this.#trace.step("user", title, {}, body));
  }
}
