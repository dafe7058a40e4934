import type { FrameLimits } from "./frame-reader.js";

/** The limits for what a peer can make a connection hold. */
export interface SpdyLimits extends FrameLimits {
  /** size of one inflated header block */
  readonly maxHeaderBytes: number;
  /** open streams, for each side */
  readonly maxStreams: number;
  /** unread bytes of one stream; above it the socket is not read */
  readonly maxBufferedBytes: number;
  /** unread bytes of all streams of a connection */
  readonly maxConnectionBufferedBytes: number;
}

/** Upstream has no limits except the frame's 24 bits. Its peers stay far below these. */
export const DEFAULT_SPDY_LIMITS: SpdyLimits = {
  maxDataFrameBytes: 2 ** 24 - 1,
  maxControlFrameBytes: 64 * 1024,
  maxHeaderBytes: 64 * 1024,
  maxStreams: 4096,
  maxBufferedBytes: 256 * 1024,
  maxConnectionBufferedBytes: 4 * 1024 * 1024,
};
