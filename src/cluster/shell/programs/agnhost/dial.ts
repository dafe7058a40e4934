import type { NetErrno } from "../../../../util/net/net-error.js";
import { NetError } from "../../../../util/net/net-error.js";
import { deadline } from "../../net/deadline.js";
import { bodyOf, HttpFailure, sendHttp } from "../../net/http-client.js";
import { readResolvConf } from "../../net/resolv-conf.js";
import { lookUpHost } from "../../net/resolver.js";
import { connectTls } from "../../net/tls.js";
import { duplexOf } from "../../process/duplex.js";
import type { Connection } from "../../process/ports.js";
import type { Self } from "../../process/process.js";

const GO_TEXTS: Readonly<Record<NetErrno, string>> = {
  ECONNREFUSED: "connect: connection refused",
  ECONNRESET: "read: connection reset by peer",
  EHOSTUNREACH: "connect: no route to host",
  ENETUNREACH: "connect: network is unreachable",
  ETIMEDOUT: "connect: connection timed out",
};

/** A failed dial in the words of Go's net package. */
export class GoDialError extends Error {
  override readonly name = "GoDialError";
  constructor(
    message: string,
    readonly kind: "dns" | "refused" | "timeout" | "other",
  ) {
    super(message);
  }
}

/** Mirrors net.Dialer. @param timeoutMs undefined: none @throws GoDialError; the signal's reason */
export async function dialTcp(
  self: Self,
  host: string,
  port: number,
  timeoutMs: number | undefined,
): Promise<Connection> {
  using limit = deadline(self.machine.clock, timeoutMs, self.signal);
  try {
    const ip = await resolve(self, host, limit.signal);
    try {
      return await self.machine.network.connect({ ip, port }, limit.signal, self);
    } catch (error) {
      if (!(error instanceof NetError)) throw error;
      const kind = error.code === "ECONNREFUSED" ? "refused" : error.code === "ETIMEDOUT" ? "timeout" : "other";
      throw new GoDialError(`dial tcp ${ip}:${port}: ${GO_TEXTS[error.code]}`, kind);
    }
  } catch (error) {
    if (limit.isOver) throw new GoDialError(`dial tcp ${host}:${port}: i/o timeout`, "timeout");
    throw error;
  }
}

/** @throws GoDialError */
async function resolve(self: Self, host: string, signal: AbortSignal): Promise<string> {
  const [ip] = await lookUpHost(self, host, signal);
  if (ip === undefined) {
    const [server] = readResolvConf(self).nameservers;
    throw new GoDialError(`lookup ${host} on ${server}:53: no such host`, "dns");
  }
  return ip;
}

const REQUEST_TIMEOUT_MS = 5_000;

/** The CA that signs the server, and the token to send. */
interface Https {
  readonly ca: Buffer;
  readonly token: string;
}

interface RequestOptions {
  readonly https?: Https;
  /** sent with POST, as a form */
  readonly form?: URLSearchParams;
}

/** Sends a request to `host:port/path`. @throws Error with the text of Go's HTTP client; the signal's reason */
export async function sendRequest(
  self: Self,
  host: string,
  port: number,
  path: string,
  { https, form }: RequestOptions = {},
): Promise<{ readonly status: number; readonly body: string }> {
  using limit = deadline(self.machine.clock, REQUEST_TIMEOUT_MS, self.signal);
  const url = `http${https ? "s" : ""}://${host}:${port}/${path}`;
  const method = form ? "POST" : "GET";
  const failed = (why: string) => new Error(`${form ? "Post" : "Get"} ${JSON.stringify(url)}: ${why}`);
  try {
    const plain = duplexOf(await dialTcp(self, host, port, undefined), limit.signal);
    const stream = https ? await connectTls(plain, { host, ca: https.ca }, limit.signal) : plain;
    try {
      const headers: (readonly [string, string])[] = [["Host", `${host}:${port}`]];
      headers.push(["User-Agent", "Go-http-client/1.1"]);
      if (https) headers.push(["Authorization", `Bearer ${https.token}`]);
      if (form) headers.push(["Content-Type", "application/x-www-form-urlencoded"]);
      const body = form && { body: Buffer.from(String(form)) };
      const response = await sendHttp(stream, { method, path: `/${path}`, headers, ...body }, limit.signal);
      const parts: Buffer[] = [];
      for await (const bytes of bodyOf(response, limit.signal)) {
        self.memory.hold(bytes.length);
        parts.push(bytes);
      }
      return { status: response.statusCode ?? 0, body: Buffer.concat(parts).toString() };
    } finally {
      stream.destroy();
    }
  } catch (error) {
    self.signal.throwIfAborted();
    if (limit.isOver) throw failed("context deadline exceeded (Client.Timeout exceeded while awaiting headers)");
    if (error instanceof GoDialError) throw failed(error.message);
    if (error instanceof HttpFailure) throw failed("EOF");
    throw error;
  }
}

/** The body of `http://host:port/path`, with any status. @throws as `sendRequest` */
export async function getHttp(self: Self, host: string, port: number, path: string, https?: Https): Promise<string> {
  return (await sendRequest(self, host, port, path, https && { https })).body;
}

/** Sends a datagram and awaits its answer for 5 s. @throws Error with netexec's text; the signal's reason */
export async function askUdp(self: Self, host: string, port: number, text: string): Promise<string> {
  const ip = await resolve(self, host, self.signal);
  using limit = deadline(self.machine.clock, REQUEST_TIMEOUT_MS, self.signal);
  const failed = (why: string) => new Error(`reading from udp connection failed. err:'${why}'`);
  try {
    const answer = await self.machine.network.sendDatagram({ ip, port }, Buffer.from(text), limit.signal);
    if (answer !== undefined) return answer.toString();
    // A datagram is not acknowledged, so only a timeout shows that it failed.
    await self.machine.clock.sleep(REQUEST_TIMEOUT_MS, limit.signal);
  } catch (error) {
    self.signal.throwIfAborted();
    if (error instanceof NetError) throw failed(`read udp ${ip}:${port}: read: ${error.message.toLowerCase()}`);
    if (!limit.isOver) throw error;
  }
  throw failed(`read udp ${ip}:${port}: i/o timeout`);
}
