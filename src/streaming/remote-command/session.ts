import type { Status } from "../../apimachinery/api/meta.js";
import type { ByteReader, ByteWriter } from "../bytes.js";

/** Which streams a remote command has. Mirrors k8s.io/kubernetes/pkg/kubelet/cri/streaming/remotecommand (Options). */
export interface RemoteCommandOptions {
  readonly stdin: boolean;
  readonly stdout: boolean;
  /** never together with `tty`: a terminal has one output */
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** Mirrors client-go/tools/remotecommand (TerminalSize). In characters. */
export interface TerminalSize {
  readonly width: number;
  readonly height: number;
}

/** What client and server agreed on. */
export interface NegotiatedProtocol {
  readonly framing: "SPDY" | "WebSocket";
  /** `v5.channel.k8s.io`, `v4.base64.channel.k8s.io`, `v4.channel.k8s.io`, ... */
  readonly subprotocol: string;
}

/** A remote command as whoever runs it sees it. */
export interface RemoteCommandServerSession extends AsyncDisposable {
  readonly protocol: NegotiatedProtocol;
  readonly options: RemoteCommandOptions;
  /** undefined when it was not asked for */
  readonly stdin: ByteReader | undefined;
  readonly stdout: ByteWriter | undefined;
  readonly stderr: ByteWriter | undefined;
  /** ends with the session, also when the connection broke; empty without a terminal */
  readonly resizes: AsyncIterable<TerminalSize>;
  /** aborts when the client is gone, or has been silent for longer than the idle timeout; not by `finish` or `close` */
  readonly signal: AbortSignal;
  /**
   * Tells how the command ended, in the form that the protocol has for it (JSON from v4 on, text before), closes the streams
   * and the connection. Everything that was written before reaches the client first.
   */
  finish(status: Status): Promise<void>;
  /** Breaks the connection off without a status. Safe to call twice, and after `finish`. */
  close(): Promise<void>;
}

/** A remote command as whoever asked for it sees it. */
export interface RemoteCommandClientSession extends AsyncDisposable {
  readonly protocol: NegotiatedProtocol;
  /** undefined when it was not asked for; its `end` cannot reach the other side before v5 on a WebSocket */
  readonly stdin: ByteWriter | undefined;
  readonly stdout: ByteReader | undefined;
  readonly stderr: ByteReader | undefined;
  /** Without a terminal it does nothing. */
  resize(size: TerminalSize): Promise<void>;
  /**
   * How the command ended, when all output has arrived: `Success`, or a `Failure` whose cause `ExitCode` has the code.
   * Rejects with StreamError when the connection broke before.
   */
  readonly status: Promise<Status>;
  /** Safe to call twice. */
  close(): Promise<void>;
}
