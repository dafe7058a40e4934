import { on } from "node:events";
import { emitKeypressEvents, type Interface, type Key } from "node:readline";
import type { ProcessStreams } from "../../testbed/context.js";

const CTRL_C = "\u0003";
const CTRL_D = "\u0004";
/** A lone Esc is reported after this time, because the rest of an escape sequence may follow. */
const ESCAPE_TIMEOUT_MS = 50;

/** Whether stdin is a terminal that sends each key at once. */
export function hasRawMode({ stdin }: Pick<ProcessStreams, "stdin">): boolean {
  return stdin.isTTY === true && typeof stdin.setRawMode === "function";
}

/** Whether the command can read single keys and show their effects. */
export function hasKeys(streams: ProcessStreams): boolean {
  return hasRawMode(streams) && streams.stderr.isTTY === true;
}

/** Whether a line can be written to the terminal: a shell waits at its prompt, or a program in the foreground reads whole lines. */
export async function showsLines(shell: number): Promise<boolean> {
  const { spawn } = await import("node:child_process");
  // "+" marks the foreground, and editors turn icanon off.
  const state = spawn("sh", ["-c", `ps -o stat= -p ${shell}; stty -a`], { stdio: ["inherit", "pipe", "ignore"] });
  let text = "";
  for await (const piece of state.stdout) text += String(piece);
  return /^\S*\+|(?<!-)\bicanon\b/.test(text);
}

/**
 * Passes each key to `press` until `q`, Ctrl-C, Ctrl-D, the end of the input or `signal`. A key that sends several characters
 * is passed whole: Delete is `\u001b[3~`. Always restores the terminal.
 * @param isTyping whether keys are the letters of a text, such as `q`
 * @throws AbortError for Ctrl-C, which a terminal in this mode does not turn into a signal
 */
export async function readKeys(
  stdin: ProcessStreams["stdin"],
  press: (key: string) => Promise<void>,
  signal: AbortSignal,
  isTyping: () => boolean = () => false,
): Promise<void> {
  if (signal.aborted) return;
  emitKeypressEvents(stdin, { escapeCodeTimeout: ESCAPE_TIMEOUT_MS } as unknown as Interface);
  const presses = on(stdin, "keypress", { signal, close: ["end"] });
  stdin.setRawMode?.(true);
  // An earlier reader may have paused the stream.
  stdin.resume();
  try {
    for await (const [, { sequence }] of presses as AsyncIterable<[unknown, Key]>) {
      if (sequence === CTRL_C) throw new DOMException("interrupted", "AbortError");
      if (sequence === CTRL_D || (sequence === "q" && !isTyping())) return;
      await press(sequence ?? "");
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    stdin.setRawMode?.(false);
    stdin.pause();
  }
}

/**
 * Runs `body` while keys are read, so that they do not appear on the screen. `q` and the end of the input stop the reading.
 * @param press handles a key; default: ignores it
 * @param body gets a signal that Ctrl-C also aborts
 */
export async function withKeys<T>(
  streams: ProcessStreams,
  signal: AbortSignal,
  body: (signal: AbortSignal) => Promise<T>,
  press: (key: string) => Promise<void> = async () => {},
): Promise<T> {
  if (!hasKeys(streams)) return body(signal);
  const over = new AbortController();
  const interrupted = new AbortController();
  const reading = readKeys(streams.stdin, press, over.signal).catch((error: unknown) => interrupted.abort(error));
  try {
    return await body(AbortSignal.any([signal, interrupted.signal]));
  } finally {
    over.abort();
    await reading;
  }
}
