import type { FrameObserver, FrameReport } from "../frame-report.js";
import type { FramePart } from "./frame-reader.js";
import { REPORTED_HEAD_BYTES, reportControl, reportData } from "./frame-report.js";
import type { ControlFrame } from "./frames.js";
import type { SpdyStream } from "./stream.js";

/** Reports each frame once. A DATA frame in pieces is reported when its first 64 bytes are complete. */
export class FrameLog {
  #pending: { streamId: number; channel: string | undefined; length: number; fin: boolean; head: Buffer } | undefined;

  constructor(readonly observer: FrameObserver) {}

  control(direction: FrameReport["direction"], frame: ControlFrame, channel: string | undefined, bytes: number): void {
    this.observer(reportControl(direction, frame, channel, bytes));
  }

  sentData(stream: SpdyStream, bytes: Uint8Array, fin: boolean): void {
    const head = Uint8Array.from(bytes.subarray(0, REPORTED_HEAD_BYTES));
    this.observer(reportData("sent", stream.id, stream.channel, bytes.length, fin, head));
  }

  receivedData(part: Extract<FramePart, { kind: "data" }>, channel: string | undefined): void {
    if (part.frameLength !== undefined) {
      this.#pending = {
        streamId: part.streamId,
        channel,
        length: part.frameLength,
        fin: part.frameFin,
        head: Buffer.alloc(0),
      };
    }
    const pending = this.#pending;
    if (pending === undefined) return;
    const missing = Math.min(REPORTED_HEAD_BYTES, pending.length) - pending.head.length;
    pending.head = Buffer.concat([pending.head, part.piece.subarray(0, missing)]);
    if (pending.head.length < Math.min(REPORTED_HEAD_BYTES, pending.length)) return;
    this.#pending = undefined;
    const { streamId, length, fin, head } = pending;
    this.observer(reportData("received", streamId, pending.channel, length, fin, Uint8Array.from(head)));
  }
}
