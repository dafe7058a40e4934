import type { Duplex } from "node:stream";
import type { Trace } from "../../../../trace/trace.js";
import type { Exchange } from "../exchange.js";
import { statusOfFault } from "./fault-status.js";
import { noteFault } from "./note-fault.js";
import { matches, type RequestMatch, Rules } from "./request-match.js";
import { SlowWrites } from "./slow-writes.js";
import { WatchFaults } from "./watch-faults.js";

/** What happens to a request in place of its answer, or before it. */
export interface RequestFault {
  /** the status code of the answer; absent: the request is handled */
  readonly code?: number;
  readonly retryAfterSeconds?: number;
  /** how long it waits, in ms of the server's clock */
  readonly delayMs?: number;
  /** the connection ends without an answer */
  readonly drops?: boolean;
  /** how many requests it meets; absent: all */
  readonly count?: number;
}

/** The parts of a server that faults need. */
export interface FaultedServer {
  readonly trace: Trace;
  /** ends when the server closes */
  readonly closing: AbortSignal;
}

/** The subresources that answer with a stream. */
const STREAMS = ["exec", "attach", "portforward", "log", "proxy"];

/** What is wrong with the serving certificate. */
export const TLS_FAULTS = ["expired", "not-yet-valid", "other-ca", "wrong-name"] as const;
export type TlsFault = (typeof TLS_FAULTS)[number];

/**
 * Faults of an API server, which can be set while it runs, and which outlive its restart. They meet what comes over a connection:
 * the embedded controllers and the scheduler make no such requests.
 */
export class ServerFaults {
  readonly requests = new Rules<RequestFault>();
  readonly watches = new WatchFaults();
  readonly writes = new SlowWrites();
  /** Serves with a wrong certificate, or again with the right one, and ends all connections. Set by the server when it listens. */
  setCertificate: (how: TlsFault | undefined) => Promise<void> = async () => {};
  /** the users whose client certificates count as expired */
  readonly expired = new Set<string>();
  /** the nodes whose kubelets it cannot reach */
  readonly partitions = new Map<string, "drop" | "refuse">();

  readonly #slow = new Rules<object>();
  readonly #corked = new WeakSet<Duplex>();
  readonly #streams = new Map<Exchange, Trace>();

  /** Ends the connections of the open streams that match, in the middle of a frame. */
  cutStreams(match: RequestMatch): void {
    for (const [{ info, user, upgrade, response }, trace] of this.#streams) {
      if (!matches(match, info, user)) continue;
      noteFault(trace, `chaos cuts the stream of ${info.path}`);
      (upgrade?.socket ?? response).destroy();
    }
  }

  /** The clients of open streams that match read nothing more, until `isSlow` is false. */
  stallStreams(match: RequestMatch, isSlow: boolean): void {
    this.#slow.set(match, isSlow ? {} : undefined);
    for (const [exchange, trace] of this.#streams) this.#slowDown(exchange, trace);
  }

  /** What is written to a corked socket waits, and a writer that waits for it slows the kubelet and the container down. */
  #slowDown(exchange: Exchange, trace: Trace): void {
    const { info, user, upgrade, response } = exchange;
    const socket = upgrade?.socket ?? response.socket;
    const isSlow = this.#slow.find(info, user) !== undefined;
    if (socket === null || isSlow === this.#corked.has(socket)) return;
    if (isSlow) {
      noteFault(trace, `chaos: the client of the stream of ${info.path} reads nothing`);
      this.#corked.add(socket);
      socket.cork();
    } else {
      this.#corked.delete(socket);
      socket.uncork();
    }
  }

  /** Called between the filters and the handler of a request. @throws StatusError the answer of a fault */
  async meet(exchange: Exchange, { trace, closing }: FaultedServer): Promise<void> {
    const { info, user, method, response, upgrade } = exchange;
    if (STREAMS.includes(info.subresource)) {
      this.#streams.set(exchange, trace);
      (upgrade?.socket ?? response).once("close", () => this.#streams.delete(exchange));
      this.#slowDown(exchange, trace);
    }
    if (user !== undefined && this.expired.has(user.username)) {
      noteFault(trace, `chaos: the certificate of ${user.username} has expired`);
      throw statusOfFault(401, info);
    }
    const fault = this.requests.claim(info, user);
    if (fault === undefined) return;
    const { code, delayMs = 0, drops = false, retryAfterSeconds } = fault;
    const what = `${method} ${info.path}`;
    if (delayMs > 0) {
      noteFault(trace, `chaos delays ${what} by ${delayMs / 1000} s`);
      // A server that closes, and a client that leaves, end the wait.
      await exchange.clock.sleep(delayMs, exchange.abortSignal(closing)).catch(() => response.destroy());
    }
    if (drops) {
      noteFault(trace, `chaos drops the connection of ${what}`);
      response.destroy();
    }
    if (code !== undefined && !response.destroyed) noteFault(trace, `chaos answers ${code} to ${what}`);
    if (code !== undefined || response.destroyed) throw statusOfFault(code ?? 503, info, retryAfterSeconds);
  }
}
