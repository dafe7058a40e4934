import { onAbort } from "../../util/async/abort.js";

/** A session on the serving side, which distinguishes an end by the client from an end by this side. */
export abstract class ServedSession implements AsyncDisposable {
  readonly #gone = new AbortController();
  #isOurEnd = false;

  /** @param over aborts when the connection has ended, for either side's reasons */
  constructor(over: AbortSignal) {
    onAbort(over, () => {
      if (!this.#isOurEnd) this.#gone.abort(over.reason);
    });
  }

  /** Aborts with the connection's reason when the client is gone. */
  get signal(): AbortSignal {
    return this.#gone.signal;
  }

  /** Whether there is no client to report to: it is gone, or this side has ended the session. */
  protected get isOver(): boolean {
    return this.#isOurEnd || this.#gone.signal.aborted;
  }

  /** This side ends the session, so a later end is not the client's. */
  protected endHere(): void {
    this.#isOurEnd = true;
  }

  protected abstract disconnect(): Promise<void>;

  async close(): Promise<void> {
    this.endHere();
    await this.disconnect();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
