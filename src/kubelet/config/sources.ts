/**
 * Have all sources of pods spoken once? Before, the kubelet must not take a pod that it does not know for one that is
 * gone: it would kill what only has not been told of yet.
 *
 * Mirrors pkg/kubelet/config/sources.go (sourcesImpl).
 */
export class SourcesReady {
  readonly #seen = new Set<string>();

  /** @param sourcesReadyFn usually PodConfig's `seenAllSources` */
  constructor(readonly sourcesReadyFn: (seen: ReadonlySet<string>) => boolean) {}

  /** To be called with the source of each update that was handled. */
  addSource(source: string): void {
    this.#seen.add(source);
  }

  allReady(): boolean {
    return this.sourcesReadyFn(this.#seen);
  }
}
