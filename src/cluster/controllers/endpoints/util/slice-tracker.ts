import { StaleInformerCache } from "../../support/shared-deps.js";
import { type EndpointSlice, ownerKeyOf } from "./slices.js";

/** In place of a generation: the controller has deleted the slice. */
const DELETION_EXPECTED = -1;

/**
 * The generations of slices that a controller has written, so that it neither reacts to its own writes nor decides by a cache
 * that has not seen them.
 *
 * Mirrors EndpointSliceTracker in pkg/controller/util/endpointslice/endpointslice_tracker.go.
 */
export class EndpointSliceTracker {
  /** service -> uid of the slice -> generation */
  readonly #generations = new Map<string, Map<string, number>>();

  has(slice: EndpointSlice): boolean {
    return this.#of(slice)?.has(slice.metadata.uid ?? "") === true;
  }

  /** Another client has written this slice. Mirrors ShouldSync. */
  shouldSync(slice: EndpointSlice): boolean {
    const known = this.#of(slice)?.get(slice.metadata.uid ?? "");
    return known === undefined || (slice.metadata.generation ?? 0) > known;
  }

  /** The cache is older than the last writes. Mirrors StaleSlices. @param key `namespace/name` of the service */
  isStale(key: string, slices: readonly EndpointSlice[]): boolean {
    const known = this.#generations.get(key);
    if (known === undefined) return false;
    const seen = new Set<string>();
    for (const { metadata } of slices) {
      const uid = metadata.uid ?? "";
      seen.add(uid);
      const generation = known.get(uid);
      if (generation === DELETION_EXPECTED && metadata.deletionTimestamp === undefined) return true;
      if (generation !== undefined && generation > (metadata.generation ?? 0)) return true;
    }
    return [...known].some(([uid, generation]) => generation !== DELETION_EXPECTED && !seen.has(uid));
  }

  /** @throws StaleInformerCache if the cache is older than the last writes */
  checkCurrent(key: string, slices: readonly EndpointSlice[]): void {
    if (this.isStale(key, slices)) throw new StaleInformerCache("EndpointSlice informer cache is out of date");
  }

  update(slice: EndpointSlice): void {
    this.#set(slice, slice.metadata.generation ?? 0);
  }

  expectDeletion(slice: EndpointSlice): void {
    this.#set(slice, DELETION_EXPECTED);
  }

  /** Forgets a slice that is gone. Mirrors HandleDeletion. @returns whether the controller deleted it */
  handleDeletion(slice: EndpointSlice): boolean {
    const generations = this.#of(slice);
    const known = generations?.get(slice.metadata.uid ?? "");
    generations?.delete(slice.metadata.uid ?? "");
    return known === undefined || known === DELETION_EXPECTED;
  }

  /** @param key `namespace/name` */
  deleteService(key: string): void {
    this.#generations.delete(key);
  }

  #of(slice: EndpointSlice): Map<string, number> | undefined {
    return this.#generations.get(ownerKeyOf(slice) ?? "");
  }

  #set(slice: EndpointSlice, generation: number): void {
    const key = ownerKeyOf(slice) ?? "";
    const known = this.#generations.get(key) ?? new Map<string, number>();
    this.#generations.set(key, known);
    known.set(slice.metadata.uid ?? "", generation);
  }
}
