/**
 * The pods whose tracking finalizer was removed, until the cache shows it: they must not be counted twice.
 * Mirrors pkg/controller/job/tracking_utils.go (uidTrackingExpectations).
 */
export class FinalizerExpectations {
  readonly #uids = new Map<string, Set<string>>();

  /** A copy: what is seen later does not change it. @param key of the job @returns UIDs of pods */
  expected(key: string): ReadonlySet<string> {
    return new Set(this.#uids.get(key));
  }

  expectRemoved(key: string, uids: readonly string[]): void {
    const known = this.#uids.get(key) ?? new Set();
    for (const uid of uids) known.add(uid);
    this.#uids.set(key, known);
  }

  observed(key: string, uid: string): void {
    this.#uids.get(key)?.delete(uid);
  }

  delete(key: string): void {
    this.#uids.delete(key);
  }
}
