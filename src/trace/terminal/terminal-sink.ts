import { type Clock, SystemClock } from "../../util/clock.js";
import type { TraceEvent } from "../events.js";
import type { Level, TraceSink } from "../trace.js";
import { Fold } from "./fold.js";
import type { TerminalOptions } from "./options.js";
import { factText, renderEvent } from "./render-event.js";

/** A long-running command forgets its oldest steps. */
const MAX_STEPS = 10_000;

/** The depth of each fact: one below the shown step that caused it, at most three. */
export class Depths {
  /** by step: the depth of what it causes */
  readonly #below = new Map<string, number>();

  /** @param isShown false: the effects of a hidden step are not indented below it */
  depthOf(event: TraceEvent, isShown: boolean): number {
    // A step that follows another one is not part of it.
    const isBelow = event.causedBy !== undefined && event.origin === undefined;
    const depth = (isBelow ? this.#below.get(event.causedBy) : undefined) ?? 0;
    if (event.kind !== "step") return depth;
    this.#below.set(event.id, isShown ? Math.min(depth + 1, 3) : depth);
    if (this.#below.size > MAX_STEPS) this.#below.delete(this.#below.keys().next().value ?? "");
    return depth;
  }
}

/** Shows an event. @param depth as in `Depths` @param options of the trace, in the reader's language */
export type ShowFact = (event: TraceEvent, depth: number, options: TerminalOptions) => void;

/** Renders each event as aligned lines: seconds, actor, sign, text; details follow, dimmed. */
export class TerminalSink implements TraceSink {
  readonly #depths = new Depths();
  readonly #fold: Fold | undefined;

  /**
   * @param out.show shows the events instead of `write`
   * @param folds whether many facts of one form are counted; default: each is shown
   */
  constructor(
    readonly options: TerminalOptions,
    readonly out: { write(text: string): unknown; readonly show?: ShowFact | undefined },
    folds = false,
    clock: Pick<Clock, "timer"> = new SystemClock(),
  ) {
    this.#fold = folds ? new Fold((count) => this.#write(count, 0), clock) : undefined;
  }

  get level(): Level {
    return this.options.verbosity;
  }

  write(event: TraceEvent): void {
    this.options.numberOf?.(event);
    const isShown = event.level <= this.options.verbosity && event.kind !== "story";
    const depth = this.#depths.depthOf(event, isShown);
    if (!isShown || this.#fold?.take(event, factText(event, this.options).text) === true) return;
    this.#write(event, depth);
  }

  async close(): Promise<void> {
    this.#fold?.flush();
  }

  #write(event: TraceEvent, depth: number): void {
    const { show } = this.out;
    if (show !== undefined) show(event, depth, this.options);
    else this.out.write(`${renderEvent(event, depth, this.options).join("\n")}\n`);
  }
}
