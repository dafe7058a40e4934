import type { ProgressText } from "../../testbed/context.js";
import { allUntilOneEnds } from "../../util/async/concurrency.js";
import type { Clock } from "../../util/clock.js";
import { isAbortError } from "../../util/errors.js";
import type { CliContext, CommandResult } from "./context.js";

export type Loop = (signal: AbortSignal) => Promise<void>;

interface StayOptions {
  readonly clock: Clock;
  readonly durationMs?: number | undefined;
  /** the text for a terminal's last line; default: a loop shows its own line */
  readonly status?: ProgressText | undefined;
}

/** Runs the loops of a command until one of them ends, the time is over, or Ctrl-C. */
export async function stay(context: CliContext, options: StayOptions, loops: readonly Loop[]): Promise<void> {
  const { clock, durationMs, status } = options;
  context.hasStarted();
  const timer: readonly Loop[] = durationMs === undefined ? [] : [(inner) => clock.sleep(durationMs, inner)];
  const text = typeof status === "string" ? `${status}; Ctrl-C ends it` : status;
  using _line = text === undefined ? undefined : context.progress(text);
  await allUntilOneEnds(context.signal, [...loops, ...timer]);
}

/** Runs `body` and prints its result, even after Ctrl-C, which is the usual end of a command that keeps running. */
export async function printAtEnd(
  context: CliContext,
  body: () => Promise<void>,
  result: () => CommandResult,
): Promise<void> {
  let end: unknown;
  try {
    await body();
  } catch (error) {
    if (!isAbortError(error)) throw error;
    end = error;
  }
  context.print(result());
  if (end !== undefined) throw end;
}
