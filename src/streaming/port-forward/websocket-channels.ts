import type { ByteReader, ByteWriter } from "../bytes.js";
import type { ChannelConnection } from "../websocket/channels.js";
import type { ForwardedConnection } from "./session.js";

/** Two bytes at the beginning of both channels of a port. */
export const PORT_BYTES = 2;

/** The channel with the bytes of the port that is named at this place. */
export function dataChannel(index: number): number {
  return 2 * index;
}

/** The channel with what went wrong. */
export function errorChannel(index: number): number {
  return 2 * index + 1;
}

/** For traces: `data 80`, `error 80`. */
export function forwardChannelName(ports: readonly number[], channel: number): string | undefined {
  const port = ports[channel >> 1];
  return port === undefined ? undefined : `${channel % 2 === 0 ? "data" : "error"} ${port}`;
}

/** Little endian, as upstream writes it. */
export function portBytes(port: number): Uint8Array {
  return Uint8Array.of(port & 0xff, port >> 8);
}

export interface ChannelForwardOptions {
  readonly port: number;
  readonly incoming: ByteReader;
  readonly outgoing: ByteWriter;
  readonly failure: Promise<string | undefined>;
  fail(message: string): Promise<void>;
  close(): Promise<void>;
}

/** One port of a WebSocket as a connection. Its directions cannot end by themselves: `end` leaves the other one open. */
export function forwardedConnection(
  connection: ChannelConnection,
  { port, incoming, outgoing, failure, fail, close }: ChannelForwardOptions,
): ForwardedConnection {
  return {
    port,
    incoming,
    failure,
    write: (bytes) => outgoing.write(bytes),
    end: async () => {
      if (!connection.over.aborted) await outgoing.end();
    },
    fail,
    close,
  };
}
