import type { Clock } from "../util/clock.js";
import { isAbortError } from "../util/errors.js";
import { allUntilOneEnds } from "../util/loops.js";
import type { CliContext } from "./context.js";

export type Loop = (signal: AbortSignal) => Promise<void>;

/** Runs the loops of a command until one of them ends, `durationMs` is over, or Ctrl-C. */
export async function stay(
  { signal }: CliContext,
  clock: Clock,
  durationMs: number | undefined,
  loops: readonly Loop[],
): Promise<void> {
  const timer: readonly Loop[] = durationMs === undefined ? [] : [(inner) => clock.sleep(durationMs, inner)];
  await allUntilOneEnds(signal, [...loops, ...timer]);
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
