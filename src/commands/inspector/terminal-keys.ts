import type { ProcessStreams } from "../../testbed/context.js";

type RawInput = NodeJS.ReadableStream & { setRawMode?(isRaw: boolean): unknown };

const CTRL_C = "\u0003";
const CTRL_D = "\u0004";

/** Whether the command can read single keys and show their effects. */
export function hasKeys({ stdin, stderr }: ProcessStreams): boolean {
  return stdin.isTTY === true && stderr.isTTY === true && typeof (stdin as RawInput).setRawMode === "function";
}

/**
 * Passes each key to `press` until `q`, Ctrl-C, Ctrl-D, the end of the input or `signal`. Always restores the terminal.
 * @throws AbortError for Ctrl-C, which a terminal in this mode does not turn into a signal
 */
export async function readKeys(
  input: ProcessStreams["stdin"],
  press: (key: string) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const stdin = input as RawInput;
  stdin.setRawMode?.(true);
  try {
    for await (const key of pressedKeys(stdin, signal)) {
      if (key === CTRL_C) throw new DOMException("interrupted", "AbortError");
      if (key === "q" || key === CTRL_D) return;
      await press(key);
    }
  } finally {
    stdin.setRawMode?.(false);
    stdin.pause();
  }
}

/** One key at a time, until the input ends or `signal` aborts. */
async function* pressedKeys(stdin: RawInput, signal: AbortSignal): AsyncGenerator<string> {
  const waiting: string[] = [];
  let wake = () => {};
  let isOver = false;
  const onData = (chunk: Buffer | string) => {
    waiting.push(...keysOf(chunk.toString()));
    wake();
  };
  const onEnd = () => {
    isOver = true;
    wake();
  };
  stdin.on("data", onData).once("end", onEnd);
  // An earlier reader may have paused the stream.
  stdin.resume();
  signal.addEventListener("abort", onEnd, { once: true });
  try {
    for (;;) {
      const key = waiting.shift();
      if (key !== undefined) yield key;
      else if (isOver || signal.aborted) return;
      else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  } finally {
    stdin.off("data", onData).off("end", onEnd);
    signal.removeEventListener("abort", onEnd);
  }
}

/** One key, which may send several characters: Delete sends a 3, which must not select the third container. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with it
const KEY = /\u001b\[[0-9;]*[ -/]*[@-~]|\u001bO[A-Za-z]|\u001b[^\u0000-\u001f]|./gsu;

/** Splits the terminal's input into keys: `["k"]`, `["\u001b[3~"]`. Pure. */
export function keysOf(sent: string): readonly string[] {
  return sent.match(KEY) ?? [];
}
