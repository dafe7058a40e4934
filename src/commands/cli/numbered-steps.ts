import { Chalk, type ChalkInstance } from "chalk";
import type { ProcessStreams } from "../../testbed/context.js";
import type { TraceEvent } from "../../trace/events.js";
import { actorColour, signColour } from "../../trace/terminal/colours.js";
import { signOf } from "../../trace/terminal/render-event.js";
import { printable, wrap } from "../../trace/terminal/text.js";

/** One step of a chain, in words. */
export interface NumberedStep {
  readonly number: number;
  /** the number of the step that caused it; 0: the cause is not a step of the list */
  readonly because?: number;
  /** since the first step */
  readonly atMs: number;
  readonly actor: string;
  readonly text: string;
  /** lines below it: why, constants, upstream file */
  readonly more: readonly string[];
  /** gives the step the sign and the colours that a trace has */
  readonly event?: TraceEvent | undefined;
}

/** without colours, as for a file */
const PLAIN = new Chalk({ level: 0 });

/** The least width of the text column, also next to long names. */
const MIN_WIDTH = 30;
const MAX_ACTOR_WIDTH = 24;

/** The width for a list of steps on stdout: that of a terminal or a lab. A file gets wide lines. */
export function resultColumns({ stdout }: Pick<ProcessStreams, "stdout">): number {
  return stdout.columns || (stdout.isTTY === true ? 80 : 100);
}

/** The room for lines below a step. */
export function widthBelow(steps: readonly Pick<NumberedStep, "actor">[], columns: number): number {
  return Math.max(MIN_WIDTH, columns - "100 1000.000  ".length - actorWidthOf(steps) - 2);
}

function actorWidthOf(steps: readonly Pick<NumberedStep, "actor">[]): number {
  return Math.min(MAX_ACTOR_WIDTH, Math.max(0, ...steps.map(({ actor }) => actor.length)));
}

/**
 * Steps as lines: `  7 ←5     0.012 kubelet    Sync pod default/web`, where the second number is that of the step's cause. A list in
 * which each step caused the next has no such numbers. Pure.
 */
export function numberedLines(
  steps: readonly NumberedStep[],
  columns: number,
  unicode: boolean,
  chalk: ChalkInstance = PLAIN,
): string[] {
  const hasCauses = steps.some(({ because }) => because !== undefined);
  const actorWidth = actorWidthOf(steps);
  return steps.flatMap(({ number, because = 0, atMs, actor, text, more, event }) => {
    const cause = because === 0 ? "" : `${unicode ? "←" : "<"}${because}`;
    const times = (atMs / 1000).toFixed(3).padStart(7);
    const numbers = `${String(number).padStart(3)} ${hasCauses ? `${cause.padEnd(4)} ` : ""}${times} `;
    const name = `${actor.padEnd(actorWidth)} `;
    const sign = event === undefined ? "" : `${signOf(event, unicode)} `;
    const indent = numbers.length + name.length + sign.length;
    const width = Math.max(MIN_WIDTH, columns - indent);
    const lines = wrap(printable(text), width).map((line) => (event?.kind === "step" ? chalk.bold(line) : line));
    const below = more.flatMap((line) => wrap(printable(line), width - 2).map((one) => chalk.dim(`  ${one}`)));
    const [first = "", ...rest] = [...lines, ...below];
    const head =
      event === undefined
        ? numbers + name
        : chalk.dim(numbers) + actorColour(event.actor, chalk)(name) + signColour(event, chalk)(sign);
    return [head + first, ...rest.map((line) => " ".repeat(indent) + line)];
  });
}
