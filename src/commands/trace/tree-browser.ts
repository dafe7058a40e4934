import type { TraceEvent } from "../../trace/events.js";
import { nameOf } from "../../trace/formats/name.js";
import type { TraceGraph, Walked } from "../../trace/graph/graph.js";
import { counted } from "../../util/text/counted.js";
import { fitted, textWidth, wrap } from "../../util/text/text-width.js";
import { beginningOf, factDetails, factLine, factWords, type LineStyle, oneLine } from "./fact-lines.js";

const KEYS = "↑↓ move  ←→ fold, unfold  - + all  / search  n next  q quit";
const ASCII_KEYS = "up/down move  left/right fold, unfold  - + all  / search  n next  q quit";

const UP = ["\u001b[A", "\u001bOA", "k"];
const DOWN = ["\u001b[B", "\u001bOB", "j"];
const RIGHT = ["\u001b[C", "\u001bOC", "l"];
const LEFT = ["\u001b[D", "\u001bOD", "h"];
const PAGE_UP = "\u001b[5~";
const PAGE_DOWN = ["\u001b[6~", " "];
const FIRST = ["\u001b[H", "\u001bOH", "\u001b[1~", "g"];
const LAST = ["\u001b[F", "\u001bOF", "\u001b[4~", "G"];
const ENTER = ["\r", "\n"];
const BACKSPACE = ["\u007f", "\b"];
const ESCAPE = "\u001b";

/** One line of a frame. */
export interface FrameLine {
  readonly text: string;
  readonly role: "title" | "fact" | "selected" | "detail" | "keys";
}

/** The causal trees of a trace, for a terminal: which facts are unfolded and selected, and the visible lines. Pure. */
export class TreeBrowser {
  readonly #folded = new Set<TraceEvent>();
  #rows: readonly Walked[] = [];
  #selected = 0;
  #top = 0;
  #listHeight = 1;
  #search = "";
  #typed: string | undefined;
  #message = "";

  constructor(
    readonly graph: TraceGraph,
    readonly style: LineStyle,
  ) {
    this.#unfoldRows();
  }

  /** Whether keys are the letters of a search. */
  get isTyping(): boolean {
    return this.#typed !== undefined;
  }

  get selected(): TraceEvent | undefined {
    return this.#rows[this.#selected]?.event;
  }

  press(key: string): void {
    this.#message = "";
    if (this.#typed !== undefined) this.#type(key, this.#typed);
    else if (UP.includes(key)) this.#select(this.#selected - 1);
    else if (DOWN.includes(key)) this.#select(this.#selected + 1);
    else if (key === PAGE_UP) this.#select(this.#selected - this.#listHeight);
    else if (PAGE_DOWN.includes(key)) this.#select(this.#selected + this.#listHeight);
    else if (FIRST.includes(key)) this.#select(0);
    else if (LAST.includes(key)) this.#select(this.#rows.length - 1);
    else if (RIGHT.includes(key)) this.#unfold();
    else if (LEFT.includes(key)) this.#fold();
    else if (ENTER.includes(key)) this.#toggle();
    else if (key === "-") this.#foldAll(this.graph.events.filter((event) => this.graph.effectsOf(event).length > 0));
    else if (key === "+") this.#foldAll([]);
    else if (key === "/") this.#typed = "";
    else if (key === "n") this.#find();
  }

  /** Exactly `rows` lines of at most `columns` columns. */
  frame(columns: number, rows: number): FrameLine[] {
    const detailHeight = Math.max(0, Math.min(9, Math.floor(rows / 3)));
    this.#listHeight = Math.max(1, rows - detailHeight - 2);
    this.#top = Math.min(this.#top, this.#selected);
    this.#top = Math.max(this.#top, this.#selected - this.#listHeight + 1);
    const shown = this.#rows.slice(this.#top, this.#top + this.#listHeight);
    const facts = shown.map((row, i): FrameLine => {
      const role = this.#top + i === this.#selected ? "selected" : "fact";
      return { text: this.#rowText(row), role };
    });
    const empty = Array.from(
      { length: this.#listHeight - facts.length },
      (): FrameLine => ({ text: "", role: "fact" }),
    );
    const details = this.#details(columns).slice(0, detailHeight);
    const lines: FrameLine[] = [
      { text: this.#title(), role: "title" },
      ...facts,
      ...empty,
      ...Array.from({ length: detailHeight }, (_, i): FrameLine => ({ text: details[i] ?? "", role: "detail" })),
      { text: this.#keys(), role: "keys" },
    ];
    const mark = this.style.unicode ? "…" : "...";
    return lines.slice(0, rows).map(({ text, role }) => {
      const short = fitted(oneLine(text), columns, mark);
      return { text: role === "selected" ? short + " ".repeat(Math.max(0, columns - textWidth(short))) : short, role };
    });
  }

  #title(): string {
    const { graph } = this;
    return `${counted(graph.events.length, "fact")} in ${counted(graph.roots().length, "tree")}, line ${this.#selected + 1} of ${this.#rows.length}`;
  }

  #keys(): string {
    if (this.#typed !== undefined) return `search: ${this.#typed}`;
    return this.#message || (this.style.unicode ? KEYS : ASCII_KEYS);
  }

  #rowText({ event, depth }: Walked): string {
    const hasEffects = this.graph.effectsOf(event).length > 0;
    const mark = hasEffects ? (this.#folded.has(event) ? "+" : "-") : " ";
    return `${mark}${factLine(event, this.style, depth)}`;
  }

  #details(columns: number): string[] {
    const event = this.selected;
    if (event === undefined) return [];
    const cause = this.graph.causeOf(event);
    const { id, chapter, pod } = event;
    const lines = [
      "-".repeat(columns),
      factWords(event, this.style),
      ...factDetails(event, this.style, columns - 2).map((line) => `  ${line}`),
      cause === undefined
        ? `began with ${beginningOf(this.graph, event)}`
        : `caused by ${factWords(cause, this.style)}`,
      [`caused ${this.graph.effectsOf(event).length}`, pod && `pod ${pod}`, chapter, `id ${id}`]
        .filter(Boolean)
        .join(", "),
    ];
    return lines.flatMap((line) =>
      line.startsWith("  ") ? [line] : wrap(oneLine(line), columns, { cutsPaths: true }),
    );
  }

  #unfoldRows(): void {
    const rows: Walked[] = [];
    const seen = new Set<TraceEvent>();
    for (const root of this.graph.roots()) {
      let hiddenBelow = Number.POSITIVE_INFINITY;
      for (const row of this.graph.walk(root, seen)) {
        if (row.depth > hiddenBelow) continue;
        hiddenBelow = this.#folded.has(row.event) ? row.depth : Number.POSITIVE_INFINITY;
        rows.push(row);
      }
    }
    const before = this.selected;
    this.#rows = rows;
    if (before !== undefined) this.#selectFact(before);
  }

  #select(index: number): void {
    this.#selected = Math.max(0, Math.min(index, this.#rows.length - 1));
  }

  /** Selects a fact, or the nearest of its causes that is shown. */
  #selectFact(event: TraceEvent): void {
    const index = new Map(this.#rows.map((row, i) => [row.event, i]));
    const shown = this.graph.chainOf(event).findLast((one) => index.has(one));
    this.#select(index.get(shown ?? event) ?? 0);
  }

  #unfold(): void {
    const { selected } = this;
    if (selected === undefined || !this.#folded.delete(selected)) this.#select(this.#selected + 1);
    else this.#unfoldRows();
  }

  /** Folds what the fact caused; a second time, goes to its cause. */
  #fold(): void {
    const { selected } = this;
    if (selected === undefined) return;
    if (this.graph.effectsOf(selected).length > 0 && !this.#folded.has(selected)) {
      this.#folded.add(selected);
      this.#unfoldRows();
      return;
    }
    const cause = this.graph.causeOf(selected);
    if (cause !== undefined) this.#selectFact(cause);
  }

  #toggle(): void {
    if (this.selected !== undefined && this.#folded.has(this.selected)) this.#unfold();
    else if (this.selected !== undefined && this.graph.effectsOf(this.selected).length > 0) this.#fold();
  }

  #foldAll(events: readonly TraceEvent[]): void {
    this.#folded.clear();
    for (const event of events) this.#folded.add(event);
    this.#unfoldRows();
  }

  #type(key: string, typed: string): void {
    if (key === ESCAPE) this.#typed = undefined;
    else if (BACKSPACE.includes(key)) this.#typed = typed.slice(0, -1);
    else if (ENTER.includes(key)) {
      this.#typed = undefined;
      this.#search = typed;
      this.#find();
    } else if (!key.startsWith(ESCAPE) && key >= " ") this.#typed = typed + key;
  }

  /** Selects the next fact with the text, also one that is folded away. */
  #find(): void {
    const wanted = this.#search.toLowerCase();
    if (wanted === "") return;
    const seen = new Set<TraceEvent>();
    const all = this.graph.roots().flatMap((root) => [...this.graph.walk(root, seen)].map(({ event }) => event));
    const from = this.selected === undefined ? 0 : all.indexOf(this.selected) + 1;
    const hasText = (event: TraceEvent) =>
      `${nameOf(event)} ${event.id} ${event.pod ?? ""}`.toLowerCase().includes(wanted);
    const found = [...all.slice(from), ...all.slice(0, from)].find(hasText);
    if (found === undefined) {
      this.#message = `no fact has "${this.#search}"`;
      return;
    }
    for (const one of this.graph.chainOf(found)) if (one !== found) this.#folded.delete(one);
    this.#unfoldRows();
    this.#selectFact(found);
  }
}
