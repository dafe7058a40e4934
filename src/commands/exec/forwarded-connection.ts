import type { Socket } from "node:net";
import { StreamError } from "../../streaming/bytes.js";
import type { ForwardedConnection, PortForwardClientSession } from "../../streaming/port-forward/session.js";
import type { Trace } from "../../trace/trace.js";
import { defined } from "../../util/defined.js";
import { messageOf } from "../../util/errors.js";
import { type Counter, giveOutput, OutputGone } from "./local-streams.js";

/**
 * Carries one connection of this machine to a port of the pod, both directions, and tells what went through. Never rejects.
 *
 * Mirrors client-go/tools/portforward/portforward.go (handleConnection).
 * @param causedBy the step that it belongs to
 */
export async function carry(
  trace: Trace,
  session: PortForwardClientSession,
  socket: Socket,
  port: number,
  causedBy: number | undefined,
): Promise<void> {
  const cause = defined({ causedBy });
  const subject = `connection of port ${socket.remotePort ?? "?"} to ${port}`;
  const tell = (to: string) =>
    trace.emit({ kind: "state", subject, what: "streams", to }, { actor: "user", level: 1, ...cause });
  const [sent, received]: readonly [Counter, Counter] = [{ bytes: 0 }, { bytes: 0 }];
  // A client that resets its connection is no failure of ours; both directions end below.
  socket.on("error", () => socket.destroy());
  let remote: ForwardedConnection | undefined;
  try {
    remote = await session.connect(port);
    tell("opened");
    await Promise.all([send(socket, remote, sent), receive(remote, socket, received)]);
    const failure = await remote.failure;
    tell(`ended: ${sent.bytes} bytes to the pod, ${received.bytes} bytes from it`);
    if (failure !== undefined) {
      const message = `an error occurred forwarding to ${port}: ${failure}`;
      trace.emit({ kind: "error", message }, { actor: "user", ...cause });
    }
  } catch (error) {
    const why = messageOf(error);
    tell(`broke off (${why}): ${sent.bytes} bytes to the pod, ${received.bytes} bytes from it`);
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
    // The pod does not listen any more, or this side is gone: the other direction tells how it ended.
    if (!(error instanceof StreamError) && !socket.destroyed) throw error;
  }
}

async function receive(remote: ForwardedConnection, socket: Socket, counter: Counter): Promise<void> {
  try {
    await giveOutput(remote.incoming, socket, counter);
    socket.end();
    // What the client still sends interests nobody once the pod has said all: upstream closes both then.
    await remote.end();
    socket.destroySoon();
  } catch (error) {
    if (!(error instanceof OutputGone)) throw error;
  }
}
