import { ACTORS, type Actor, type TraceEvent } from "../events.js";
import { startMs, type TraceGraph } from "../graph/graph.js";
import { wrap } from "../terminal/text.js";
import { answerOf, nameOf } from "./name.js";

/** Mermaid draws at most 50,000 characters of text. */
const MAX_CHARACTERS = 45_000;
/** A diagram with more facts is not readable. */
const MAX_FACTS = 250;
/** Servers' facts (`-v 3`) are left out unless they concern a pod or caused such a fact, if this many facts remain. */
const ENOUGH_FACTS = 40;
const MAX_LABEL = 90;
/** The longest line of a label determines the distance of the columns, so labels are broken at this length. */
const MAX_LINE = 32;

type Exchange = TraceEvent & { readonly kind: "request" | "rpc" };

/**
 * A Mermaid sequence diagram: requests, calls and watch events are arrows between actors, the other facts are notes. It has the facts
 * of as many levels (`-v`) as stay readable, and ends with a note that names the number of those that it leaves out.
 */
export function* mermaidDiagram(graph: TraceGraph): Generator<string> {
  const all = graph.inOrder();
  const shown = pick(all, graph);
  const participants = new Participants(graph, shown);
  yield "sequenceDiagram\n";
  for (const line of participants.lines()) yield `${line}\n`;
  let room = MAX_CHARACTERS;
  let drawn = 0;
  for (const { line, isFact } of linesOf(shown, participants)) {
    room -= line.length + 1;
    if (room < 0) break;
    drawn += isFact ? 1 : 0;
    yield `${line}\n`;
  }
  if (drawn === all.length) return;
  const text = label(`${all.length - drawn} of ${all.length} facts are left out; the .ndjson trace has them all`);
  yield `${participants.noteOverAll(text)}\n`;
}

/** The facts of the lowest levels, in order; if a level does not fit completely, those about a pod come first. */
function pick(events: readonly TraceEvent[], graph: TraceGraph): readonly TraceEvent[] {
  if (events.length <= ENOUGH_FACTS) return events;
  const rank = (event: TraceEvent) => Math.max(1, event.level) * 2 - (event.pod === undefined ? 0 : 1);
  // Sorting keeps the order of facts with the same rank.
  const ranked = events.toSorted((a, b) => rank(a) - rank(b));
  const main = ranked.filter((event) => event.level <= 2 || event.pod !== undefined).slice(0, MAX_FACTS);
  const causes = main.flatMap((event) => graph.causeOf(event) ?? []);
  const shown = new Set(main.length < ENOUGH_FACTS ? ranked.slice(0, MAX_FACTS) : [...main, ...causes]);
  return events.filter((event) => shown.has(event)).slice(0, MAX_FACTS);
}

interface Line {
  readonly line: string;
  /** false for the answer of a request, which is the second line of its fact */
  readonly isFact: boolean;
}

/** An answer is drawn at its own time, after the facts in between. */
function* linesOf(events: readonly TraceEvent[], participants: Participants): Generator<Line> {
  let waiting: Exchange[] = [];
  for (const event of events) {
    const isOver = (one: Exchange) =>
      one.atMs < startMs(event) || (one.atMs === startMs(event) && one.seq < event.seq && !isExchange(event));
    for (const one of waiting.filter(isOver)) yield { line: participants.answer(one), isFact: false };
    waiting = waiting.filter((one) => !isOver(one));
    yield { line: participants.line(event), isFact: true };
    if (isExchange(event)) waiting = [...waiting, event].sort((a, b) => a.atMs - b.atMs || a.seq - b.seq);
  }
  for (const one of waiting) yield { line: participants.answer(one), isFact: false };
}

function isExchange(event: TraceEvent): event is Exchange {
  return event.kind === "request" || event.kind === "rpc";
}

/** The columns of the diagram: one for each instance of an actor, and one for all controllers. */
class Participants {
  /** by actor and instance */
  readonly #aliases = new Map<string, string>();
  /** who answered each request and call */
  readonly #servers = new Map<TraceEvent, string>();

  constructor(graph: TraceGraph, events: readonly TraceEvent[]) {
    const seen = new Map<string, Actor>();
    for (const event of events) seen.set(columnOf(event), event.actor);
    for (const event of events) {
      const server = serverOf(graph, event);
      if (server === undefined) continue;
      // A server that reports no facts is known only by its kind.
      const isKnown = (column: string) => column === columnOf({ ...event, actor: server.actor });
      const ofKind = [...seen].flatMap(([column, actor]) => (actor === server.actor ? [column] : []));
      const known = server.instance === undefined ? (ofKind.find(isKnown) ?? ofKind[0]) : undefined;
      const column = known ?? columnOf(server);
      this.#servers.set(event, column);
      seen.set(column, server.actor);
    }
    for (const actor of ACTORS) {
      for (const [column, of] of seen) if (of === actor) this.#aliases.set(column, `p${this.#aliases.size + 1}`);
    }
  }

  *lines(): Generator<string> {
    for (const [column, alias] of this.#aliases) yield `  participant ${alias} as ${label(column)}`;
  }

  line(event: TraceEvent): string {
    const own = this.#aliases.get(columnOf(event));
    const server = this.#alias(event);
    if (isExchange(event)) return `  ${own}->>${server}: ${label(nameOf(event))}`;
    if (event.kind === "watch") return `  ${server}-->>${own}: ${label(nameOf(event))}`;
    return `  Note over ${own}: ${label(isOneOfMany(event) ? `${event.instance}: ${nameOf(event)}` : nameOf(event))}`;
  }

  answer(event: Exchange): string {
    const text = label(`${answerOf(event)} (${Math.round(event.durationMs)} ms)`);
    return `  ${this.#alias(event)}-->>${this.#aliases.get(columnOf(event))}: ${text}`;
  }

  noteOverAll(text: string): string {
    const aliases = [...this.#aliases.values()];
    return `  Note over ${[...new Set([aliases[0], aliases.at(-1)])].join(",")}: ${text}`;
  }

  #alias(event: TraceEvent): string | undefined {
    return this.#aliases.get(this.#servers.get(event) ?? "");
  }
}

type Place = Pick<TraceEvent, "actor" | "instance">;

function columnOf(place: Place): string {
  return place.instance === undefined || isOneOfMany(place) ? place.actor : `${place.actor} ${place.instance}`;
}

/** There are a dozen controllers, and most of them report little. */
function isOneOfMany({ actor, instance }: Place): boolean {
  return actor === "controller" && instance !== undefined;
}

/** The actor that answers: the one whose facts the request caused, else the usual target of such a request. */
function serverOf(graph: TraceGraph, event: TraceEvent): Place | undefined {
  if (event.kind === "watch") return { actor: "apiserver" };
  if (!isExchange(event)) return undefined;
  const answered = graph.effectsOf(event).find(({ actor, kind }) => actor !== event.actor && kind !== "watch");
  if (answered !== undefined) return answered;
  if (event.kind === "rpc") return { actor: "runtime" };
  return { actor: event.actor === "apiserver" ? "kubelet" : "apiserver" };
}

/**
 * A text that Mermaid takes as it is: letters, digits and a few signs; others by number (`#59;`), because `;`, `#`, `<` or a
 * line break could end the text or begin something else.
 */
function label(text: string): string {
  const short = text.length <= MAX_LABEL ? text : `${text.slice(0, MAX_LABEL - 3)}...`;
  const lines = wrap(short.replace(/[\p{C}\p{Z}]/gu, " ").trim(), MAX_LINE, { cutsPaths: true }).map((line) =>
    line.replace(/[^\p{L}\p{N} /().,:?!'_=@*-]/gu, (sign) => `#${sign.codePointAt(0)};`),
  );
  return lines.join("<br/>") || "-";
}
