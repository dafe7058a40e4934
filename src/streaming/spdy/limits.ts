import type { FrameLimits } from "./frame-reader.js";

/** What a peer may make a connection hold. */
export interface SpdyLimits extends FrameLimits {
  /** of one header block when inflated */
  readonly maxHeaderBytes: number;
  /** open at once by the peer, and by us */
  readonly maxStreams: number;
  /** that one stream holds for a reader that is slower than the peer; the socket is not read above it */
  readonly maxBufferedBytes: number;
  /** that all streams of a connection hold together */
  readonly maxConnectionBufferedBytes: number;
}

/** Upstream has no limits but the frame's 24 bits. What its peers really send stays far below these. */
export const DEFAULT_SPDY_LIMITS: SpdyLimits = {
  maxDataFrameBytes: 2 ** 24 - 1,
  maxControlFrameBytes: 64 * 1024,
  maxHeaderBytes: 64 * 1024,
  maxStreams: 4096,
  maxBufferedBytes: 256 * 1024,
  maxConnectionBufferedBytes: 4 * 1024 * 1024,
};
