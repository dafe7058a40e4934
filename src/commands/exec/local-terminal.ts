import type { TerminalSize } from "../../streaming/remote-command/session.js";
import type { ProcessStreams } from "../../testbed/context.js";

type RawInput = ProcessStreams["stdin"] & { setRawMode?(isRaw: boolean): unknown };

/** Whether stdin is a terminal that can be set to raw mode, which a remote terminal needs. */
export function hasTerminal({ stdin }: Pick<ProcessStreams, "stdin">): boolean {
  return stdin.isTTY === true && typeof (stdin as RawInput).setRawMode === "function";
}

/**
 * The local terminal while it shows a remote one: in raw mode it sends every key, also Ctrl-C, to the remote side.
 *
 * Mirrors k8s.io/kubectl/pkg/util/term/term.go (TTY, Safe).
 */
export class LocalTerminal implements Disposable {
  #isRaw = false;

  constructor(readonly streams: Pick<ProcessStreams, "stdin" | "stdout">) {}

  enter(): void {
    (this.streams.stdin as RawInput).setRawMode?.(true);
    this.#isRaw = true;
  }

  /** Leaves raw mode. Safe to call twice. */
  restore(): void {
    if (!this.#isRaw) return;
    this.#isRaw = false;
    (this.streams.stdin as RawInput).setRawMode?.(false);
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
    const onAbort = () => wake();
    stdout.on("resize", onResize);
    signal.addEventListener("abort", onAbort, { once: true });
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
      signal.removeEventListener("abort", onAbort);
    }
  }

  [Symbol.dispose](): void {
    this.restore();
  }
}
