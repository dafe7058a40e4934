import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { connectionStream } from "../../streaming/port-forward/connection-stream.js";
import type { ForwardedConnection } from "../../streaming/port-forward/session.js";
import { messageOf } from "../../util/errors.js";
import { isLoopback } from "../../util/local-address.js";

/** What a probe wants to reach. */
export interface ProbeTarget {
  readonly podUid: string;
  /** a name or an address, without brackets */
  readonly host: string;
  readonly port: number;
  /** the probe names no host of its own: the pod is meant */
  readonly isPod: boolean;
}

/**
 * How probes reach a pod. Upstream just dials the pod's IP; here that is a choice, as the pods of an embedded runtime have
 * addresses that lead nowhere, and a pod's spec must not make this machine call others.
 */
export interface ProbeDialer {
  /**
   * Connects. The stream is the caller's to destroy.
   * @throws Error with Go's words for a dial that failed; the signal's reason
   */
  dial(target: ProbeTarget, signal: AbortSignal): Promise<Duplex>;
  /**
   * Resolves when somebody listens there: all that a tcpSocket probe asks.
   * @param signal aborts at the probe's timeout
   * @throws as `dial`
   */
  reach(target: ProbeTarget, signal: AbortSignal): Promise<void>;
}

/** A dial that failed, in Go's words. */
export class DialError extends Error {
  override readonly name = "DialError";
}

/** `10.0.0.1:80`, `[::1]:80`. Mirrors net.JoinHostPort. */
export function joinHostPort(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Reaches nobody: the default, until the kubelet says how its pods are reached. */
export class RefusingDialer implements ProbeDialer {
  async dial({ host, port }: ProbeTarget): Promise<Duplex> {
    throw new DialError(`dial tcp ${joinHostPort(host, port)}: this kubelet does not dial that address`);
  }

  async reach(target: ProbeTarget): Promise<void> {
    await this.dial(target);
  }
}

/** Dials over this machine's network, but only where it may. */
export class NetworkDialer implements ProbeDialer {
  /** @param mayDial default: loopback only */
  constructor(readonly mayDial: (host: string) => boolean = isLoopback) {}

  async dial(target: ProbeTarget, signal: AbortSignal): Promise<Duplex> {
    const { host, port } = target;
    if (!this.mayDial(host)) return new RefusingDialer().dial(target);
    signal.throwIfAborted();
    const socket = connect({ host, port });
    return new Promise<Duplex>((resolve, reject) => {
      const onAbort = () => {
        socket.destroy();
        reject(signal.reason);
      };
      const onError = (error: Error) => {
        signal.removeEventListener("abort", onAbort);
        reject(new DialError(dialErrorText(error, host, port), { cause: error }));
      };
      signal.addEventListener("abort", onAbort, { once: true });
      socket.once("error", onError);
      socket.once("connect", () => {
        signal.removeEventListener("abort", onAbort);
        socket.removeListener("error", onError);
        resolve(socket);
      });
    });
  }

  async reach(target: ProbeTarget, signal: AbortSignal): Promise<void> {
    (await this.dial(target, signal)).destroy();
  }
}

const GO_ERRORS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connect: connection refused",
  ECONNRESET: "connect: connection reset by peer",
  EHOSTUNREACH: "connect: no route to host",
  ENETUNREACH: "connect: network is unreachable",
  ETIMEDOUT: "i/o timeout",
  ENOTFOUND: "lookup: no such host",
};

function dialErrorText(error: Error, host: string, port: number): string {
  const { code = "" } = error as NodeJS.ErrnoException;
  return `dial tcp ${joinHostPort(host, port)}: ${GO_ERRORS[code] ?? error.message}`;
}

export interface PortForwardDialerDeps {
  /**
   * A connection to a port of the pod by way of its runtime's PortForward stream.
   * @throws Error when the runtime has no such pod, or offers no streams
   */
  readonly forward: (podUid: string, port: number, signal: AbortSignal) => Promise<ForwardedConnection>;
  /** for probes that name a host of their own; default: refused */
  readonly others?: ProbeDialer;
}

/** Reaches pods by way of their runtime, where their addresses are no addresses of this machine's network. */
export class PortForwardDialer implements ProbeDialer {
  readonly #others: ProbeDialer;

  constructor(readonly deps: PortForwardDialerDeps) {
    this.#others = deps.others ?? new RefusingDialer();
  }

  async dial(target: ProbeTarget, signal: AbortSignal): Promise<Duplex> {
    if (!target.isPod) return this.#others.dial(target, signal);
    return connectionStream(await this.#forward(target, signal), (why) => failed(target, why));
  }

  /**
   * A forwarded connection is there before it is known whether anybody listens. So it is closed for writing at once: what
   * ends without complaint, or stays open until the probe's time is over, was accepted.
   */
  async reach(target: ProbeTarget, signal: AbortSignal): Promise<void> {
    if (!target.isPod) return this.#others.reach(target, signal);
    const connection = await this.#forward(target, signal);
    let onAbort = () => {};
    const aborted = new Promise<undefined>((resolve) => {
      onAbort = () => resolve(undefined);
      signal.addEventListener("abort", onAbort, { once: true });
    });
    try {
      // The failure says more than the write that it made fail.
      await connection.end().catch(() => undefined);
      const failure = await Promise.race([connection.failure, aborted]);
      if (failure !== undefined) throw failed(target, failure);
    } finally {
      signal.removeEventListener("abort", onAbort);
      await connection.close();
    }
  }

  async #forward(target: ProbeTarget, signal: AbortSignal): Promise<ForwardedConnection> {
    try {
      return await this.deps.forward(target.podUid, target.port, signal);
    } catch (error) {
      signal.throwIfAborted();
      throw failed(target, messageOf(error), { cause: error });
    }
  }
}

function failed({ host, port }: ProbeTarget, why: string, options?: { cause: unknown }): DialError {
  // The runtime says `... connection refused` with its own idea of the address: the probe's reader knows the pod's.
  const text = /connection refused/.test(why) ? "connect: connection refused" : why;
  return new DialError(`dial tcp ${joinHostPort(host, port)}: ${text}`, options);
}
