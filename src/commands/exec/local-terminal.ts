import type { TerminalSize } from "../../streaming/remote-command/session.js";
import type { ProcessStreams } from "../../testbed/context.js";

type RawInput = ProcessStreams["stdin"] & { setRawMode?(isRaw: boolean): unknown };

/** Is there a terminal at both ends, so that a remote one makes sense? */
export function hasTerminal({ stdin }: Pick<ProcessStreams, "stdin">): boolean {
  return stdin.isTTY === true && typeof (stdin as RawInput).setRawMode === "function";
}

/**
 * The learner's terminal while a remote one is shown on it: every key goes to the remote side, Ctrl-C too.
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

  /** Gives the terminal back. Safe to call twice. */
  restore(): void {
    if (!this.#isRaw) return;
    this.#isRaw = false;
    (this.streams.stdin as RawInput).setRawMode?.(false);
  }

  /** The size now, and whenever it has changed, until `signal` aborts. Sizes that nobody took in time are skipped. */
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
