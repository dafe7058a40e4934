import type { IdleWatch } from "../idle.js";
import type { FlowControl } from "./flow-control.js";
import type { FrameLog } from "./frame-log.js";
import { type ControlFrame, encodeControlFrame, encodeDataHead, FRAME_HEAD_BYTES } from "./frames.js";
import { HeaderCompressor } from "./header-block.js";
import type { SpdyStream } from "./stream.js";
import type { StreamTable } from "./stream-table.js";
import type { Transport } from "./transport.js";

export interface FrameSenderDeps {
  readonly transport: Transport;
  readonly flow: FlowControl;
  readonly streams: StreamTable;
  readonly idle: IdleWatch | undefined;
  readonly log: FrameLog | undefined;
}

/** Sends a connection's frames until it is stopped; later frames are dropped silently. */
export class FrameSender {
  readonly #compressor = new HeaderCompressor();
  #isStopped = false;

  constructor(readonly deps: FrameSenderDeps) {}

  control(frame: ControlFrame): void {
    if (this.#isStopped) return;
    const { transport, streams, idle, log } = this.deps;
    const bytes = encodeControlFrame(frame, this.#compressor);
    idle?.touch();
    log?.control("sent", frame, streams.channelOf(frame), bytes.length - FRAME_HEAD_BYTES);
    transport.send(bytes);
  }

  /** @param bytes at most MAX_SENT_FRAME_BYTES */
  data(stream: SpdyStream, bytes: Uint8Array, fin: boolean): void {
    if (this.#isStopped) return;
    const { transport, flow, idle, log } = this.deps;
    idle?.touch();
    stream.window.sent += bytes.length;
    flow.connection.sent += bytes.length;
    log?.sentData(stream, bytes, fin);
    transport.send(encodeDataHead(stream.id, bytes.length, fin), bytes);
  }

  /** Enlarges the peer's window on a stream or (0) on the connection. */
  credit(streamId: number, delta: number): void {
    if (delta > 0) this.control({ type: "WINDOW_UPDATE", streamId, delta });
  }

  /** Resolves when the socket accepts more. @throws StreamError if the connection ends first */
  room(): Promise<void> {
    return this.deps.transport.room();
  }

  stop(): void {
    this.#isStopped = true;
  }
}
