import type { Duplex } from "node:stream";
import { onAbort } from "../../util/async/abort.js";
import type { Clock } from "../../util/clock.js";
import { readBeforeFailing } from "./last-words.js";

/** The number of bytes that passed in each direction. */
export interface Joined {
  readonly fromClient: number;
  readonly toClient: number;
}

/** Bytes that were already read after the head of a request or answer. */
export interface JointHeads {
  readonly client: Buffer;
  readonly server: Buffer;
}

/** The time that a client has to close its side after the server has ended. */
const LINGER_MS = 1_000;

/**
 * Copies bytes in both directions until either side ends; then delivers the bytes under way and closes both. A slow
 * reader slows the other side down.
 *
 * Mirrors the end of tryUpgrade in k8s.io/apimachinery/pkg/util/proxy/upgradeaware.go. Differs: does not use Node's
 * `pipe`, whose nine listeners per side are most of the cost of a short stream. After the server's end, the client's
 * bytes are read and dropped for a second: closing a connection with unread bytes resets it, and the client's next
 * write would fail before it has read the last message. For the same reason, a side that no longer accepts bytes is
 * still read to its end.
 *
 * @param clock for the second
 * @param signal closes both sides
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
    let open = 2;
    const closed = () => {
      open--;
      if (open > 0) return;
      link[Symbol.dispose]();
      resolve({ fromClient: fromClient.bytes, toClient: toClient.bytes });
    };
    const fromClient = passOn(client, server, heads.client, endSoon, closed);
    const toClient = passOn(server, client, heads.server, (stream) => endAndLinger(stream, clock), closed);
    const link = onAbort(signal, () => {
      client.destroy();
      server.destroy();
    });
  });
}

/** One direction, and the end of its source. */
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
    // The target may have ended meanwhile.
    if (isDeaf || !to.writable) return;
    passed.bytes += bytes.length;
    if (to.write(bytes) || isDeaf) return;
    from.pause();
    to.once("drain", resume);
  };
  from.on("data", take);
  from.resume();
  if (head.length > 0) take(head);
  // The reason does not matter: both sides see an end.
  from.on("error", () => from.destroy());
  let isOver = false;
  const over = () => {
    if (isOver) return;
    isOver = true;
    endOther(to);
    // The source may have been paused for this target.
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

/** Ends our side, and waits a second for the peer's end while its reader drops the rest. */
function endAndLinger(stream: Duplex, clock: Clock): void {
  if (stream.destroyed) return;
  stream.end();
  const timer = clock.timer(LINGER_MS, () => stream.destroy());
  stream.once("close", () => timer.stop());
}

/** Closes once everything written has been sent. */
function endSoon(stream: Duplex): void {
  if (stream.destroyed) return;
  if (stream.writableFinished) stream.destroy();
  else stream.end(() => stream.destroy());
}
