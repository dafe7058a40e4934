/**
 * Calls `listener` when `signal` aborts, at once if it has aborted already. Disposing removes the listener.
 *
 * `using _ = onAbort(signal, () => socket.destroy());`
 */
export function onAbort(signal: AbortSignal, listener: () => void): Disposable {
  if (signal.aborted) listener();
  else signal.addEventListener("abort", listener, { once: true });
  return { [Symbol.dispose]: () => signal.removeEventListener("abort", listener) };
}

/** A controller that aborts with `signal`, and that its owner can abort earlier. Disposing removes the link. */
export class ChildAbort extends AbortController implements Disposable {
  readonly #link: Disposable;

  constructor(parent: AbortSignal) {
    super();
    this.#link = onAbort(parent, () => this.abort(parent.reason));
  }

  [Symbol.dispose](): void {
    this.#link[Symbol.dispose]();
  }
}
