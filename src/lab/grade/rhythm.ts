/** What an agent may take for its own work in addition, in real ms: always, and once. */
const [WORK_MS, MAX_WORK_MS] = [100, 1_000];
/** The usual time between two renewals: the kubelet's is 10 s, with up to 4 % of jitter. */
const USUAL_GAP_MS = { min: 8_500, max: 11_500 } as const;
const MAX_GAP_MS = 12_000;
const MIN_RENEWALS = 3;
/** After a wait this long a new series of attempts begins. The kubelet waits at most 7 s for its Lease. */
const LONG_MS = 5_000;
/** A wait of 100 ms that is doubled makes so many attempts in 20 s: a series of no more harms nobody, however a slow agent waits. */
const MAX_FEW = 8;
/** So many attempts in a row are too many, however they are spaced. */
const MAX_SERIES = 40;
/** The later waits of a series are longer on average by this factor: jitter and a limit make it less than 2. */
const MIN_GROWTH = 1.5;

interface Timed {
  /** Unix ms */
  readonly atMs: number;
}

/**
 * Whether a Lease is renewed every 10 s. One late renewal may be the machine's fault, so the usual gap has the narrower limits.
 * @param beforeMs when it was last renewed before them @param toMs until when they were watched @param speed of the clock
 * @param noiseMs by which a busy machine may delay each step
 */
export function renewalRhythm(
  beforeMs: number,
  renewals: readonly Timed[],
  toMs: number,
  speed: number,
  noiseMs = 0,
): { readonly isSteady: boolean; readonly longestMs: number } {
  const times = [beforeMs, ...renewals.map(({ atMs }) => atMs)];
  const gaps = waitsBetween(times);
  const usualMs = gaps.toSorted((one, other) => one - other)[Math.floor(gaps.length / 2)] ?? 0;
  const longestMs = Math.max(...gaps, toMs - (times.at(-1) ?? toMs));
  const isUsual = usualMs >= USUAL_GAP_MS.min && usualMs <= USUAL_GAP_MS.max + WORK_MS * speed + noiseMs;
  const isSteady =
    isUsual && renewals.length >= MIN_RENEWALS && longestMs <= MAX_GAP_MS + MAX_WORK_MS * speed + noiseMs;
  return { isSteady, longestMs };
}

/** A series of attempts, and its average wait in the first and in the second half, in ms. */
export interface Series<T> {
  readonly series: readonly T[];
  readonly early: number;
  readonly late: number;
}

/**
 * The first series of attempts whose waits do not grow, or that is too long; undefined if there is none.
 * @param attempts refused ones, the oldest first @param noiseMs waits that are shorter say nothing on a busy machine
 */
export function hastySeries<T extends Timed>(attempts: readonly T[], noiseMs = 0): Series<T> | undefined {
  return seriesOf(attempts)
    .filter((series) => series.length > MAX_FEW)
    .map((series) => ({ series, ...halves(series) }))
    .find(({ series, early, late }) => series.length > MAX_SERIES || (late > noiseMs && late < early * MIN_GROWTH));
}

function seriesOf<T extends Timed>(attempts: readonly T[]): readonly (readonly T[])[] {
  const all: T[][] = [];
  for (const attempt of attempts) {
    const last = all.at(-1);
    const before = last?.at(-1);
    if (last === undefined || before === undefined || attempt.atMs - before.atMs >= LONG_MS) all.push([attempt]);
    else last.push(attempt);
  }
  return all;
}

/** The average waits of the first and of the second half of some attempts. */
export function halves(attempts: readonly Timed[]): { readonly early: number; readonly late: number } {
  const waits = waitsBetween(attempts.map(({ atMs }) => atMs));
  const middle = Math.floor(waits.length / 2);
  return { early: average(waits.slice(0, middle)), late: average(waits.slice(middle)) };
}

/** The ms from each time to the next. */
export function waitsBetween(times: readonly number[]): readonly number[] {
  return times.slice(1).map((atMs, i) => atMs - (times[i] ?? atMs));
}

function average(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}
