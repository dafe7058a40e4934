import { type ByteReader, type ByteWriter, StreamError } from "../../streaming/bytes.js";
import type { ProcessStreams } from "../../testbed/context.js";

/** How many bytes went through. */
export interface Counter {
  bytes: number;
}

/** Whoever reads our output is gone (`| head -1`): nothing more is wanted of the remote side. */
export class OutputGone extends Error {
  override readonly name = "OutputGone";
}

/** Pieces of an input as they come, until it ends or `signal` aborts. Whoever takes them slowly slows the input down. */
async function* inputPieces(stdin: ProcessStreams["stdin"], signal: AbortSignal): AsyncGenerator<Uint8Array> {
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
  // A terminal that is gone, or a file that cannot be read on: the input has ended.
  stdin.on("data", onData).once("end", onEnd).once("close", onEnd).once("error", onEnd);
  signal.addEventListener("abort", onEnd, { once: true });
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
    signal.removeEventListener("abort", onEnd);
    stdin.pause();
  }
}

/**
 * Copies an input to the remote side, and ends it there.
 * @returns whether the input had an end; false: it was cut off
 */
export async function sendInput(
  stdin: ProcessStreams["stdin"],
  remote: ByteWriter,
  counter: Counter,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    for await (const piece of inputPieces(stdin, signal)) {
      counter.bytes += piece.length;
      // What the remote side has said last is read first: a write to a connection that it has closed would lose it.
      await new Promise<void>((resolve) => setImmediate(resolve));
      await remote.write(piece);
    }
    if (signal.aborted) return false;
    await remote.end();
    return true;
  } catch (error) {
    // The command has closed its input, or is over: how it ended is told elsewhere.
    if (error instanceof StreamError) return false;
    throw error;
  }
}

/** Copies what the remote side says to an output, as fast as that takes it. @throws StreamError, OutputGone */
export async function giveOutput(
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

/** Resolves when there is room for more. @throws OutputGone */
export function writeTo(out: NodeJS.WritableStream, bytes: Uint8Array | string): Promise<void> {
  const { destroyed = false, errored = null } = out as Writable;
  if (destroyed || errored !== null) return Promise.reject(new OutputGone("the output is closed"));
  if (out.write(bytes)) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const settle = () => {
      out.off("drain", onDrain).off("close", onClose).off("error", onClose);
    };
    const onDrain = () => {
      settle();
      resolve();
    };
    const onClose = () => {
      settle();
      reject(new OutputGone("the output is closed"));
    };
    out.once("drain", onDrain).once("close", onClose).once("error", onClose);
  });
}
