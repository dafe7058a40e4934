/** The data channel of the port at this index. */
export function dataChannel(index: number): number {
  return 2 * index;
}

/** The error channel of the port at this index. */
export function errorChannel(index: number): number {
  return 2 * index + 1;
}

/** For traces: `data 80`, `error 80`. */
export function forwardChannelName(ports: readonly number[], channel: number): string | undefined {
  const port = ports[channel >> 1];
  return port === undefined ? undefined : `${channel % 2 === 0 ? "data" : "error"} ${port}`;
}

/** The first message on both channels of a port: the port as two bytes, little endian, as upstream writes it. */
export function portBytes(port: number): Uint8Array {
  return Uint8Array.of(port & 0xff, port >> 8);
}
