import { setImmediate as nextTurn } from "node:timers/promises";
import { onAbort } from "../../../util/async/abort.js";
import { type ByteReader, type ByteWriter, StreamError } from "../../streaming/bytes.js";

/** The number of bytes copied. */
export interface Counter {
  bytes: number;
}

/** The reader of our output has gone (`| head -1`): no more remote output is needed. */
export class OutputClosed extends Error {
  override readonly name = "OutputClosed";
}

/** Yields the pieces of an input until it ends or `signal` aborts. A slow consumer pauses the input. */
async function* inputPieces(stdin: NodeJS.ReadableStream, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const waiting: Buffer[] = [];
  let isOver = false;
  let wake = () => {};
  const onData = (piece: Buffer | string) => {
    waiting.push(Buffer.from(piece));
    stdin.pause();
    wake();
  };
  const onEnd = () => {
    isOver = true;
    wake();
  };
  // A closed terminal or an unreadable file counts as the end of input.
  stdin.on("data", onData).once("end", onEnd).once("close", onEnd).once("error", onEnd);
  using _ = onAbort(signal, onEnd);
  if ((stdin as { readableEnded?: boolean }).readableEnded === true) isOver = true;
  try {
    while (!signal.aborted) {
      const piece = waiting.shift();
      if (piece !== undefined) yield piece;
      else if (isOver) return;
      else {
        const more = new Promise<void>((resolve) => {
          wake = resolve;
        });
        stdin.resume();
        await more;
      }
    }
  } finally {
    stdin.off("data", onData).off("end", onEnd).off("close", onEnd).off("error", onEnd);
    stdin.pause();
  }
}

/**
 * Copies an input to the remote side, and ends it there.
 * @returns whether the input ended; false: the remote side closed, or `signal` aborted
 */
export async function copyInput(
  stdin: NodeJS.ReadableStream,
  remote: ByteWriter,
  counter: Counter,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    for await (const piece of inputPieces(stdin, signal)) {
      counter.bytes += piece.length;
      // Read pending remote output first: writing to a connection that the server has closed would lose it.
      await nextTurn();
      await remote.write(piece);
    }
    if (signal.aborted) return false;
    await remote.end();
    return true;
  } catch (error) {
    // The command has closed its input or has ended; the status reports how.
    if (error instanceof StreamError) return false;
    throw error;
  }
}

/** Copies remote output to a local stream at the local stream's speed. @throws StreamError, OutputClosed */
export async function copyOutput(
  remote: ByteReader | undefined,
  out: NodeJS.WritableStream,
  counter: Counter,
): Promise<void> {
  for await (const piece of remote ?? []) {
    counter.bytes += piece.length;
    await writeTo(out, piece);
  }
}

interface Writable extends NodeJS.WritableStream {
  readonly destroyed?: boolean;
  readonly errored?: Error | null;
}

/** Resolves when the stream has room for more. @throws OutputClosed */
export function writeTo(out: NodeJS.WritableStream, bytes: Uint8Array): Promise<void> {
  const { destroyed = false, errored = null } = out as Writable;
  const closed = () => new OutputClosed("the output is closed");
  if (destroyed || errored !== null) return Promise.reject(closed());
  if (out.write(bytes)) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const settle = (done: () => void) => () => {
      out.off("drain", onDrain).off("close", onClose).off("error", onClose);
      done();
    };
    const onDrain = settle(resolve);
    const onClose = settle(() => reject(closed()));
    out.once("drain", onDrain).once("close", onClose).once("error", onClose);
  });
}
