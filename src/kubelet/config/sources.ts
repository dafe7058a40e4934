/**
 * Reports whether all sources have sent their pods once. Until then the kubelet must not treat an unknown pod as
 * deleted: it would kill a pod whose source has not reported yet.
 *
 * Mirrors pkg/kubelet/config/sources.go (sourcesImpl).
 */
export class SourcesReady {
  readonly #seen = new Set<string>();

  /** @param sourcesReadyFn usually PodConfig's `seenAllSources` */
  constructor(readonly sourcesReadyFn: (seen: ReadonlySet<string>) => boolean) {}

  /** Call with the source of each update that was handled. */
  addSource(source: string): void {
    this.#seen.add(source);
  }

  allReady(): boolean {
    return this.sourcesReadyFn(this.#seen);
  }
}
