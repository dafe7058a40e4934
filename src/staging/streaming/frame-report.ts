/** One frame on the wire, for traces and `--frames`, reported where it is sent or received. */
export interface FrameReport {
  readonly direction: "sent" | "received";
  readonly framing: "SPDY" | "WebSocket";
  /** `SYN_STREAM`, `DATA`, `WINDOW_UPDATE`, ...; for a WebSocket `binary`, `text`, `close`, `ping`, `pong` */
  readonly type: string;
  /** SPDY's stream ID */
  readonly streamId?: number;
  /** the stream's purpose, if known: `stdin`, `stdout`, `stderr`, `error`, `resize`, `close`, `data 80` */
  readonly channel?: string;
  /** size of the payload, without the frame's head and the channel's byte */
  readonly length: number;
  /** at most the first 64 bytes of the payload */
  readonly head: Uint8Array;
  /** details: `FIN`, `window +65536`, `status PROTOCOL_ERROR`, `streamtype=stdin` */
  readonly note?: string;
}

/** Called in order, synchronously. Must not throw. */
export type FrameObserver = (frame: FrameReport) => void;
