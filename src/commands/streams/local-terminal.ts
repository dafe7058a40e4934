import type { TerminalSize } from "../../staging/streaming/remote-command/session.js";
import type { ProcessStreams } from "../../testbed/context.js";
import { onAbort } from "../../util/async/abort.js";

/**
 * The local terminal while it shows a remote one: in raw mode it sends every key, also Ctrl-C, to the remote side.
 *
 * Mirrors k8s.io/kubectl/pkg/util/term/term.go (TTY, Safe).
 */
export class LocalTerminal implements Disposable {
  #isRaw = false;

  constructor(readonly streams: Pick<ProcessStreams, "stdin" | "stdout">) {}

  enter(): void {
    this.streams.stdin.setRawMode?.(true);
    this.#isRaw = true;
  }

  /** Leaves raw mode. Safe to call twice. */
  restore(): void {
    if (!this.#isRaw) return;
    this.#isRaw = false;
    this.streams.stdin.setRawMode?.(false);
  }

  /** Yields the current size, and then each change until `signal` aborts. A slow consumer gets only the latest size. */
  async *sizes(signal: AbortSignal): AsyncGenerator<TerminalSize> {
    const { stdout } = this.streams;
    let hasChanged = true;
    let wake = () => {};
    const onResize = () => {
      hasChanged = true;
      wake();
    };
    stdout.on("resize", onResize);
    using _ = onAbort(signal, () => wake());
    try {
      while (!signal.aborted) {
        if (hasChanged) {
          hasChanged = false;
          const { columns: width, rows: height } = stdout;
          if (width !== undefined && height !== undefined) yield { width, height };
        } else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
    } finally {
      stdout.off("resize", onResize);
    }
  }

  [Symbol.dispose](): void {
    this.restore();
  }
}
