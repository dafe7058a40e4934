/**
 * Closes what a function has opened, in reverse order. Mirrors AsyncDisposableStack, which Node 20 does not have.
 *
 * A closer that fails does not keep the others from running.
 */
export class Disposables implements AsyncDisposable {
  readonly #closers: (() => Promise<void>)[] = [];
  #closed: Promise<void> | undefined;

  defer(close: () => Promise<void>): void {
    this.#closers.push(close);
  }

  /** Safe to call twice. @throws the last closer's error */
  close(): Promise<void> {
    this.#closed ??= this.#closeNext();
    return this.#closed;
  }

  async #closeNext(): Promise<void> {
    const close = this.#closers.pop();
    if (close !== undefined) await close().finally(() => this.#closeNext());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
