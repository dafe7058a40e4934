export class Backoff {
  #entries = new Map();
  #clock;
  #options;

  constructor(clock, options) {
    this.#clock = clock;
    this.#options = options;
  }

  get(id) {
    return this.#entries.get(id)?.waitMs ?? 0;
  }

  next(id, eventTimeMs) {
    const entry = this.#entries.get(id);
    const { initialMs, maxMs } = this.#options;
    const waitMs = this.#isQuiet(entry, eventTimeMs) ? initialMs : Math.min(entry.waitMs * 2, maxMs);
    this.#entries.set(id, { waitMs, atMs: this.#clock.now() });
  }

  isInBackOffSince(id, eventTimeMs) {
    const entry = this.#entries.get(id);
    if (this.#isQuiet(entry, eventTimeMs)) return false;
    return this.#clock.now() - eventTimeMs < entry.waitMs;
  }

  #isQuiet(entry, eventTimeMs) {
    return entry === undefined || eventTimeMs - entry.atMs > 2 * this.#options.maxMs;
  }
}
