import type { FrameReport } from "../frame-report.js";
import { type ControlFrame, GOAWAY_STATUS, RESET_STATUS } from "./frames.js";
import type { SpdyHeaders } from "./header-block.js";

/** The payload bytes in a report. */
export const REPORTED_HEAD_BYTES = 64;
const NO_BYTES = new Uint8Array(0);

/** A stream's purpose, from its headers: `stdin`, `error`, `data 80`. */
export function channelOf(headers: SpdyHeaders): string | undefined {
  const type = headers["streamtype"];
  const port = headers["port"];
  return type !== undefined && port !== undefined ? `${type} ${port}` : type;
}

/** @param bytes the size of the frame's body on the wire */
export function reportControl(
  direction: FrameReport["direction"],
  frame: ControlFrame,
  channel: string | undefined,
  bytes: number,
): FrameReport {
  const note = noteOf(frame);
  const streamId = "streamId" in frame ? frame.streamId : undefined;
  return {
    direction,
    framing: "SPDY",
    type: frame.type,
    ...(streamId === undefined ? {} : { streamId }),
    ...(channel === undefined ? {} : { channel }),
    length: bytes,
    head: NO_BYTES,
    ...(note === "" ? {} : { note }),
  };
}

export function reportData(
  direction: FrameReport["direction"],
  streamId: number,
  channel: string | undefined,
  length: number,
  fin: boolean,
  head: Uint8Array,
): FrameReport {
  return {
    direction,
    framing: "SPDY",
    type: "DATA",
    streamId,
    ...(channel === undefined ? {} : { channel }),
    length,
    head,
    ...(fin ? { note: "FIN" } : {}),
  };
}

function noteOf(frame: ControlFrame): string {
  switch (frame.type) {
    case "SYN_STREAM":
    case "SYN_REPLY":
    case "HEADERS": {
      const headers = Object.entries(frame.headers).map(([name, value]) => `${name}=${value.replaceAll("\0", ",")}`);
      return [...headers, ...(frame.fin ? ["FIN"] : [])].join(" ");
    }
    case "RST_STREAM":
      return `status ${nameOf(RESET_STATUS, frame.status)}`;
    case "SETTINGS":
      return frame.settings.map(({ id, value }) => `setting ${id}=${value}`).join(" ");
    case "PING":
      return `ping ${frame.pingId}`;
    case "GOAWAY":
      return `status ${nameOf(GOAWAY_STATUS, frame.status)}, last stream ${frame.lastStreamId}`;
    case "WINDOW_UPDATE":
      return `window +${frame.delta}`;
  }
}

/** @returns `CANCEL`, or the number if it has no name */
export function nameOf(statuses: Readonly<Record<string, number>>, status: number): string {
  return Object.entries(statuses).find(([, number]) => number === status)?.[0] ?? String(status);
}
