import { printable } from "../../../terminal/text.js";
import { say } from "../language.js";
import type { Live } from "./live.js";

/** Timers that are due later stand at the right end of the lane. */
const SHOWN_MS = 30_000;

/** The lane of the future: who waits for what, each drawn to the right of now. The rows say the same in words. */
export function Future({ live }: { readonly live: Live }) {
  const future = live.future.value;
  if (future === undefined || future.timers.length === 0) return null;
  const { nowMs, isPaused, timers } = future;
  return (
    <section class="future" aria-label={say("The next timers")}>
      <h3>{say(isPaused ? "The time stands still; the next timers:" : "The next timers")}</h3>
      <ol>
        {timers.map(({ dueMs, who, what, setBy }) => {
          const leftMs = Math.max(0, dueMs - nowMs);
          const width = `${(100 * Math.min(1, leftMs / SHOWN_MS)).toFixed(1)}%`;
          return (
            <li key={`${who} ${what}`}>
              <span class="wait" aria-hidden="true" style={{ width }} />
              <b>{say("in {1} s", (leftMs / 1000).toFixed(1))}</b> {printable(who)}: {say(printable(what))}{" "}
              <span class="dim">({printable(setBy)})</span>
            </li>
          );
        })}
      </ol>
    </section>
  );
}
