import type { Socket } from "node:net";
import type { Trace } from "../../../trace/trace.js";
import { defined } from "../../../util/defined.js";
import { messageOf } from "../../../util/errors.js";
import { StreamError } from "../../streaming/bytes.js";
import type { ForwardedConnection, PortForwardClientSession } from "../../streaming/port-forward/session.js";
import { type Counter, copyOutput, OutputClosed } from "../transport/copy.js";

/**
 * Carries one local connection to a port of the pod in both directions, and reports the byte counts. Never rejects.
 *
 * Mirrors client-go/tools/portforward/portforward.go (handleConnection).
 * @param causedBy the step that it belongs to
 */
export async function carry(
  trace: Trace,
  session: PortForwardClientSession,
  socket: Socket,
  port: number,
  causedBy: string | undefined,
): Promise<void> {
  const cause = defined({ causedBy });
  const subject = `connection of port ${socket.remotePort ?? "?"} to ${port}`;
  const report = (to: string) =>
    trace.emit({ kind: "state", subject, what: "streams", to }, { actor: "user", level: 1, ...cause });
  const [sent, received]: readonly [Counter, Counter] = [{ bytes: 0 }, { bytes: 0 }];
  // The local client may reset its connection; that ends both directions below.
  socket.on("error", () => socket.destroy());
  let remote: ForwardedConnection | undefined;
  const failed = (why: string | undefined) => {
    if (why === undefined) return;
    trace.emit(
      { kind: "error", message: `an error occurred forwarding to ${port}: ${why}` },
      { actor: "user", ...cause },
    );
  };
  try {
    remote = await session.connect(port);
    report("opened");
    await Promise.all([send(socket, remote, sent), receive(remote, socket, received)]);
    const why = await remote.failure;
    report(`ended: ${sent.bytes} bytes to the pod, ${received.bytes} bytes from it`);
    failed(why);
  } catch (error) {
    report(`broke off (${messageOf(error)}): ${sent.bytes} bytes to the pod, ${received.bytes} bytes from it`);
    socket.destroy();
    // The reset of the data can come before its end was read. As upstream: the error stream still says why.
    failed(await remote?.failure.catch(() => undefined));
  } finally {
    socket.destroy();
    await remote?.close();
  }
}

async function send(socket: Socket, remote: ForwardedConnection, counter: Counter): Promise<void> {
  try {
    for await (const piece of socket.iterator({ destroyOnReturn: false })) {
      counter.bytes += (piece as Buffer).length;
      await remote.write(piece as Buffer);
    }
    await remote.end();
  } catch (error) {
    // The pod stopped reading, or the local client left: the other direction reports how the connection ended.
    if (!(error instanceof StreamError) && !socket.destroyed) throw error;
  }
}

async function receive(remote: ForwardedConnection, socket: Socket, counter: Counter): Promise<void> {
  try {
    await copyOutput(remote.incoming, socket, counter);
    socket.end();
    // Like upstream, close both directions when the pod has ended; later bytes of the client are lost.
    await remote.end();
    socket.destroySoon();
  } catch (error) {
    if (!(error instanceof OutputClosed)) throw error;
  }
}
