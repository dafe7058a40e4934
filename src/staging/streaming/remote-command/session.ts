import type { Status } from "../../apimachinery/api/meta.js";
import type { ByteReader, ByteWriter } from "../bytes.js";

/** The streams of a remote command. Mirrors k8s.io/kubernetes/pkg/kubelet/cri/streaming/remotecommand (Options). */
export interface RemoteCommandOptions {
  readonly stdin: boolean;
  readonly stdout: boolean;
  /** never with `tty`: a terminal has one output */
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** Mirrors client-go/tools/remotecommand (TerminalSize). In characters. */
export interface TerminalSize {
  readonly width: number;
  readonly height: number;
}

/** What client and server have negotiated. */
export interface NegotiatedProtocol {
  readonly framing: "SPDY" | "WebSocket";
  /** `v5.channel.k8s.io`, `v4.base64.channel.k8s.io`, `v4.channel.k8s.io`, ... */
  readonly subprotocol: string;
}

/** A remote command on the serving side. */
export interface RemoteCommandServerSession extends AsyncDisposable {
  readonly protocol: NegotiatedProtocol;
  readonly options: RemoteCommandOptions;
  /** undefined if not requested */
  readonly stdin: ByteReader | undefined;
  readonly stdout: ByteWriter | undefined;
  readonly stderr: ByteWriter | undefined;
  /** ends with the session, even if the connection broke; empty without a terminal */
  readonly resizes: AsyncIterable<TerminalSize>;
  /** aborts when the client is gone or was idle for too long; not by `finish` or `close` */
  readonly signal: AbortSignal;
  /**
   * Sends the result of the command in the protocol's form (JSON since v4, text before), and closes the streams and the
   * connection. All output reaches the client first.
   */
  finish(status: Status): Promise<void>;
  /** Closes the connection without a status. Safe to call twice, and after `finish`. */
  close(): Promise<void>;
}

/** A remote command on the client's side. */
export interface RemoteCommandClientSession extends AsyncDisposable {
  readonly protocol: NegotiatedProtocol;
  /** undefined if not requested; on a WebSocket before v5 its `end` cannot reach the other side */
  readonly stdin: ByteWriter | undefined;
  readonly stdout: ByteReader | undefined;
  readonly stderr: ByteReader | undefined;
  /** Has no effect without a terminal. */
  resize(size: TerminalSize): Promise<void>;
  /**
   * The result of the command, after all output: `Success`, or a `Failure` whose cause `ExitCode` has the code. Rejects
   * with StreamError if the connection broke first.
   */
  readonly status: Promise<Status>;
  /** Safe to call twice. */
  close(): Promise<void>;
}
