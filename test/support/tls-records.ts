import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from "node:tls";

const APPLICATION_DATA = 23;
const HEADER_BYTES = 5;
/** What AES-GCM adds to the bytes of a record in TLS 1.2: a nonce and a tag. */
const GCM_BYTES = 8 + 16;

/** A TLS connection to a server of this machine, which sees the records that the server sends. */
export class RecordedConnection implements AsyncDisposable {
  #unparsed = Buffer.alloc(0);
  /** the bytes that each record carries */
  readonly records: number[] = [];
  received = Buffer.alloc(0);

  private constructor(
    readonly between: Server,
    readonly socket: TLSSocket,
  ) {}

  static async open({ port = 0, ...tls }: ConnectionOptions & { readonly port?: number }): Promise<RecordedConnection> {
    const between = createServer((near) => {
      const far = connect({ port, host: "127.0.0.1" });
      near.pipe(far);
      far.on("data", (bytes) => recorded.#note(bytes)).pipe(near);
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const)
        one.on("error", () => {}).on("close", () => other.destroy());
    });
    between.listen(0, "127.0.0.1");
    await once(between, "listening");
    const { port: own } = between.address() as AddressInfo;
    // In TLS 1.2 a record says whether it carries data, and its cipher how much.
    const version = { minVersion: "TLSv1.2", maxVersion: "TLSv1.2", ciphers: "AESGCM" } as const;
    const socket = connectTls({ ...tls, ...version, host: "127.0.0.1", port: own });
    socket.on("error", () => socket.destroy());
    const recorded = new RecordedConnection(between, socket);
    await once(socket, "secureConnect");
    socket.on("data", (bytes: Buffer) => {
      recorded.received = Buffer.concat([recorded.received, bytes]);
    });
    return recorded;
  }

  #note(bytes: Buffer): void {
    this.#unparsed = Buffer.concat([this.#unparsed, bytes]);
    while (this.#unparsed.length >= HEADER_BYTES) {
      const length = this.#unparsed.readUInt16BE(3);
      if (this.#unparsed.length < HEADER_BYTES + length) return;
      if (this.#unparsed[0] === APPLICATION_DATA) this.records.push(length - GCM_BYTES);
      this.#unparsed = this.#unparsed.subarray(HEADER_BYTES + length);
    }
  }

  /** Asks for a WebSocket. */
  upgrade(path: string, subprotocol: string): void {
    const headers = [
      `GET ${path} HTTP/1.1`,
      "Host: x",
      "Connection: Upgrade",
      "Upgrade: websocket",
      "Origin: https://x",
      "Sec-WebSocket-Version: 13",
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
      ...(subprotocol === "" ? [] : [`Sec-WebSocket-Protocol: ${subprotocol}`]),
    ];
    this.socket.write(`${headers.join("\r\n")}\r\n\r\n`);
  }

  /** The bytes of the HTTP head, and of each complete frame behind it. */
  get frames(): number[] {
    const { received } = this;
    const lengths: number[] = [];
    let at = received.indexOf("\r\n\r\n") + 4;
    if (at < 4) return lengths;
    lengths.push(at);
    while (at + 2 <= received.length) {
      const short = received.readUInt8(at + 1) & 0x7f;
      const header = short === 127 ? 10 : short === 126 ? 4 : 2;
      if (at + header > received.length) break;
      const payload =
        short === 127
          ? Number(received.readBigUInt64BE(at + 2))
          : short === 126
            ? received.readUInt16BE(at + 2)
            : short;
      if (at + header + payload > received.length) break;
      lengths.push(header + payload);
      at += header + payload;
    }
    return lengths;
  }

  /** Resolves when the server has closed. */
  async ended(): Promise<void> {
    if (!this.socket.closed) await once(this.socket, "close");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.socket.destroy();
    this.between.close();
    await once(this.between, "close");
  }
}

/** Checks that each frame begins where a record begins. */
export function assertApart({ frames, records }: RecordedConnection): void {
  const starts = new Set<number>();
  let at = 0;
  for (const length of records) {
    starts.add(at);
    at += length;
  }
  at = 0;
  for (const length of frames) {
    assert.ok(starts.has(at), `a frame begins at byte ${at}, inside a record`);
    at += length;
  }
}
