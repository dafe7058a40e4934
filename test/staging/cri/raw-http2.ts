import { once } from "node:events";
import { connect, type NetConnectOpts, type Socket } from "node:net";

export const FrameType = {
  DATA: 0,
  HEADERS: 1,
  PRIORITY: 2,
  RST_STREAM: 3,
  SETTINGS: 4,
  PUSH_PROMISE: 5,
  PING: 6,
  GOAWAY: 7,
  WINDOW_UPDATE: 8,
  CONTINUATION: 9,
} as const;
export const Flag = { ACK: 1, END_STREAM: 1, END_HEADERS: 4 } as const;
export const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

export function frame(type: number, flags: number, id: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(id, 5);
  return Buffer.concat([head, payload]);
}

/** A SETTINGS frame with `[identifier, value]` pairs. */
export function settings(...pairs: readonly (readonly [id: number, value: number])[]): Buffer {
  const payload = Buffer.alloc(6 * pairs.length);
  for (const [i, [id, value]] of pairs.entries()) {
    payload.writeUInt16BE(id, 6 * i);
    payload.writeUInt32BE(value, 6 * i + 2);
  }
  return frame(FrameType.SETTINGS, 0, 0, payload);
}

/** A header field as HPACK's literal without indexing. */
export function encodeField(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.of(0), encodeText(name), encodeText(value)]);
}

/** HPACK's string literal. RFC 7541, 5.1 and 5.2. */
function encodeText(text: string): Buffer {
  const bytes = Buffer.from(text);
  const length: number[] = [];
  let rest = bytes.length - 127;
  if (rest < 0) length.push(bytes.length);
  else {
    length.push(127);
    for (; rest >= 128; rest >>>= 7) length.push((rest & 127) | 128);
    length.push(rest);
  }
  return Buffer.concat([Buffer.from(length), bytes]);
}

/** The header block of a gRPC request. */
export function requestBlock(path: string, more: Readonly<Record<string, string>> = {}): Buffer {
  const fields = {
    ":method": "POST",
    ":scheme": "http",
    ":path": path,
    ":authority": "localhost",
    "content-type": "application/grpc",
    te: "trailers",
    ...more,
  };
  return Buffer.concat(Object.entries(fields).map(([name, value]) => encodeField(name, value)));
}

/** A gRPC message with its prefix. */
export function message(bytes: Buffer, flag = 0, length = bytes.length): Buffer {
  const prefix = Buffer.alloc(5);
  prefix[0] = flag;
  prefix.writeUInt32BE(length, 1);
  return Buffer.concat([prefix, bytes]);
}

export interface FrameHead {
  readonly type: number;
  readonly flags: number;
  readonly id: number;
}

/** A server that has not read anything for this long does not read any more. */
const STALL_MS = 2_000;

/** An HTTP/2 client without rules: it sends the frames that it is given, and counts the frames that the server sends. */
export class RawConnection {
  /** by frame type */
  readonly received = new Map<number, number>();
  /** streams that the server ended with RST_STREAM or END_STREAM */
  endedStreams = 0;
  isClosed = false;
  /** bytes that the server's WINDOW_UPDATE frames allow on the connection */
  credit = 0;
  #buffered: Buffer = Buffer.alloc(0);

  private constructor(readonly socket: Socket) {
    socket.on("error", () => {});
    socket.on("close", () => {
      this.isClosed = true;
    });
    socket.on("data", (bytes: Buffer) => this.#count(bytes));
  }

  static async open(address: NetConnectOpts): Promise<RawConnection> {
    const socket = connect(address);
    await once(socket, "connect");
    return new RawConnection(socket);
  }

  count(type: number): number {
    return this.received.get(type) ?? 0;
  }

  /** Whether the server ended the connection. */
  get isRefused(): boolean {
    return this.isClosed || this.count(FrameType.GOAWAY) > 0;
  }

  /** Sends bytes, and waits while the server does not read them. Resolves with false when the connection is over. */
  async send(bytes: Buffer): Promise<boolean> {
    if (this.isClosed) return false;
    if (!this.socket.write(bytes)) {
      const end = new AbortController();
      const done = { signal: end.signal };
      const limit = setTimeout(() => end.abort(), STALL_MS);
      await Promise.race([once(this.socket, "drain", done), once(this.socket, "close", done)]).catch(() => {});
      clearTimeout(limit);
      if (end.signal.aborted) return false;
      end.abort();
    }
    return !this.isClosed;
  }

  close(): void {
    this.socket.destroy();
  }

  #count(bytes: Buffer): void {
    const all = this.#buffered.length === 0 ? bytes : Buffer.concat([this.#buffered, bytes]);
    let at = 0;
    while (at + 9 <= all.length) {
      const length = all.readUIntBE(at, 3);
      if (at + 9 + length > all.length) break;
      const type = all.readUInt8(at + 3);
      this.received.set(type, this.count(type) + 1);
      const isEnd = type === FrameType.RST_STREAM || (type <= FrameType.HEADERS && (all.readUInt8(at + 4) & 1) !== 0);
      if (isEnd) this.endedStreams++;
      if (type === FrameType.WINDOW_UPDATE && all.readUInt32BE(at + 5) === 0) this.credit += all.readUInt32BE(at + 9);
      at += 9 + length;
    }
    this.#buffered = all.subarray(at);
  }
}
