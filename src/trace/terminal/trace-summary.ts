import { textWidth } from "../../util/text/text-width.js";
import type { Actor, TraceEvent } from "../events.js";
import { asItIs } from "../translated.js";
import type { TerminalOptions } from "./options.js";
import { printable } from "./text.js";

/** A run with fewer steps needs no summary. */
const MIN_STEPS = 3;
const MAX_CHANGES = 200;

/** Counts what a run reported, for the lines that end it. */
export class TraceSummary {
  readonly #requests = new Map<Actor, number>();
  readonly #decisions = new Map<Actor, number>();
  /** refused or failed requests, by status */
  readonly #refused = new Map<string, number>();
  /** what changed, each once */
  readonly #changed = new Set<string>();
  #steps = 0;
  #numbered = 0;
  #lastMs = 0;

  /** @param number of a step of the command's story: a run with such steps counts them, and no others */
  add(event: TraceEvent, number?: number): void {
    if (number !== undefined) this.#numbered++;
    this.#lastMs = event.atMs;
    if (event.kind === "step" && event.level <= 1) this.#steps++;
    if (event.kind === "decision" && event.level <= 1) count(this.#decisions, event.actor);
    if (event.kind === "request") {
      count(this.#requests, event.actor);
      if (event.status === undefined || event.status >= 400) count(this.#refused, String(event.status ?? "no answer"));
    }
    if (event.kind === "state" && event.level <= 1 && this.#changed.size < MAX_CHANGES)
      this.#changed.add(event.subject);
  }

  /**
   * @param repeats the periodic facts, with their counts
   * @param shorten long names
   * @returns no lines for a short run
   */
  lines(options: TerminalOptions, repeats: ReadonlyMap<string, number>, shorten: (text: string) => string): string[] {
    const steps = this.#numbered || this.#steps;
    // The hops of a connection are no steps of a run.
    const own = this.#steps + (this.#decisions.get("controller") ?? 0);
    if (Math.min(steps, own) < MIN_STEPS) return [];
    const { chalk, startMs, say = asItIs } = options;
    const again = [...repeats].filter(([, times]) => times > 1).map(([what, times]) => say(`${what} ${times} times`));
    const refused = [...this.#refused].map(([status, times]) => `${status}${times === 1 ? "" : ` x${times}`}`);
    const rows: readonly (readonly [string, readonly string[]])[] = [
      [
        "requests",
        [...words(this.#requests), ...(refused.length === 0 ? [] : [`${say("refused")}: ${refused.join(", ")}`])],
      ],
      ["decisions", words(this.#decisions)],
      ["changed", [...this.#changed].map((subject) => shorten(say(subject)))],
      ["repeated", again],
      ["more", ["-v 1 reasons and sources", "-v 2 requests", "--trace run.html a picture"].map(say)],
    ];
    const took = ((this.#lastMs - startMs) / 1000).toFixed(2);
    const head = say(`what just happened: ${steps} steps in ${took} s`);
    const told = rows.filter(([, parts]) => parts.length > 0).map(([name, parts]) => [say(name), parts] as const);
    return [
      chalk.bold(head),
      ...told.map(([name, parts]) => {
        const space = " ".repeat(Math.max(0, 10 - textWidth(name)));
        return `  ${chalk.dim(name)}${space} ${asManyAsFit(parts, options.width() - 13, say)}`;
      }),
    ];
  }
}

function count<K>(counts: Map<K, number>, key: K): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function words(counts: ReadonlyMap<Actor, number>): string[] {
  return [...counts].map(([actor, times]) => `${actor} ${times}`);
}

/** The parts that fit on a line, also after one that does not, and the number of the rest. */
function asManyAsFit(parts: readonly string[], width: number, say: (text: string) => string): string {
  const rest = (kept: readonly string[]) => parts.length - kept.length;
  const line = (kept: readonly string[]) =>
    `${kept.join(", ")}${rest(kept) === 0 ? "" : say(`, and ${rest(kept)} more`)}`;
  const kept: string[] = [];
  for (const part of parts.map(printable)) {
    kept.push(part);
    if (textWidth(line(kept)) > width) kept.pop();
  }
  return kept.length === 0 ? say(`${parts.length} in all`) : line(kept);
}
