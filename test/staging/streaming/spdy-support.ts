import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { Duplex } from "node:stream";
import type { ByteReader } from "../../../src/staging/streaming/bytes.js";
import { SpdyConnection, type SpdyOptions } from "../../../src/staging/streaming/spdy/connection.js";
import { FrameReader } from "../../../src/staging/streaming/spdy/frame-reader.js";
import {
  type ControlFrame,
  decodeControlFrame,
  encodeControlFrame,
} from "../../../src/staging/streaming/spdy/frames.js";
import { HeaderCompressor, HeaderDecompressor } from "../../../src/staging/streaming/spdy/header-block.js";
import { DEFAULT_SPDY_LIMITS } from "../../../src/staging/streaming/spdy/limits.js";
import { FakeClock } from "../../support/fake-clock.js";

/** Both ends of a TCP connection over loopback. */
export async function socketPair(): Promise<{ near: Socket; far: Socket }> {
  const server = createServer({ noDelay: true });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const accepted = once(server, "connection");
  const near = connect({ port: (server.address() as AddressInfo).port, host: "127.0.0.1", noDelay: true });
  const [far] = (await accepted) as [Socket];
  if (near.connecting) await once(near, "connect");
  server.close();
  return { near, far };
}

/** A client's and a server's connection on both ends of a socket. */
export async function connectionPair(options: { client?: SpdyOptions; server?: SpdyOptions } = {}): Promise<{
  client: SpdyConnection;
  server: SpdyConnection;
  clock: FakeClock;
  [Symbol.asyncDispose](): Promise<void>;
}> {
  const { near, far } = await socketPair();
  const clock = new FakeClock();
  const client = new SpdyConnection(near, "client", { clock }, options.client);
  const server = new SpdyConnection(far, "server", { clock }, options.server);
  return {
    client,
    server,
    clock,
    async [Symbol.asyncDispose]() {
      await Promise.all([client.close(), server.close()]);
      assert.equal(clock.sleeping, 0);
    },
  };
}

/** A frame as a raw peer sees it: `DATA 1 FIN 68656c6c6f`. */
export type RawFrame =
  | { readonly type: "DATA"; readonly streamId: number; readonly bytes: Buffer; readonly fin: boolean }
  | ControlFrame;

/** A peer on a bare socket: sends bytes, and reads frame by frame. */
export class RawPeer {
  readonly compressor = new HeaderCompressor();
  readonly #frames: RawFrame[] = [];
  readonly #reader = new FrameReader(DEFAULT_SPDY_LIMITS);
  readonly #decompressor = new HeaderDecompressor(1 << 20);
  #data: Buffer[] = [];
  #wake: (() => void) | undefined;
  #isOver = false;

  constructor(readonly socket: Socket) {
    socket.on("error", () => {
      // The other side may reset the connection.
    });
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    socket.on("close", () => {
      this.#isOver = true;
      this.#wake?.();
    });
  }

  send(...parts: readonly (Buffer | string | ControlFrame)[]): void {
    for (const part of parts) {
      if (typeof part === "string") this.socket.write(Buffer.from(part.replace(/\s+/g, ""), "hex"));
      else if (Buffer.isBuffer(part)) this.socket.write(part);
      else this.socket.write(encodeControlFrame(part, this.compressor));
    }
  }

  /** @returns undefined at the end of the connection */
  async next(): Promise<RawFrame | undefined> {
    while (this.#frames.length === 0 && !this.#isOver) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return this.#frames.shift();
  }

  /** The frames up to the end of the connection. */
  async rest(): Promise<RawFrame[]> {
    const frames: RawFrame[] = [];
    for (let frame = await this.next(); frame !== undefined; frame = await this.next()) frames.push(frame);
    return frames;
  }

  #take(chunk: Buffer): void {
    for (const part of this.#reader.read(chunk)) {
      if (part.kind === "control") {
        const frame = decodeControlFrame(part.type, part.flags, part.body, this.#decompressor);
        if (frame !== undefined) this.#frames.push(frame);
        continue;
      }
      this.#data.push(Buffer.from(part.piece));
      if (!part.isLast) continue;
      const bytes = Buffer.concat(this.#data);
      this.#data = [];
      this.#frames.push({ type: "DATA", streamId: part.streamId, bytes, fin: part.fin });
    }
    this.#wake?.();
  }
}

/** Our connection on one end, and a bare peer on the other. */
export async function withRawPeer(
  role: "client" | "server",
  options: SpdyOptions = {},
): Promise<{ connection: SpdyConnection; peer: RawPeer; clock: FakeClock }> {
  const { near, far } = await socketPair();
  const clock = new FakeClock();
  const connection = new SpdyConnection(near, role, { clock }, options);
  return { connection, peer: new RawPeer(far), clock };
}

export async function bytesOf(reader: ByteReader | undefined): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of reader ?? []) pieces.push(piece);
  return Buffer.concat(pieces);
}

export async function textOf(reader: ByteReader | undefined): Promise<string> {
  return (await bytesOf(reader)).toString();
}

/** A pair of Duplexes in memory, each of which reads what the other writes: a connection without a buffer. */
export function memoryPair(): { near: Duplex; far: Duplex } {
  const near = new MemoryEnd();
  const far = new MemoryEnd();
  near.other = far;
  far.other = near;
  return { near, far };
}

class MemoryEnd extends Duplex {
  other: MemoryEnd | undefined;
  #taken: (() => void) | undefined;

  override _read(): void {
    const taken = this.#taken;
    this.#taken = undefined;
    taken?.();
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    const { other } = this;
    if (other === undefined || other.destroyed) done();
    else if (other.push(chunk)) done();
    else other.#taken = done;
  }

  override _final(done: () => void): void {
    this.other?.push(null);
    done();
  }
}
