import type { LabMessage } from "../../labs/message.js";
import type { Progress } from "../../testbed/context.js";
import type { LearnContext } from "./context.js";
import { textWidth } from "./text-width.js";

type Waiting = LabMessage & { kind: "waiting" };

/** Said of the keys that do something while there is a wait. "": none. */
export interface WaitKeys {
  readonly speed: string;
  readonly stop: string;
}

/** Where no line can change, a wait is told once, and again after so many ms of the wall's clock. */
const TELL_AGAIN_MS = 5000;
/** A spinner, a space, and the last column, which some terminals wrap at. */
const BESIDE_COLUMNS = 4;
const ELLIPSIS = "...";

/**
 * Tells that a check waits, and for what: one line that counts down on a terminal, some lines elsewhere. Always on stderr.
 */
export class WaitingLine {
  #progress: Progress | undefined;
  #toldAtMs = -Infinity;
  #toldSeen = "";

  /** said behind it on a terminal: which keys do something */
  keys: WaitKeys = { speed: "", stop: "" };

  constructor(readonly env: LearnContext) {}

  update(message: Waiting): void {
    const { context, wall } = this.env;
    if (this.#isTerminal) {
      const known = [this.keys.speed, message.mayStop ? this.keys.stop : ""].filter((key) => key !== "");
      const keys = known.length === 0 ? "" : ` (${known.join(", ")})`;
      const columns = (context.streams.stderr.columns ?? 80) - BESIDE_COLUMNS - textWidth(keys);
      const text = `${fitted(this.#text(message), columns)}${keys}`;
      this.#progress ??= context.progress(text);
      this.#progress.update(text);
      return;
    }
    if (wall.now() - this.#toldAtMs < TELL_AGAIN_MS && message.seen === this.#toldSeen) return;
    this.#toldAtMs = wall.now();
    this.#toldSeen = message.seen;
    context.streams.stderr.write(`${this.#text(message)}\n`);
  }

  /** The wait is over. Safe to call twice. */
  stop(): void {
    this.#progress?.stop();
    this.#progress = undefined;
    this.#toldAtMs = -Infinity;
  }

  get #isTerminal(): boolean {
    const { streams, env } = this.env.context;
    return streams.stderr.isTTY === true && env["TERM"] !== "dumb";
  }

  #text({ want, seen, leftMs }: Waiting): string {
    const seconds = Math.ceil(leftMs / 1000);
    return seen === ""
      ? this.env.say("waitingBlind", { want, seconds })
      : this.env.say("waitingFor", { want, seen, seconds });
  }
}

/** A line that changes has to be one line: its end is left out. */
function fitted(text: string, columns: number): string {
  if (textWidth(text) <= columns) return text;
  const chars = [...text];
  while (chars.length > 0 && textWidth(chars.join("")) + ELLIPSIS.length > columns) chars.pop();
  return `${chars.join("")}${ELLIPSIS}`;
}
