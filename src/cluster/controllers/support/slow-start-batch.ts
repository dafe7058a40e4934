/** Size of the first batch; each successful batch doubles it. Mirrors SlowStartInitialBatchSize. */
export const SLOW_START_INITIAL_BATCH_SIZE = 1;

export interface Batch {
  /** 1, 2, 3, … */
  readonly number: number;
  readonly size: number;
}

/**
 * Calls `create` `count` times in batches of 1, 2, 4, 8, …: if all would fail for one reason, such as a quota, few are tried.
 * Mirrors slowStartBatch in pkg/controller/replicaset/replica_set.go.
 * @param create called for all of a batch at once
 * @returns the number of successes, and the first error, after which no other batch begins
 */
export async function slowStartBatch(
  count: number,
  initialBatchSize: number,
  create: (batch: Batch) => Promise<void>,
): Promise<{ readonly successes: number; readonly failure?: { readonly error: unknown } }> {
  let successes = 0;
  let size = initialBatchSize;
  for (let number = 1; successes < count; number++) {
    size = Math.min(size, count - successes);
    const batch = { number, size };
    const results = await Promise.allSettled(Array.from({ length: size }, () => create(batch)));
    successes += results.filter(({ status }) => status === "fulfilled").length;
    const failed = results.find((result) => result.status === "rejected");
    if (failed !== undefined) return { successes, failure: { error: failed.reason } };
    size *= 2;
  }
  return { successes };
}
