import type { Clock } from "../util/clock.js";
import { isAbortError } from "../util/errors.js";
import { allUntilOneEnds } from "../util/loops.js";
import type { CliContext } from "./context.js";

export type Loop = (signal: AbortSignal) => Promise<void>;

interface StayOptions {
  readonly clock: Clock;
  readonly durationMs?: number | undefined;
  /** what runs, for the last line of a terminal; default: a loop shows its own line */
  readonly status?: string | undefined;
}

/** Runs the loops of a command until one of them ends, the time is over, or Ctrl-C. */
export async function stay(context: CliContext, options: StayOptions, loops: readonly Loop[]): Promise<void> {
  const { clock, durationMs, status } = options;
  const timer: readonly Loop[] = durationMs === undefined ? [] : [(inner) => clock.sleep(durationMs, inner)];
  const line = status === undefined ? undefined : context.progress((columns) => fitted(status, columns));
  try {
    await allUntilOneEnds(context.signal, [...loops, ...timer]);
  } finally {
    line?.stop();
  }
}

function fitted(status: string, columns: number): string {
  const text = `${status}; Ctrl-C ends it`;
  return text.length <= columns ? text : status.slice(0, columns);
}

/** Runs `body` and prints its result, also after Ctrl-C, which is the usual end of a command that stays. */
export async function printAtEnd(
  context: CliContext,
  body: () => Promise<void>,
  result: () => { readonly text: string; readonly json: unknown },
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
