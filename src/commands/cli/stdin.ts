import { addAbortSignal, PassThrough } from "node:stream";
import type { CliContext } from "./context.js";

/** The argument that means standard input. */
export const STDIN = "-";

/** Reads standard input to its end; the second time it is empty. @throws the signal's reason */
export async function* stdinChunks({ streams, signal }: CliContext): AsyncGenerator<Uint8Array> {
  const { stdin } = streams;
  if ((stdin as NodeJS.ReadableStream & { readableEnded?: boolean }).readableEnded === true) return;
  const input = addAbortSignal(signal, new PassThrough());
  stdin.pipe(input);
  try {
    yield* input;
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    stdin.unpipe(input);
    stdin.pause();
  }
}
