/** What a stream, and a connection, may send before the first WINDOW_UPDATE (SPDY/3.1). */
const DEFAULT_WINDOW_BYTES = 65_536;
/** So much must have been read before the peer is told: a frame for each few bytes would be a waste. */
const CREDIT_STEP_BYTES = 32_768;

/**
 * The windows of SPDY/3.1, for peers that have them.
 *
 * Those of Kubernetes do not: spdystream neither sends SETTINGS and WINDOW_UPDATE nor heeds them, it relies on TCP alone, and
 * whoever waited for its window would wait for ever. So windows count from the moment the peer shows that it knows them.
 */
export class FlowControl {
  /** Whether the peer has spoken of windows. */
  isOn = false;
  #initialBytes = DEFAULT_WINDOW_BYTES;
  readonly connection = new Window();
  #change: { readonly promise: Promise<void>; resolve(): void } | undefined;

  /** The peer knows windows, and perhaps says how large they are at first. */
  turnOn(initialBytes?: number): void {
    this.isOn = true;
    if (initialBytes !== undefined) this.#initialBytes = initialBytes;
    this.wakeWriters();
  }

  /** How many bytes may be sent on this stream now. */
  room(stream: Window): number {
    if (!this.isOn) return Number.POSITIVE_INFINITY;
    const ofStream = this.#initialBytes + stream.granted - stream.sent;
    // A peer of SPDY/3.0 has windows for streams only.
    const { granted, sent } = this.connection;
    const ofConnection = granted > 0 ? DEFAULT_WINDOW_BYTES + granted - sent : Number.POSITIVE_INFINITY;
    return Math.max(0, Math.min(ofStream, ofConnection));
  }

  /** The peer lets us send so much more, on a stream or on the connection. */
  grant(window: Window | undefined, bytes: number): void {
    if (window !== undefined) window.granted += bytes;
    this.turnOn();
  }

  /** Resolves when a window has changed, or a stream or the connection has ended. */
  changed(): Promise<void> {
    if (this.#change === undefined) {
      let resolve = () => {};
      const promise = new Promise<void>((done) => {
        resolve = done;
      });
      this.#change = { promise, resolve };
    }
    return this.#change.promise;
  }

  wakeWriters(): void {
    this.#change?.resolve();
    this.#change = undefined;
  }
}

/** What went through one stream, or through all of a connection, in bytes. */
export class Window {
  sent = 0;
  /** by the peer's WINDOW_UPDATEs */
  granted = 0;
  #taken = 0;
  #credited = 0;

  /** @returns what to send a WINDOW_UPDATE for, 0 for none */
  take(bytes: number, isOn: boolean): number {
    this.#taken += bytes;
    const credit = this.#taken - this.#credited;
    if (!isOn || credit < CREDIT_STEP_BYTES) return 0;
    this.#credited = this.#taken;
    return credit;
  }
}
