/** Shorter work is lost in the clock's resolution. */
const MIN_CPU_MS = 5;
const FIRST_LENGTH = 2_048;
/** Quadratic work is measured well at this length; beyond four times as much, the engine keeps its results in slower memory. */
const MAX_LENGTH = 1 << 15;
/** A busy machine only adds to a measurement: one below this ratio ends the attempts. */
const CLEARLY_LINEAR = 8;
/** Linear work has a step where garbage collection begins, which only one of two lengths meets. Quadratic work has none. */
const LENGTHS = [1, 4, 1, 4, 1, 4];

/**
 * How many times as much CPU the work takes for a text of four times the length: about 4 for linear work, 16 for quadratic work. The
 * first length is the shortest whose work can be measured, so that quadratic work is found soon; short work is repeated. The least of
 * several attempts.
 * @param textOf a text of about this length
 */
export function growth(work: (text: string) => unknown, textOf: (length: number) => string): number {
  let length = FIRST_LENGTH;
  let costMs = 0;
  for (; ; length *= 2) {
    const text = flat(textOf(length));
    costMs = Math.min(cpuMs(work, text, 1), cpuMs(work, text, 1));
    if (costMs >= MIN_CPU_MS || length === MAX_LENGTH) break;
  }
  let least = Number.POSITIVE_INFINITY;
  for (const factor of LENGTHS) {
    const times = Math.ceil(MIN_CPU_MS / Math.max(costMs * factor, 0.1));
    const [short, long] = [flat(textOf(length * factor)), flat(textOf(length * factor * 4))];
    least = Math.min(least, cpuMs(work, long, times) / cpuMs(work, short, times));
    if (least < CLEARLY_LINEAR) break;
  }
  return least;
}

/** `head`, then `part` again and again, then `tail`. */
export function repeated(part: string, { head = "", tail = "" } = {}): (length: number) => string {
  return (length) => head + part.repeat(Math.ceil(length / part.length)) + tail;
}

function cpuMs(work: (text: string) => unknown, text: string, times: number): number {
  const before = process.cpuUsage();
  for (let i = 0; i < times; i++) work(text);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/** One piece of memory: the engine joins the pieces of a repeated text when a pattern reads it for the first time. */
function flat(text: string): string {
  return Buffer.from(text).toString();
}
