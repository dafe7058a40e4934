/**
 * Decides which static pod of a full name may run: one at a time, in order of arrival. A changed file is a new pod (a
 * new uid) with the old name, and the two must not run at the same time.
 *
 * Mirrors startedStaticPodsByFullname, waitingToStartStaticPodsByFullname and allowStaticPodStart in
 * pkg/kubelet/pod_workers.go.
 */
export class StaticPodOrder {
  readonly #started = new Map<string, string>();
  readonly #waiting = new Map<string, readonly string[]>();

  /** @param isGone reports whether a waiting pod has ended or was forgotten */
  constructor(readonly isGone: (podUid: string) => boolean) {}

  /** uid of the running pod of this name */
  startedUid(fullName: string): string | undefined {
    return this.#started.get(fullName);
  }

  wait(fullName: string, podUid: string): void {
    this.#waiting.set(fullName, [...(this.#waiting.get(fullName) ?? []), podUid]);
  }

  /** Starts the pod if no other of its name runs and none came before it. @returns whether it may run */
  allow(fullName: string, podUid: string): boolean {
    const started = this.#started.get(fullName);
    if (started !== undefined) return started === podUid;
    const waiting = this.#waiting.get(fullName) ?? [];
    const next = waiting.findIndex((uid) => !this.isGone(uid));
    if (next >= 0 && waiting[next] !== podUid) {
      this.#keep(fullName, waiting.slice(next));
      return false;
    }
    this.#keep(fullName, next >= 0 ? waiting.slice(next + 1) : waiting);
    this.#started.set(fullName, podUid);
    return true;
  }

  /** Records that the pod has ended: the next of its name may start. */
  release(fullName: string, podUid: string): void {
    if (this.#started.get(fullName) === podUid) this.#started.delete(fullName);
  }

  #keep(fullName: string, waiting: readonly string[]): void {
    if (waiting.length === 0) this.#waiting.delete(fullName);
    else this.#waiting.set(fullName, waiting);
  }
}
