import { StreamError } from "../bytes.js";
import type { Backlog } from "./backlog.js";
import type { FrameLog } from "./frame-log.js";
import { type FramePart, FrameReader } from "./frame-reader.js";
import { nameOf } from "./frame-report.js";
import {
  type ControlFrame,
  decodeControlFrame,
  GOAWAY_STATUS,
  RESET_STATUS,
  type ResetStatus,
  SETTING_INITIAL_WINDOW_SIZE,
} from "./frames.js";
import { HeaderDecompressor } from "./header-block.js";
import type { SpdyLimits } from "./limits.js";
import type { Openings } from "./openings.js";
import type { StreamHost } from "./stream.js";
import type { StreamTable } from "./stream-table.js";

export interface FrameReceiverDeps {
  readonly streams: StreamTable;
  readonly openings: Openings;
  readonly backlog: Backlog;
  readonly log: FrameLog | undefined;
  readonly limits: SpdyLimits;
}

/** Events of the receiver for its connection. */
export interface FrameReceiverOwner extends StreamHost {
  /** Nothing is accepted any more. */
  readonly isClosing: boolean;
  /** The peer has ended its side of a stream, or of the connection: with an error, or undefined. */
  peerEnded(error: StreamError | undefined): void;
}

/** Dispatches the peer's frames to streams, windows and the connection. */
export class FrameReceiver {
  readonly #reader: FrameReader;
  readonly #decompressor: HeaderDecompressor;

  constructor(
    readonly deps: FrameReceiverDeps,
    readonly owner: FrameReceiverOwner,
  ) {
    this.#reader = new FrameReader(deps.limits);
    this.#decompressor = new HeaderDecompressor(deps.limits.maxHeaderBytes);
  }

  /** Whether the input ends inside a frame so far. */
  get isWithinFrame(): boolean {
    return this.#reader.isWithinFrame;
  }

  /** @throws StreamError for a violation of the protocol */
  take(chunk: Buffer): void {
    for (const part of this.#reader.read(chunk)) {
      if (part.kind === "data") this.#takeData(part);
      else this.#takeControlPart(part);
      if (this.owner.isClosing) return;
    }
  }

  #takeData(part: Extract<FramePart, { kind: "data" }>): void {
    const { streams, backlog, log } = this.deps;
    const { frames, flow } = this.owner;
    const stream = streams.get(part.streamId);
    log?.receivedData(part, stream?.channel);
    if (stream === undefined || stream.isRemoteEnded) {
      if (part.frameLength !== undefined && !streams.wasOpened(part.streamId)) {
        this.#refuse(part.streamId, RESET_STATUS.INVALID_STREAM);
      }
      frames.credit(0, flow.connection.take(part.piece.length, flow.isOn));
      return;
    }
    backlog.arrived(stream, part.piece);
    if (part.fin) this.#remoteEnd(part.streamId);
  }

  #takeControlPart({ type, flags, body }: Extract<FramePart, { kind: "control" }>): void {
    const frame = decodeControlFrame(type, flags, body, this.#decompressor);
    if (frame === undefined) return;
    this.deps.log?.control("received", frame, this.deps.streams.channelOf(frame), body.length);
    this.#takeControl(frame);
  }

  #takeControl(frame: ControlFrame): void {
    const { streams, openings } = this.deps;
    const { frames, flow } = this.owner;
    switch (frame.type) {
      case "SYN_STREAM":
        this.#refuse(frame.streamId, streams.take(frame, this.owner));
        return;
      case "SYN_REPLY":
        openings.accepted(frame.streamId);
        if (frame.fin) this.#remoteEnd(frame.streamId);
        return;
      case "HEADERS":
        if (frame.fin) this.#remoteEnd(frame.streamId);
        return;
      case "RST_STREAM":
        this.#takeReset(frame.streamId, frame.status);
        return;
      case "PING":
        // The ID's parity shows which side sent the ping. We never send one.
        if (!streams.isOurs(frame.pingId)) frames.control(frame);
        return;
      case "GOAWAY":
        this.#takeGoAway(frame);
        return;
      case "SETTINGS":
        flow.turnOn(frame.settings.find(({ id }) => id === SETTING_INITIAL_WINDOW_SIZE)?.value);
        return;
      case "WINDOW_UPDATE":
        flow.grant(frame.streamId === 0 ? flow.connection : streams.get(frame.streamId)?.window, frame.delta);
        return;
    }
  }

  #refuse(streamId: number, status: ResetStatus | undefined): void {
    if (status !== undefined) this.owner.frames.control({ type: "RST_STREAM", streamId, status });
  }

  #remoteEnd(streamId: number): void {
    this.deps.streams.get(streamId)?.remoteEnd();
    this.owner.peerEnded(undefined);
  }

  #takeReset(streamId: number, status: number): void {
    const why = `the peer reset the stream: ${nameOf(RESET_STATUS, status)}`;
    const error = status === RESET_STATUS.CANCEL ? undefined : new StreamError(why);
    this.deps.streams.get(streamId)?.terminate(error, why);
    this.deps.openings.refused(
      () => new StreamError(why),
      (id) => id === streamId,
    );
  }

  #takeGoAway({ status, lastStreamId }: Extract<ControlFrame, { type: "GOAWAY" }>): void {
    // These streams end now; the rest, with its reason, decides whether the connection ends too.
    this.deps.openings.refused(
      () => new StreamError("the peer accepts no more streams"),
      (id) => id > lastStreamId,
    );
    this.deps.streams.peerLeaves();
    const isError = status !== GOAWAY_STATUS.OK;
    const why = `the peer ended the connection: ${nameOf(GOAWAY_STATUS, status)}`;
    this.owner.peerEnded(isError ? new StreamError(why) : undefined);
  }
}
