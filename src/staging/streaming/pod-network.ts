import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { onAbort } from "../../util/async/abort.js";
import { messageOf } from "../../util/errors.js";
import { isNetErrno, NetError } from "../../util/net/net-error.js";
import { isRecord } from "../../util/records.js";

/**
 * The network of an embedded runtime's pods for other processes of this machine: a Unix socket per runtime. A connection begins with one
 * line of JSON in each direction, the request and its answer; then it carries the bytes of a TCP connection, or ends.
 */
export type PodNetworkRequest = PacketRequest | RulesRequest;

/** The rules for the addresses of Services, as JSON after the answer. */
interface RulesRequest {
  readonly protocol: "rules";
}

interface PacketRequest {
  readonly protocol: "tcp" | "udp" | "icmp";
  /** `10.244.1.3:80` */
  readonly to: string;
  /** absent: the node itself, as for a probe of its kubelet */
  readonly from?: string;
  /** how many more nodes can pass it on */
  readonly ttl?: number;
  /** a datagram's payload: base64 */
  readonly payload?: string;
}

export interface PodNetworkAnswer {
  /** absent: connected, or delivered */
  readonly errno?: string;
  /** the answer to a datagram; absent without one */
  readonly payload?: string;
}

const NEWLINE = 0x0a;
/** A datagram has at most 64 KiB, and base64 adds a third. */
const MAX_LINE_BYTES = 96 * 1_024;

/**
 * Sends a request to a runtime's socket and reads its answer.
 * @param path of the socket
 * @returns the stream, positioned at the connection's bytes; its reader destroys it
 * @throws NetError as the answer says; EHOSTUNREACH if nothing listens at the socket; the signal's reason
 */
export async function askPodNetwork(
  path: string,
  request: PodNetworkRequest,
  signal: AbortSignal,
): Promise<{ readonly stream: Duplex; readonly answer: PodNetworkAnswer }> {
  signal.throwIfAborted();
  const stream = connect({ path, allowHalfOpen: true });
  using _ = onAbort(signal, () => stream.destroy(signal.reason));
  stream.on("error", () => {});
  try {
    stream.write(`${JSON.stringify(request)}\n`);
    const answer = parseLine(await readHead(stream)) as PodNetworkAnswer;
    if (isNetErrno(answer.errno)) throw new NetError(answer.errno);
    return { stream, answer };
  } catch (error) {
    stream.destroy();
    signal.throwIfAborted();
    if (error instanceof NetError) throw error;
    throw Object.assign(new NetError("EHOSTUNREACH"), { cause: error });
  }
}

/**
 * Reads the first line of a connection. Later bytes stay in the stream, which flows again with its next listener. It
 * must not be paused explicitly, because Node's HTTP client never resumes the connection that it gets.
 * @throws Error if the connection ends before, or the line is too long
 */
export function readHead(stream: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let length = 0;
    const stop = () => {
      stream.off("readable", take).off("end", ended).off("close", ended).off("error", failed);
    };
    const failed = (error: Error) => {
      stop();
      reject(error);
    };
    const ended = () => failed(new Error("the connection ended before its first line"));
    const take = () => {
      const bytes: Buffer | null = stream.read();
      if (bytes === null) return;
      const at = bytes.indexOf(NEWLINE);
      length += at < 0 ? bytes.length : at;
      if (length > MAX_LINE_BYTES) return failed(new Error("the first line is too long"));
      if (at < 0) return void parts.push(bytes);
      stop();
      if (at + 1 < bytes.length) stream.unshift(bytes.subarray(at + 1));
      resolve(Buffer.concat([...parts, bytes.subarray(0, at)]).toString());
    };
    stream.on("readable", take).on("end", ended).on("close", ended).on("error", failed);
  });
}

/** @throws Error if the line is not a JSON object */
export function parseLine(line: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (cause) {
    throw new Error(`the line is not JSON: ${messageOf(cause)}`, { cause });
  }
  if (!isRecord(value)) throw new Error("the line is not a JSON object");
  return value;
}
