import type { Progress } from "../../cli/context.js";
import type { LabMessage } from "../../labs/message.js";
import type { LearnEnvironment } from "./environment.js";

type Waiting = LabMessage & { kind: "waiting" };

/** Where no line can change, a wait is told once, and again after so many ms of the wall's clock. */
const TELL_AGAIN_MS = 5000;

/**
 * Tells that a check waits, and for what: one line that counts down on a terminal, some lines elsewhere. Always on stderr.
 */
export class WaitingLine {
  #progress: Progress | undefined;
  #toldAtMs = -Infinity;
  #toldSeen = "";

  constructor(
    readonly env: LearnEnvironment,
    /** said behind it on a terminal: which keys do something */
    readonly keys = "",
  ) {}

  update(message: Waiting): void {
    const { context, wall } = this.env;
    if (this.#isTerminal) {
      const columns = (context.streams.stderr.columns ?? 80) - 4;
      const text = fitted([this.#text(message), this.keys].filter((one) => one !== "").join(" · "), columns);
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
    return this.env.say("waitingFor", { want, seen, seconds: Math.ceil(leftMs / 1000) });
  }
}

/** A line that changes has to be one line: its middle is left out. */
function fitted(text: string, columns: number): string {
  const chars = [...text];
  const widthOf = (part: readonly string[]) =>
    part.reduce((sum, char) => sum + (/[\u1100-\uffef]/.test(char) ? 2 : 1), 0);
  if (widthOf(chars) <= columns) return text;
  const head = chars.slice();
  const tail: string[] = [];
  while (tail.length < chars.length && widthOf(tail) < columns / 2) tail.unshift(head.pop() ?? "");
  while (head.length > 0 && widthOf(head) + widthOf(tail) + 3 > columns) head.pop();
  return `${head.join("")}...${tail.join("")}`;
}
