import type { Duplex } from "node:stream";

/** How many bytes went through a joint. */
export interface Joined {
  readonly fromClient: number;
  readonly toClient: number;
}

/** What was read from either side already, behind the head of its request or answer. */
export interface JointHeads {
  readonly client: Buffer;
  readonly server: Buffer;
}

/**
 * Passes bytes on in both directions, unread, until either side is done: then what is under way still arrives, and both
 * are closed. A side that does not take its bytes slows the other one down.
 *
 * Mirrors the end of tryUpgrade in k8s.io/apimachinery/pkg/util/proxy/upgradeaware.go.
 * Differs: not made of Node's `pipe`, which listens to nine events on each side; this is most of what a short stream costs.
 *
 * @param signal breaks both off
 * @returns when both are closed
 */
export function joinSockets(client: Duplex, server: Duplex, heads: JointHeads, signal: AbortSignal): Promise<Joined> {
  return new Promise((resolve) => {
    const abort = () => {
      client.destroy();
      server.destroy();
    };
    let open = 2;
    const closed = () => {
      open--;
      if (open > 0) return;
      signal.removeEventListener("abort", abort);
      resolve({ fromClient: fromClient.bytes, toClient: toClient.bytes });
    };
    const fromClient = passOn(client, server, heads.client, closed);
    const toClient = passOn(server, client, heads.server, closed);
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
  });
}

/** One direction, and the end of the side that it comes from. */
function passOn(from: Duplex, to: Duplex, head: Buffer, closed: () => void): { readonly bytes: number } {
  const passed = { bytes: 0 };
  const resume = () => from.resume();
  const take = (bytes: Buffer) => {
    passed.bytes += bytes.length;
    // It may have ended meanwhile: then nobody is left to take this.
    if (!to.writable || to.write(bytes)) return;
    from.pause();
    to.once("drain", resume);
  };
  from.on("data", take);
  from.resume();
  if (head.length > 0) take(head);
  // Why it ended is for neither side: both see an end.
  from.on("error", () => from.destroy());
  from.once("end", () => {
    endSoon(to);
    endSoon(from);
  });
  const onClose = () => {
    endSoon(to);
    closed();
  };
  if (from.closed) onClose();
  else from.once("close", onClose);
  return passed;
}

/** Closes once all that was written is out. */
function endSoon(stream: Duplex): void {
  if (stream.destroyed) return;
  if (stream.writableFinished) stream.destroy();
  else stream.end(() => stream.destroy());
}
