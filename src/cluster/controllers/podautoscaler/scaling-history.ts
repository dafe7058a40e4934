/** Mirrors timestampedRecommendation and timestampedScaleEvent in pkg/controller/podautoscaler/horizontal.go. */
interface Timestamped {
  readonly count: number;
  readonly atMs: number;
}

/** The longest stabilization window that the API server accepts; a policy's period is shorter. */
const LONGEST_WINDOW_MS = 3600_000;

/**
 * What an autoscaler recommended and did lately, in memory only.
 * Differs: what is older than an hour is forgotten; upstream overwrites what is older than the current windows.
 */
export class ScalingHistory {
  #recommendations: readonly Timestamped[] = [];
  #scaleUps: readonly Timestamped[] = [];
  #scaleDowns: readonly Timestamped[] = [];

  /** Mirrors recordInitialRecommendation. */
  begin(currentReplicas: number, nowMs: number): void {
    if (this.#recommendations.length === 0) this.recommended(currentReplicas, nowMs);
  }

  recommended(replicas: number, nowMs: number): void {
    this.#recommendations = appended(this.#recommendations, { count: replicas, atMs: nowMs });
  }

  /** Mirrors storeScaleEvent. */
  scaled(from: number, to: number, nowMs: number): void {
    if (to > from) this.#scaleUps = appended(this.#scaleUps, { count: to - from, atMs: nowMs });
    else this.#scaleDowns = appended(this.#scaleDowns, { count: from - to, atMs: nowMs });
  }

  /** The recommendations at or after a time. */
  recommendedSince(ms: number): readonly number[] {
    return this.#recommendations.flatMap(({ count, atMs }) => (atMs >= ms ? [count] : []));
  }

  /** The recommendations after a time. */
  recommendedAfter(ms: number): readonly number[] {
    return this.#recommendations.flatMap(({ count, atMs }) => (atMs > ms ? [count] : []));
  }

  /** The pods that were added less removed after a time. Mirrors getReplicasChangePerPeriod. */
  changeAfter(ms: number): number {
    const sum = (events: readonly Timestamped[]) =>
      events.reduce((total, { count, atMs }) => (atMs > ms ? total + count : total), 0);
    return sum(this.#scaleUps) - sum(this.#scaleDowns);
  }
}

function appended(list: readonly Timestamped[], one: Timestamped): Timestamped[] {
  return [...list.filter(({ atMs }) => atMs >= one.atMs - LONGEST_WINDOW_MS), one];
}
