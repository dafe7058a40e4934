import type { Clock } from "../../../util/clock.js";

/** A controller does not wait longer than this for what it expects to see. */
const EXPECTATIONS_TIMEOUT_MS = 5 * 60_000;

interface Expectation {
  adds: number;
  deletions: number;
  readonly sinceMs: number;
}

/**
 * What a controller created or deleted and has not seen in its cache yet, by the key of the owner. Until it has seen everything it
 * must not count its objects, or it would create or delete too many.
 *
 * Mirrors pkg/controller/controller_utils.go (ControllerExpectations).
 */
export class ControllerExpectations {
  readonly #clock: Pick<Clock, "now">;
  readonly #byKey = new Map<string, Expectation>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /** Replaces what was expected before. */
  set(key: string, adds: number, deletions: number): void {
    this.#byKey.set(key, { adds, deletions, sinceMs: this.#clock.now() });
  }

  expectCreations(key: string, count: number): void {
    this.set(key, count, 0);
  }

  creationObserved(key: string): void {
    this.lower(key, 1, 0);
  }

  deletionObserved(key: string): void {
    this.lower(key, 0, 1);
  }

  lower(key: string, adds: number, deletions: number): void {
    const expected = this.#byKey.get(key);
    if (expected === undefined) return;
    expected.adds -= adds;
    expected.deletions -= deletions;
  }

  /** True if everything was seen, if nothing was expected, and after five minutes. */
  isSatisfied(key: string): boolean {
    const expected = this.#byKey.get(key);
    if (expected === undefined || (expected.adds <= 0 && expected.deletions <= 0)) return true;
    return this.#clock.now() - expected.sinceMs > EXPECTATIONS_TIMEOUT_MS;
  }

  /** The owner is gone: a new one with its name starts without expectations. */
  delete(key: string): void {
    this.#byKey.delete(key);
  }
}

/**
 * Expectations that know which objects are deleted, so that the mark for deletion and the removal of one object count once.
 * Mirrors pkg/controller/controller_utils.go (UIDTrackingControllerExpectations).
 */
export class UidTrackingControllerExpectations extends ControllerExpectations {
  readonly #deleted = new Map<string, Set<string>>();

  /** @param deletedKeys `default/web-abc` */
  expectDeletions(key: string, deletedKeys: readonly string[]): void {
    this.#deleted.set(key, new Set(deletedKeys));
    this.set(key, 0, deletedKeys.length);
  }

  override deletionObserved(key: string, deletedKey = ""): void {
    if (this.#deleted.get(key)?.delete(deletedKey) === true) super.deletionObserved(key);
  }

  override delete(key: string): void {
    super.delete(key);
    this.#deleted.delete(key);
  }
}
