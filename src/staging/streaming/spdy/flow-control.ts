/** The initial window of a stream and of a connection (SPDY/3.1). */
const DEFAULT_WINDOW_BYTES = 65_536;
/** Bytes to read before an update is sent, so that small reads do not cause many frames. */
const CREDIT_STEP_BYTES = 32_768;

/**
 * The windows of SPDY/3.1, for peers that have them.
 *
 * Kubernetes has none: spdystream neither sends SETTINGS and WINDOW_UPDATE nor respects them, it relies on TCP alone,
 * so waiting for its window would never end. Windows count only once the peer has shown that it knows them.
 */
export class FlowControl {
  /** Whether the peer has used windows. */
  isOn = false;
  #initialBytes = DEFAULT_WINDOW_BYTES;
  readonly connection = new Window();
  #change: { readonly promise: Promise<void>; resolve(): void } | undefined;

  /** The peer knows windows, and may set their initial size. */
  turnOn(initialBytes?: number): void {
    this.isOn = true;
    if (initialBytes !== undefined) this.#initialBytes = initialBytes;
    this.wakeWriters();
  }

  /** The number of bytes that this stream may send now. */
  room(stream: Window): number {
    if (!this.isOn) return Number.POSITIVE_INFINITY;
    const ofStream = this.#initialBytes + stream.granted - stream.sent;
    // A SPDY/3.0 peer has windows for streams only.
    const { granted, sent } = this.connection;
    const ofConnection = granted > 0 ? DEFAULT_WINDOW_BYTES + granted - sent : Number.POSITIVE_INFINITY;
    return Math.max(0, Math.min(ofStream, ofConnection));
  }

  /** The peer enlarges the window of a stream or of the connection. */
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

/** The bytes received on one stream, or on the whole connection. */
export class Window {
  sent = 0;
  /** granted by the peer's WINDOW_UPDATEs */
  granted = 0;
  #taken = 0;
  #credited = 0;

  /** @returns the size of the WINDOW_UPDATE to send, 0 for none */
  take(bytes: number, isOn: boolean): number {
    this.#taken += bytes;
    const credit = this.#taken - this.#credited;
    if (!isOn || credit < CREDIT_STEP_BYTES) return 0;
    this.#credited = this.#taken;
    return credit;
  }
}
