/** One frame on the wire, for traces and `--frames`: reported where it was sent or taken. */
export interface FrameReport {
  readonly direction: "sent" | "received";
  readonly framing: "SPDY" | "WebSocket";
  /** `SYN_STREAM`, `DATA`, `WINDOW_UPDATE`, ...; of a WebSocket `binary`, `text`, `close`, `ping`, `pong` */
  readonly type: string;
  /** SPDY's stream ID */
  readonly streamId?: number;
  /** what it belongs to, when that is known: `stdin`, `stdout`, `stderr`, `error`, `resize`, `close`, `data 80` */
  readonly channel?: string;
  /** of the payload, without the frame's own head and the channel's byte */
  readonly length: number;
  /** the payload's first bytes, 64 at most */
  readonly head: Uint8Array;
  /** in words: `FIN`, `window +65536`, `status PROTOCOL_ERROR`, `streamtype=stdin` */
  readonly note?: string;
}

/** Called in order, synchronously. Must not throw. */
export type FrameObserver = (frame: FrameReport) => void;
