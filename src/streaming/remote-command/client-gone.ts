/** Detects that a command's client is gone, unlike an end of the session by this side. */
export class ClientGone {
  readonly #gone = new AbortController();
  #isOurEnd = false;

  /** @param over aborts when the connection has ended, for either side's reasons */
  constructor(over: AbortSignal) {
    const leave = () => {
      if (!this.#isOurEnd) this.#gone.abort(over.reason);
    };
    if (over.aborted) leave();
    else over.addEventListener("abort", leave, { once: true });
  }

  /** aborts with the connection's reason */
  get signal(): AbortSignal {
    return this.#gone.signal;
  }

  /** Whether there is no client to report to: it is gone, or this side has ended the session. */
  get isOver(): boolean {
    return this.#isOurEnd || this.#gone.signal.aborted;
  }

  /** This side ends the session, so a later end is not the client's. */
  ourEnd(): void {
    this.#isOurEnd = true;
  }
}
