import { onAbort } from "../../../util/async/abort.js";
import type { Clock } from "../../../util/clock.js";
import { defined } from "../../../util/defined.js";
import type { Status } from "../../apimachinery/api/meta.js";
import { type ByteReader, type ByteWriter, StreamError } from "../../streaming/bytes.js";
import { type DialOptions, dialUpgrade, type RefusedUpgrade, type UpgradedSocket } from "../../streaming/dial.js";
import type { FrameObserver } from "../../streaming/frame-report.js";
import type {
  NegotiatedProtocol,
  RemoteCommandClientSession,
  RemoteCommandOptions,
  TerminalSize,
} from "../../streaming/remote-command/session.js";
import { SPDY_REMOTE_COMMAND_PROTOCOLS, streamTypes } from "../../streaming/remote-command/spdy-protocols.js";
import { terminalSizeText } from "../../streaming/remote-command/terminal-size.js";
import { PROTOCOL_VERSION_HEADER, SPDY_31 } from "../../streaming/spdy/accept.js";
import { SpdyConnection } from "../../streaming/spdy/connection.js";
import type { SpdyStream } from "../../streaming/spdy/stream.js";
import { readStatus } from "./read-status.js";

export interface SpdyRemoteCommandOptions {
  readonly options: RemoteCommandOptions;
  readonly clock: Clock;
  readonly observer?: FrameObserver | undefined;
  /** the streams to open; default: those of the options */
  readonly types?: readonly string[];
}

export interface ConnectSpdyRemoteCommandOptions
  extends SpdyRemoteCommandOptions,
    Pick<DialOptions, "headers" | "tls"> {
  /** in order of preference; default v4 to v1 */
  readonly protocols?: readonly string[] | undefined;
  /** default POST, as in client-go */
  readonly method?: DialOptions["method"] | undefined;
}

export interface ConnectedRemoteCommand {
  readonly outcome: "connected";
  readonly session: RemoteCommandClientSession;
}

/**
 * Requests a remote command over SPDY.
 *
 * Mirrors client-go/tools/remotecommand/remotecommand.go (newConnectionAndStream) and transport/spdy/spdy.go
 * (Negotiate).
 *
 * @param url of the exec or attach, with its query: http or https
 * @returns the session, or the server's refusal
 * @throws StreamError if there is no connection or it breaks; the signal's reason
 */
export async function connectSpdyRemoteCommand(
  url: string | URL,
  connect: ConnectSpdyRemoteCommandOptions,
  signal: AbortSignal,
): Promise<ConnectedRemoteCommand | RefusedUpgrade> {
  const { headers, tls, protocols = SPDY_REMOTE_COMMAND_PROTOCOLS, method = "POST" } = connect;
  const answer = await dialUpgrade(
    url,
    {
      method,
      protocol: SPDY_31,
      headers: { ...headers, [PROTOCOL_VERSION_HEADER]: protocols },
      ...defined({ tls }),
    },
    signal,
  );
  if (answer.outcome === "refused") return answer;
  return { outcome: "connected", session: await spdyRemoteCommand(answer, connect, signal) };
}

/**
 * The client's side of a remote command on an upgraded socket: opens its streams.
 *
 * Mirrors client-go/tools/remotecommand/v2.go to v4.go. Differs: opens all streams at once instead of one after the
 * other; a v4 connection that ends without a Status is a failure, while upstream treats it as success.
 *
 * @throws StreamError if a stream is refused or the connection breaks; the signal's reason
 */
export async function spdyRemoteCommand(
  upgraded: Pick<UpgradedSocket, "socket" | "head" | "headers">,
  { options, clock, observer, types }: SpdyRemoteCommandOptions,
  signal: AbortSignal,
): Promise<RemoteCommandClientSession> {
  const { socket, head, headers } = upgraded;
  const connection = new SpdyConnection(socket, "client", { clock, observer }, { head });
  using _ = onAbort(signal, () => void connection.close());
  try {
    if (!(headers.upgrade ?? "").toLowerCase().includes(SPDY_31.toLowerCase())) {
      throw new StreamError(`unable to upgrade connection: the server speaks ${headers.upgrade ?? "nothing"}`);
    }
    const answered = headers[PROTOCOL_VERSION_HEADER.toLowerCase()];
    // Kubernetes 1.0 did not negotiate: a server without an answer speaks the first version.
    const subprotocol = typeof answered === "string" && answered !== "" ? answered : "channel.k8s.io";
    const wanted = types ?? streamTypes(options, subprotocol);
    const opened = await Promise.all(wanted.map((streamtype) => connection.open({ streamtype })));
    const streams = new Map(opened.map((stream) => [stream.headers["streamtype"] ?? "", stream]));
    return new SpdyClientSession(connection, subprotocol, streams);
  } catch (error) {
    void connection.close();
    signal.throwIfAborted();
    throw error;
  }
}

class SpdyClientSession implements RemoteCommandClientSession {
  readonly protocol: NegotiatedProtocol;
  readonly stdin: ByteWriter | undefined;
  readonly stdout: ByteReader | undefined;
  readonly stderr: ByteReader | undefined;
  readonly status: Promise<Status>;

  constructor(
    readonly connection: SpdyConnection,
    subprotocol: string,
    readonly streams: ReadonlyMap<string, SpdyStream>,
  ) {
    this.protocol = { framing: "SPDY", subprotocol };
    this.stdin = streams.get("stdin");
    this.stdout = streams.get("stdout")?.incoming;
    this.stderr = streams.get("stderr")?.incoming;
    // Servers send nothing on these streams; drops anything that comes.
    for (const type of ["stdin", "resize"]) streams.get(type)?.inbox.drop();
    this.status = readStatus(streams.get("error")?.incoming, subprotocol);
    // The result is no longer of interest after `close`.
    this.status.catch(() => {});
  }

  async resize(size: TerminalSize): Promise<void> {
    await this.streams.get("resize")?.write(Buffer.from(`${terminalSizeText(size)}\n`));
  }

  close(): Promise<void> {
    return this.connection.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
