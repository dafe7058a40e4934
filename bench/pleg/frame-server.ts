import { createServer, type Socket } from "node:net";
import { Encoded } from "../../src/apimachinery/protobuf/fields.js";
import { RUNTIME_SERVICE } from "../../src/cri/services.js";
import { GRPC_CODES, RpcError } from "../../src/cri/status.js";
import {
  Flag,
  FRAME_HEAD_BYTES,
  FrameReader,
  type FrameSink,
  FrameType,
  frame,
  MAX_FRAME_BYTES,
  numberFrame,
  PREFACE,
  settingsFrame,
  withoutPadding,
  writeFrameHead,
} from "../../src/cri/transport/frames.js";
import { encodeField, HeaderDecoder } from "../../src/cri/transport/hpack.js";

/** What a call answers: a response encoded beforehand, the fields of one, or nothing for as long as the client listens. */
export type SyntheticHandlers = Readonly<Record<string, (request: never) => Encoded | object | undefined>>;

const GRPC_PREFIX_BYTES = 5;
const HEADERS = Buffer.concat([Buffer.from([0x88]), encodeField("content-type", "application/grpc")]);

/**
 * Serves the RuntimeService with as little work for each call as frames allow, so that what is measured is the client and not
 * a library's server: the one of grpc-js takes longer for a call than the client does.
 *
 * It sends as much as it has, whatever the client's window: kubelab's own takes 16 MB and more.
 */
export function serveFrames(handlers: SyntheticHandlers, path: string): Promise<{ close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => {});
    const connection = new ServerConnection(socket, handlers);
    socket.on("data", (chunk) => connection.received(chunk));
  });
  const close = () =>
    new Promise<void>((resolve) => {
      for (const socket of sockets) socket.destroy();
      server.close(() => resolve());
    });
  return new Promise((resolve, reject) => {
    server.once("error", reject).listen(path, () => resolve({ close }));
  });
}

class ServerConnection implements FrameSink {
  readonly #decoder = new HeaderDecoder();
  readonly #reader = new FrameReader(this);
  /** paths and bodies of calls that are still being sent */
  readonly #calls = new Map<number, { readonly path: string; readonly pieces: Buffer[] }>();
  #prefaceBytes = PREFACE.length;

  constructor(
    readonly socket: Socket,
    readonly handlers: SyntheticHandlers,
  ) {
    socket.write(settingsFrame([]));
  }

  received(chunk: Buffer): void {
    const skipped = Math.min(this.#prefaceBytes, chunk.length);
    this.#prefaceBytes -= skipped;
    this.socket.cork();
    this.#reader.read(chunk.subarray(skipped));
    this.socket.uncork();
  }

  frame(type: number, flags: number, id: number, bytes: Buffer, from: number, to: number): void {
    if (type === FrameType.SETTINGS && (flags & Flag.ACK) === 0) {
      this.socket.write(frame(FrameType.SETTINGS, Flag.ACK, 0, Buffer.alloc(0)));
    } else if (type === FrameType.HEADERS) {
      const fields = this.#decoder.decode(
        withoutPadding(bytes.subarray(from, to), flags, (flags & Flag.PRIORITY) === 0 ? 0 : 5),
      );
      this.#calls.set(id, { path: fields[":path"] ?? "", pieces: [] });
    } else if (type === FrameType.RST_STREAM) this.#calls.delete(id);
  }

  data(id: number, bytes: Buffer, from: number, to: number, length: number): void {
    this.#calls.get(id)?.pieces.push(Buffer.from(bytes.subarray(from, to)));
    if (length > 0) this.socket.write(numberFrame(FrameType.WINDOW_UPDATE, 0, length));
  }

  dataEnd(id: number, flags: number): void {
    const call = this.#calls.get(id);
    if ((flags & Flag.END_STREAM) === 0 || call === undefined) return;
    this.#calls.delete(id);
    try {
      const response = this.#answer(call.path, Buffer.concat(call.pieces).subarray(GRPC_PREFIX_BYTES));
      if (response === undefined) this.socket.write(frame(FrameType.HEADERS, Flag.END_HEADERS, id, HEADERS));
      else this.#send(id, response);
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      this.#refuse(id, error);
    }
  }

  #answer(path: string, request: Buffer): Buffer | undefined {
    const [name, rpc] =
      Object.entries(RUNTIME_SERVICE).find(([, one]) => one.path === path) ?? refuse("Unimplemented", path);
    const handler = this.handlers[name] ?? refuse("Unimplemented", path);
    const value = handler(rpc.request.decode(request) as never);
    if (value === undefined) return undefined;
    if (!(value instanceof Encoded)) return rpc.response.encode(value as never);
    return Buffer.from(value.bytes.buffer, value.bytes.byteOffset, value.bytes.byteLength);
  }

  #send(id: number, response: Buffer): void {
    const head = Buffer.allocUnsafe(FRAME_HEAD_BYTES + HEADERS.length);
    writeFrameHead(head, 0, HEADERS.length, FrameType.HEADERS, Flag.END_HEADERS, id);
    HEADERS.copy(head, FRAME_HEAD_BYTES);
    const prefix = Buffer.alloc(GRPC_PREFIX_BYTES);
    prefix.writeUInt32BE(response.length, 1);
    const parts = [head, frame(FrameType.DATA, 0, id, prefix)];
    for (let at = 0; at < response.length; at += MAX_FRAME_BYTES) {
      const piece = response.subarray(at, at + MAX_FRAME_BYTES);
      const pieceHead = Buffer.allocUnsafe(FRAME_HEAD_BYTES);
      writeFrameHead(pieceHead, 0, piece.length, FrameType.DATA, 0, id);
      parts.push(pieceHead, piece);
    }
    parts.push(frame(FrameType.HEADERS, Flag.END_HEADERS | Flag.END_STREAM, id, encodeField("grpc-status", "0")));
    if (response.length < MAX_FRAME_BYTES) this.socket.write(Buffer.concat(parts));
    else for (const part of parts) this.socket.write(part);
  }

  #refuse(id: number, { code, message }: RpcError): void {
    const status = encodeField("grpc-status", String(GRPC_CODES.indexOf(code)));
    const block = Buffer.concat([HEADERS, status, encodeField("grpc-message", message)]);
    this.socket.write(frame(FrameType.HEADERS, Flag.END_HEADERS | Flag.END_STREAM, id, block));
  }
}

function refuse(code: "Unimplemented", what: string): never {
  throw new RpcError(code, `unknown method ${what}`);
}
