import type { Duplex } from "node:stream";
import { onAbort } from "../../../util/async/abort.js";
import { Pipe } from "../../shell/process/pipe.js";
import type { Connection, SocketAddress } from "../../shell/process/ports.js";
import { BrokenPipeError } from "../../shell/streams.js";

const NEVER = new AbortController().signal;

/**
 * A Node stream as one side of a connection. Once both directions are released, the stream is destroyed.
 * @param peer the other side's address
 */
export function connectionOf(stream: Duplex, peer: SocketAddress): Connection {
  let open = 2;
  const over = () => {
    open--;
    if (open > 0) return;
    if (stream.writableFinished) stream.destroy();
    else stream.end(() => stream.destroy());
  };
  const pipe = new Pipe(undefined, over);
  let isInputOver = false;
  const endInput = () => {
    if (!isInputOver) pipe.writer.release();
    isInputOver = true;
  };
  stream.on("data", (bytes: Buffer) => {
    try {
      const room = pipe.writer.write(bytes, NEVER);
      if (room === undefined) return;
      stream.pause();
      room.then(
        () => stream.resume(),
        () => stream.resume(),
      );
    } catch {
      // The reader is gone, so later bytes are dropped.
    }
  });
  // A broken connection looks as if the other side had closed it.
  stream.on("end", endInput).on("close", endInput);
  stream.on("error", endInput);
  // The code that read the head has paused the stream.
  stream.resume();
  let holders = 1;
  return {
    incoming: pipe.reader,
    outgoing: {
      write: (bytes, signal) => {
        if (stream.destroyed || stream.writableEnded) throw new BrokenPipeError();
        if (!stream.write(bytes)) return drained(stream, signal);
      },
      retain: () => {
        holders++;
      },
      release: () => {
        holders--;
        if (holders !== 0) return;
        stream.end();
        over();
      },
    },
    peer,
  };
}

/** Waits until the stream takes more bytes. @throws BrokenPipeError once it is closed; the signal's reason */
function drained(stream: Duplex, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const settle = (act: () => void) => () => {
      link[Symbol.dispose]();
      stream.off("drain", onDrain).off("close", onClose);
      act();
    };
    const onDrain = settle(resolve);
    const onClose = settle(() => reject(new BrokenPipeError()));
    stream.once("drain", onDrain).once("close", onClose);
    const link = onAbort(
      signal,
      settle(() => reject(signal.reason)),
    );
  });
}
