/** Tells whoever runs a command that its client is gone; that this side ends the session is no such thing. */
export class ClientGone {
  readonly #gone = new AbortController();
  #isOurEnd = false;

  /** @param over aborts when the connection cannot be used any more, by either side's doing */
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

  /** Whether there is nobody to be told anything: the client is gone, or this side has ended the session. */
  get isOver(): boolean {
    return this.#isOurEnd || this.#gone.signal.aborted;
  }

  /** This side ends the session: what follows is not the client's doing. */
  ourEnd(): void {
    this.#isOurEnd = true;
  }
}
