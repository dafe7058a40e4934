import { onAbort } from "../../../util/async/abort.js";
import type { Connection } from "./ports.js";

/**
 * The same connection, closed when its process ends, as the kernel closes a process's sockets.
 * @param signal of the process
 * @param onEnd called once both directions are closed
 */
export function ownedConnection(
  { incoming, outgoing, peer }: Connection,
  signal: AbortSignal,
  onEnd: () => void,
): Connection {
  const holders = { incoming: 1, outgoing: 1 };
  let link: Disposable | undefined;
  const held = (side: keyof typeof holders, stream: { retain(): void; release(): void }) => ({
    retain: () => {
      holders[side]++;
      stream.retain();
    },
    release: () => {
      if (holders[side] === 0) return;
      holders[side]--;
      stream.release();
      if (holders.incoming > 0 || holders.outgoing > 0) return;
      link?.[Symbol.dispose]();
      onEnd();
    },
  });
  const [reading, writing] = [held("incoming", incoming), held("outgoing", outgoing)];
  link = onAbort(signal, () => {
    writing.release();
    reading.release();
  });
  return {
    incoming: {
      read: (signal, max) => incoming.read(signal, max),
      unread: (bytes) => incoming.unread(bytes),
      ...reading,
    },
    outgoing: { write: (bytes, signal) => outgoing.write(bytes, signal), ...writing },
    peer,
  };
}
