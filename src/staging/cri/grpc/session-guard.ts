import {
  constants,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { SmallSet } from "../../../util/collections/small-set.js";

/** The limits of what clients can hold at the same time. */
export interface SessionLimits {
  readonly sessions: number;
  /** streams of one session; the server's settings announce the number */
  readonly streamsPerSession: number;
  /** streams of all sessions */
  readonly streams: number;
  /** unanswered requests and unread responses of all sessions */
  readonly bytes: number;
  /** streams of one session that its client cancelled, minus the answered ones */
  readonly resets: number;
}

/** A kubelet has one session, and a stream for each running call. A message has up to 16 MiB. */
export const SESSION_LIMITS: SessionLimits = {
  sessions: 200,
  streamsPerSession: 1_000,
  streams: 2_000,
  bytes: 64 * 1024 * 1024,
  resets: 1_000,
};

/** A request of 16 MiB can arrive in chunks of one byte. A chunk costs this much memory in addition to its bytes. */
const CHUNK_BYTES = 512;
/** The number of bytes after which the guard adds up unread responses. */
const CHECK_BYTES = 1024 * 1024;

/** A client's connection. */
interface Session {
  readonly http2: ServerHttp2Session;
  readonly streams: SmallSet<ServerHttp2Stream>;
  /** Its client has sent a request. */
  isUsed: boolean;
  /** of unanswered requests */
  requestBytes: number;
  resets: number;
}

/**
 * Bounds what the clients of an HTTP/2 server can make it hold. Above a limit it ends the session that holds the most, so that
 * the other clients are served. nghttp2 itself limits CONTINUATION, PING, SETTINGS and empty DATA frames.
 *
 * Differs: containerd has no such limits. Its socket is only open to root.
 */
export class SessionGuard {
  /** in order of arrival */
  readonly #sessions = new Map<ServerHttp2Session, Session>();
  /** A stream that its client has cancelled no longer knows its session. */
  readonly #sessionOf = new WeakMap<ServerHttp2Stream, Session>();
  #streamCount = 0;
  #requestBytes = 0;
  /** written since the last check */
  #responseBytes = 0;
  endedSessions = 0;

  /** @param server serves only streams that the guard accepts, from now on */
  constructor(
    server: Http2Server,
    readonly limits: SessionLimits = SESSION_LIMITS,
  ) {
    server.prependListener("session", (session) => this.#open(session));
    const listeners = server.listeners("stream");
    server.removeAllListeners("stream");
    server.on("stream", (stream, headers, flags) => {
      if (this.#accept(stream, headers)) for (const listener of listeners) listener(stream, headers, flags);
    });
  }

  get counts(): { readonly sessions: number; readonly streams: number; readonly bytes: number } {
    return { sessions: this.#sessions.size, streams: this.#streamCount, bytes: this.#requestBytes };
  }

  /** Ends sessions if their clients do not read their responses. */
  responded(byteCount: number): void {
    this.#responseBytes += byteCount;
    if (this.#responseBytes < CHECK_BYTES) return;
    this.#responseBytes = 0;
    this.#endLargest(unreadBytes, this.limits.bytes);
  }

  #open(http2: ServerHttp2Session): void {
    if (this.#sessions.size >= this.limits.sessions) this.#makeRoom();
    const session: Session = { http2, streams: new SmallSet(), isUsed: false, requestBytes: 0, resets: 0 };
    this.#sessions.set(http2, session);
    http2.prependListener("stream", (stream) => void this.#sessionOf.set(stream, session));
    http2.once("close", () => this.#sessions.delete(http2));
  }

  /** Ends the oldest session whose client never sent a request, otherwise the oldest one that is idle. */
  #makeRoom(): void {
    const sessions = [...this.#sessions.values()];
    const session = sessions.find(({ isUsed }) => !isUsed) ?? sessions.find(({ streams }) => streams.size === 0);
    this.#end(session ?? sessions[0]);
  }

  /** @returns false for a stream that its client has cancelled; grpc-js would throw when it answers */
  #accept(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): boolean {
    // A reset is an error of the stream, also of one that is not accepted. grpc-js listens for the first error of the others.
    stream.on("error", () => {});
    const session = this.#sessionOf.get(stream);
    if (session === undefined || !this.#sessions.has(session.http2)) return false;
    if (stream.destroyed || stream.closed) {
      this.#countReset(session, false);
      return false;
    }
    refuseCompression(headers);
    session.isUsed = true;
    session.streams.add(stream);
    this.#streamCount++;
    let requestBytes = 0;
    stream.on("data", ({ length }: Buffer) => {
      const bytes = length + CHUNK_BYTES;
      requestBytes += bytes;
      session.requestBytes += bytes;
      this.#requestBytes += bytes;
      if (this.#requestBytes > this.limits.bytes) this.#endLargest((each) => each.requestBytes, this.limits.bytes);
    });
    stream.once("close", () => {
      session.streams.delete(stream);
      session.requestBytes -= requestBytes;
      this.#streamCount--;
      this.#requestBytes -= requestBytes;
      this.#countReset(session, stream.rstCode === constants.NGHTTP2_NO_ERROR);
    });
    if (this.#streamCount > this.limits.streams) this.#endLargest((each) => each.streams.size, this.limits.streams);
    return !stream.destroyed;
  }

  /** CVE-2023-44487: a client that opens streams and cancels them at once is never stopped by a limit on open streams. */
  #countReset(session: Session, isAnswered: boolean): void {
    session.resets = isAnswered ? Math.max(0, session.resets - 1) : session.resets + 1;
    if (session.resets > this.limits.resets) this.#end(session);
  }

  #endLargest(weigh: (session: Session) => number, limit: number): void {
    const weighed = [...this.#sessions.values()].map((session) => ({ session, weight: weigh(session) }));
    let total = weighed.reduce((sum, { weight }) => sum + weight, 0);
    weighed.sort((a, b) => b.weight - a.weight);
    for (const { session, weight } of weighed) {
      if (total <= limit) return;
      total -= weight;
      this.#end(session);
    }
  }

  #end(session: Session | undefined): void {
    if (session === undefined || !this.#sessions.delete(session.http2)) return;
    this.endedSessions++;
    // Deferred, because nghttp2 may be calling us, and Node aborts the process if the session disappears meanwhile.
    setImmediate(() => session.http2.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM));
  }
}

function unreadBytes({ streams }: Session): number {
  let sum = 0;
  for (const stream of streams) sum += stream.writableLength;
  return sum;
}

/**
 * grpc-js unpacks messages: 200 kB become 16 MiB. Kubelets do not compress, and containerd has no decompressor either. grpc-js
 * answers Unimplemented for an encoding that it does not know.
 */
function refuseCompression(headers: IncomingHttpHeaders): void {
  const encoding = headers["grpc-encoding"];
  if (encoding !== undefined && encoding !== "identity") headers["grpc-encoding"] = `${encoding} (not installed)`;
}
