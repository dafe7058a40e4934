import { createSocket } from "node:dgram";
import { once } from "node:events";
import { connect } from "node:net";
import { onAbort } from "../../../util/async/abort.js";
import type { Clock } from "../../../util/clock.js";
import { isNetErrno, NetError } from "../../../util/net/net-error.js";
import type { Connection, SocketAddress } from "../../shell/process/ports.js";
import { connectionOf } from "./socket-connection.js";

/** Servers of the control plane listen on this machine itself. Pods cannot reach any other server on it. */
const LOOPBACK = "127.0.0.1";

/** Connects to a server of the control plane. @throws NetError; the signal's reason */
export async function connectMachine(port: number, peer: SocketAddress, signal: AbortSignal): Promise<Connection> {
  signal.throwIfAborted();
  const socket = connect({ host: LOOPBACK, port, allowHalfOpen: true, noDelay: true });
  using _ = onAbort(signal, () => socket.destroy());
  try {
    await once(socket, "connect");
    return connectionOf(socket, peer);
  } catch (error) {
    socket.destroy();
    signal.throwIfAborted();
    throw netError(error);
  }
}

/** Sends a datagram to a server of the control plane. @returns its answer; undefined if none came in time @throws NetError */
export async function sendMachine(
  port: number,
  bytes: Buffer,
  patience: { readonly clock: Clock; readonly ms: number },
  signal: AbortSignal,
): Promise<Buffer | undefined> {
  signal.throwIfAborted();
  const socket = createSocket("udp4");
  const over = new AbortController();
  const timer = patience.clock.timer(patience.ms, () => over.abort());
  using _ = onAbort(signal, () => over.abort());
  try {
    socket.connect(port, LOOPBACK);
    await once(socket, "connect", { signal: over.signal });
    socket.send(bytes);
    const [answer] = (await once(socket, "message", { signal: over.signal })) as [Buffer];
    return answer;
  } catch (error) {
    signal.throwIfAborted();
    if (over.signal.aborted) return undefined;
    throw netError(error);
  } finally {
    timer.stop();
    socket.close();
  }
}

function netError(error: unknown): NetError {
  const { code } = error as NodeJS.ErrnoException;
  return new NetError(isNetErrno(code) ? code : "ECONNREFUSED");
}
