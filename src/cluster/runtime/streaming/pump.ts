import { type ByteReader, type ByteWriter, StreamError } from "../../../staging/streaming/bytes.js";
import type { TerminalSize } from "../../../staging/streaming/remote-command/session.js";
import { BrokenPipeError, type ByteSource } from "../../shell/streams.js";

/**
 * Copies from a process to its client. A slow client slows the process down, because the data stays in the process's
 * pipe.
 * @returns false if the client was gone or the signal aborted before the end
 */
export async function toClient(source: ByteSource, client: ByteWriter, signal: AbortSignal): Promise<boolean> {
  try {
    for (;;) {
      const bytes = await source.read(signal);
      if (bytes === undefined) break;
      await client.write(bytes);
    }
    await client.end();
    return true;
  } catch (error) {
    if (error instanceof StreamError || signal.aborted) return false;
    throw error;
  }
}

/**
 * Copies from a client to a process, at the process's pace. Ends with the client's input, with the client, when the
 * process stops reading, or with the signal.
 */
export async function fromClient(
  client: ByteReader,
  write: (bytes: Uint8Array) => Promise<void> | void,
  signal: AbortSignal,
): Promise<void> {
  try {
    for await (const bytes of client) await write(bytes);
  } catch (error) {
    if (error instanceof StreamError || error instanceof BrokenPipeError || signal.aborted) return;
    throw error;
  }
}

/** Resizes a terminal with its client's window, until the client is gone or the session is over. */
export async function followSize(
  resizes: AsyncIterable<TerminalSize>,
  terminal: { resize(size: TerminalSize): void },
): Promise<void> {
  try {
    for await (const size of resizes) terminal.resize(size);
  } catch (error) {
    if (!(error instanceof StreamError)) throw error;
  }
}

/** Resolves when the signal aborts; `stop` removes the listener. */
export function whenAborted(signal: AbortSignal): { readonly aborted: Promise<"gone">; stop(): void } {
  let onAbort = () => {};
  const aborted = new Promise<"gone">((resolve) => {
    onAbort = () => resolve("gone");
    if (signal.aborted) resolve("gone");
    else signal.addEventListener("abort", onAbort, { once: true });
  });
  return { aborted, stop: () => signal.removeEventListener("abort", onAbort) };
}
