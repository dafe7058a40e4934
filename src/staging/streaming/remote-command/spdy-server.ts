import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Clock } from "../../../util/clock.js";
import type { Status } from "../../apimachinery/api/meta.js";
import { type ByteReader, type ByteWriter, StreamError } from "../bytes.js";
import type { FrameObserver } from "../frame-report.js";
import { DEFAULT_IDLE_TIMEOUT_MS } from "../idle.js";
import { ServedSession } from "../served-session.js";
import { acceptSpdy } from "../spdy/accept.js";
import { SpdyConnection } from "../spdy/connection.js";
import type { SpdyStream } from "../spdy/stream.js";
import type { NegotiatedProtocol, RemoteCommandOptions, RemoteCommandServerSession, TerminalSize } from "./session.js";
import { SPDY_REMOTE_COMMAND_PROTOCOLS, type StreamType, streamTypes } from "./spdy-protocols.js";
import { errorStreamText } from "./status-text.js";
import { terminalSizes } from "./terminal-size.js";

/** Mirrors k8s.io/apimachinery/pkg/util/remotecommand/constants.go (DefaultStreamCreationTimeout). */
const DEFAULT_CREATION_TIMEOUT_MS = 30_000;

export interface AcceptSpdyOptions {
  readonly options: RemoteCommandOptions;
  readonly clock: Clock;
  readonly observer?: FrameObserver | undefined;
  /** default four hours */
  readonly idleTimeoutMs?: number | undefined;
  /** the time limit for opening the streams; default 30 s */
  readonly creationTimeoutMs?: number | undefined;
  /** default v4 to v1 */
  readonly supported?: readonly string[] | undefined;
}

/**
 * Serves a remote command over SPDY: answers the upgrade, and waits until the client has opened its streams.
 *
 * Mirrors pkg/kubelet/cri/streaming/remotecommand/httpstream.go (createHTTPStreamStreams, waitForStreams). Differs:
 * checks which streams were opened, not only how many, and closes the connection if some are missing. In v1 the error
 * stream works and stdin stays open; upstream keeps both bugs of Kubernetes 1.0.
 *
 * @throws StreamError if the upgrade was refused; the client has its answer then; or if streams are missing
 */
export async function acceptSpdyRemoteCommand(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  accept: AcceptSpdyOptions,
): Promise<RemoteCommandServerSession> {
  const { options, clock, observer, idleTimeoutMs = DEFAULT_IDLE_TIMEOUT_MS } = accept;
  const subprotocol = acceptSpdy(request, socket, accept.supported ?? SPDY_REMOTE_COMMAND_PROTOCOLS);
  const connection = new SpdyConnection(socket, "server", { clock, observer }, { head, idleTimeoutMs });
  const wanted = streamTypes(options, subprotocol);
  const streams = await waitForStreams(
    connection,
    wanted,
    clock,
    accept.creationTimeoutMs ?? DEFAULT_CREATION_TIMEOUT_MS,
  );
  return new SpdyServerSession(connection, options, subprotocol, streams);
}

async function waitForStreams(
  connection: SpdyConnection,
  wanted: readonly StreamType[],
  clock: Clock,
  timeoutMs: number,
): Promise<ReadonlyMap<string, SpdyStream>> {
  const streams = new Map<string, SpdyStream>();
  let problem = "the client disconnected before it opened its streams";
  const timer = clock.timer(timeoutMs, () => {
    problem = "timed out waiting for client to create streams";
    void connection.close();
  });
  try {
    for await (const stream of connection.streams) {
      stream.accept();
      const type = stream.headers["streamtype"] ?? "";
      // As upstream: accepts and ignores unknown streams; the later one of a kind counts.
      const unused = wanted.some((one) => one === type) ? streams.get(type) : stream;
      unused?.inbox.drop();
      if (unused !== stream) streams.set(type, stream);
      if (wanted.every((one) => streams.has(one))) return streams;
    }
  } finally {
    timer.stop();
  }
  const reason = await connection.closed;
  throw reason ?? new StreamError(problem);
}

class SpdyServerSession extends ServedSession implements RemoteCommandServerSession {
  readonly protocol: NegotiatedProtocol;
  readonly stdin: ByteReader | undefined;
  readonly stdout: ByteWriter | undefined;
  readonly stderr: ByteWriter | undefined;
  readonly resizes: AsyncIterable<TerminalSize>;

  constructor(
    readonly connection: SpdyConnection,
    readonly options: RemoteCommandOptions,
    subprotocol: string,
    readonly streams: ReadonlyMap<string, SpdyStream>,
  ) {
    super(connection.over);
    this.protocol = { framing: "SPDY", subprotocol };
    this.stdin = streams.get("stdin")?.incoming;
    this.stdout = streams.get("stdout");
    this.stderr = streams.get("stderr");
    const resize = streams.get("resize");
    this.resizes = terminalSizes(resize?.incoming);
    // Clients send nothing on these streams; drops anything that comes.
    for (const type of ["error", "stdout", "stderr"]) streams.get(type)?.inbox.drop();
  }

  /** In upstream's order: FIN on both outputs, the status, RST_STREAM on open streams, GOAWAY. */
  async finish(status: Status): Promise<void> {
    if (this.isOver) return;
    this.endHere();
    const { streams, connection } = this;
    streams.get("stdin")?.inbox.drop();
    streams.get("resize")?.inbox.drop();
    const text = errorStreamText(status, this.protocol.subprotocol);
    try {
      await Promise.all([streams.get("stdout")?.end(), streams.get("stderr")?.end()]);
      if (text !== "") await streams.get("error")?.write(Buffer.from(text));
    } catch {
      // The client is gone, or ignores the result.
    }
    await connection.finish();
  }

  protected async disconnect(): Promise<void> {
    await this.connection.close();
  }
}
