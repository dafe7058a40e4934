import type { LabMessage } from "../../../lab/labs/session/message.js";
import type { Progress } from "../../../testbed/context.js";
import { fitted, textWidth, wrap } from "../../../util/text/text-width.js";
import type { LearnContext } from "../context.js";
import { withoutCode } from "./markdown.js";

type Waiting = LabMessage & { kind: "waiting" };

/** Texts for the keys that work during a wait; "" for a key that does not. */
export interface WaitKeys {
  readonly speed: string;
  readonly jump: string;
  readonly stop: string;
}

/** Where no progress line is shown, a wait is reported once, and again after this time on the wall clock. */
const REPORT_AGAIN_MS = 5000;

/** More lines would push the text above off a small screen. */
const MAX_LINES = 3;
/** Below the text, next to the spinner. */
const MARGIN = "  ";

/** The awaited fact and the keys, which get their own line if they do not fit. Pure. */
export function waitingLines(goal: string, keys: string, columns: number): string {
  const all = wrap(goal, columns);
  const lines = all.slice(0, MAX_LINES - 1);
  const last = fitted(all.slice(MAX_LINES - 1).join(" ") || (lines.pop() ?? ""), columns, "...");
  const ending = textWidth(last + keys) <= columns ? [last + keys] : [last, fitted(keys.trim(), columns, "...")];
  return [...lines, ...ending].join(`\n${MARGIN}`);
}

/** Shows on stderr what a check waits for: a countdown on a terminal, an occasional line elsewhere. */
export class WaitingLine {
  #progress: Progress | undefined;
  #reportedAtMs = -Infinity;
  #reportedSeen = "";

  /** shown after the text */
  keys: WaitKeys = { speed: "", jump: "", stop: "" };

  constructor(readonly env: LearnContext) {}

  update(message: Waiting): void {
    const { context, wall, say } = this.env;
    const known = [this.keys.jump, this.keys.speed, message.mayStop ? this.keys.stop : ""].filter((key) => key !== "");
    const keys =
      known.length === 0
        ? ""
        : say("keysBehind", { keys: known.reduce((first, second) => say("menuAnd", { first, second })) });
    if (context.showsProgress) {
      const text = (columns: number) => waitingLines(this.text(message), keys, columns);
      this.#progress ??= context.progress(text);
      this.#progress.update(text);
      return;
    }
    if (wall.now() - this.#reportedAtMs < REPORT_AGAIN_MS && message.seen === this.#reportedSeen) return;
    this.#reportedAtMs = wall.now();
    this.#reportedSeen = message.seen;
    context.streams.stderr.write(`${this.text(message)}${keys}\n`);
  }

  /** Ends the wait. Safe to call twice. */
  stop(): void {
    this.#progress?.stop();
    this.#progress = undefined;
    this.#reportedAtMs = -Infinity;
  }

  /** What is waited for, and for how long. */
  text({ want: goal, seen, leftMs }: Waiting): string {
    // One line has no room for Markdown.
    const want = withoutCode(goal);
    const seconds = Math.ceil(leftMs / 1000);
    return seen === ""
      ? this.env.say("waitingBlind", { want, seconds })
      : this.env.say("waitingFor", { want, seen, seconds });
  }
}
