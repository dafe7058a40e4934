import type { Duplex } from "node:stream";
import type { Clock } from "../util/clock.js";
import { readBeforeFailing } from "./last-words.js";

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

/** How long a client has to close its side after the server has ended. */
const LINGER_MS = 1_000;

/**
 * Passes bytes on in both directions, unread, until either side is done: then what is under way still arrives, and both
 * are closed. A side that does not take its bytes slows the other one down.
 *
 * Mirrors the end of tryUpgrade in k8s.io/apimachinery/pkg/util/proxy/upgradeaware.go.
 * Differs: not made of Node's `pipe`, which listens to nine events on each side; this is most of what a short stream costs.
 * What a client still sends after the server's end is read and dropped for a second: closed with bytes unread, a connection
 * is reset, and the client's next write fails before it has read the last words. For the same reason a side that takes no
 * more is still read to its end.
 *
 * @param clock of the second
 * @param signal breaks both off
 * @returns when both are closed
 */
export function joinSockets(
  client: Duplex,
  server: Duplex,
  heads: JointHeads,
  clock: Clock,
  signal: AbortSignal,
): Promise<Joined> {
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
    const fromClient = passOn(client, server, heads.client, endSoon, closed);
    const toClient = passOn(server, client, heads.server, (stream) => endAndLinger(stream, clock), closed);
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
  });
}

/** One direction, and the end of the side that it comes from. */
function passOn(
  from: Duplex,
  to: Duplex,
  head: Buffer,
  endOther: (to: Duplex) => void,
  closed: () => void,
): { readonly bytes: number } {
  const passed = { bytes: 0 };
  const resume = () => from.resume();
  let isDeaf = false;
  readBeforeFailing(to, () => {
    isDeaf = true;
    resume();
  });
  const take = (bytes: Buffer) => {
    // It may have ended meanwhile: then nobody is left to take this.
    if (isDeaf || !to.writable) return;
    passed.bytes += bytes.length;
    if (to.write(bytes) || isDeaf) return;
    from.pause();
    to.once("drain", resume);
  };
  from.on("data", take);
  from.resume();
  if (head.length > 0) take(head);
  // Why it ended is for neither side: both see an end.
  from.on("error", () => from.destroy());
  let isOver = false;
  const over = () => {
    if (isOver) return;
    isOver = true;
    endOther(to);
    // It may have been stopped for the sake of this side.
    to.resume();
  };
  from.once("end", () => {
    over();
    endSoon(from);
  });
  const onClose = () => {
    over();
    closed();
  };
  if (from.closed) onClose();
  else from.once("close", onClose);
  return passed;
}

/** Ends our side; what comes until the peer's end, which is waited for a second, is dropped by who reads it. */
function endAndLinger(stream: Duplex, clock: Clock): void {
  if (stream.destroyed) return;
  stream.end();
  const timer = clock.timer(LINGER_MS, () => stream.destroy());
  stream.once("close", () => timer.stop());
}

/** Closes once all that was written is out. */
function endSoon(stream: Duplex): void {
  if (stream.destroyed) return;
  if (stream.writableFinished) stream.destroy();
  else stream.end(() => stream.destroy());
}
