import { once } from "node:events";
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { connectionStream } from "../../staging/streaming/port-forward/connection-stream.js";
import type { ForwardedConnection } from "../../staging/streaming/port-forward/session.js";
import { onAbort } from "../../util/async/abort.js";
import { messageOf } from "../../util/errors.js";
import { isLocalAddress } from "../../util/net/local-address.js";

/** The target of a probe. */
export interface ProbeTarget {
  readonly podUid: string;
  /** a name or an address, without brackets */
  readonly host: string;
  readonly port: number;
  /** the probe sets no host, so the target is the pod */
  readonly isPod: boolean;
}

/**
 * How probes and hooks reach a pod. Upstream dials the pod's IP. Here this is configurable: the addresses of an embedded
 * runtime's pods are not reachable, and a pod's spec cannot make this machine connect to another one.
 */
export interface ProbeDialer {
  /**
   * Connects. The caller destroys the stream.
   * @throws Error with Go's words for a failed dial; the signal's reason
   */
  dial(target: ProbeTarget, signal: AbortSignal): Promise<Duplex>;
  /**
   * Resolves when the port accepts a connection, which is all that a tcpSocket probe checks.
   * @param signal aborts at the probe's timeout
   * @throws as `dial`
   */
  reach(target: ProbeTarget, signal: AbortSignal): Promise<void>;
}

/** A failed dial, in Go's words. */
export class DialError extends Error {
  override readonly name = "DialError";
}

/** `10.0.0.1:80`, `[::1]:80`. Mirrors net.JoinHostPort. */
export function joinHostPort(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Refuses every address: the default, until the kubelet sets how its pods are reached. */
export class RefusingDialer implements ProbeDialer {
  async dial({ host, port }: ProbeTarget): Promise<Duplex> {
    const why = "this kubelet dials only this machine and the pods of its node";
    throw new DialError(`dial tcp ${joinHostPort(host, port)}: ${why}`);
  }

  async reach(target: ProbeTarget): Promise<void> {
    await this.dial(target);
  }
}

/** Dials over this machine's network, but only allowed addresses. */
export class NetworkDialer implements ProbeDialer {
  /** @param mayDial default: the addresses of this machine */
  constructor(readonly mayDial: (host: string) => boolean = isLocalAddress) {}

  async dial(target: ProbeTarget, signal: AbortSignal): Promise<Duplex> {
    const { host, port } = target;
    if (!this.mayDial(host)) return new RefusingDialer().dial(target);
    signal.throwIfAborted();
    const socket = connect({ host, port });
    using _ = onAbort(signal, () => socket.destroy(signal.reason));
    try {
      await once(socket, "connect");
      return socket;
    } catch (error) {
      signal.throwIfAborted();
      throw dialError(error as Error, host, port);
    }
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

/** @param error with the system's code */
export function dialError(error: Error, host: string, port: number): DialError {
  const { code = "" } = error as NodeJS.ErrnoException;
  const text = `dial tcp ${joinHostPort(host, port)}: ${GO_ERRORS[code] ?? error.message}`;
  return new DialError(text, { cause: error });
}

export interface PortForwardDialerDeps {
  /**
   * A connection to a port of the pod through its runtime's PortForward stream.
   * @throws Error when the runtime has no such pod, or offers no streams
   */
  readonly forward: (podUid: string, port: number, signal: AbortSignal) => Promise<ForwardedConnection>;
  /** @returns the UID of the pod of this node that has the address */
  readonly podAt?: (address: string) => string | undefined;
  /** for other addresses that a probe or hook sets; default: refused */
  readonly others?: ProbeDialer;
}

/** Reaches pods through their runtime's port-forward, when their addresses are not reachable from this machine. */
export class PortForwardDialer implements ProbeDialer {
  readonly #others: ProbeDialer;

  constructor(readonly deps: PortForwardDialerDeps) {
    this.#others = deps.others ?? new RefusingDialer();
  }

  async dial(target: ProbeTarget, signal: AbortSignal): Promise<Duplex> {
    const podUid = this.#podOf(target);
    if (podUid === undefined) return this.#others.dial(target, signal);
    return connectionStream(await this.#forward({ ...target, podUid }, signal), (why) => failed(target, why));
  }

  #podOf({ isPod, podUid, host }: ProbeTarget): string | undefined {
    return isPod ? podUid : this.deps.podAt?.(host);
  }

  /**
   * A forwarded connection opens before it is known whether the port is open, so it is half-closed at once: a
   * connection that ends without an error, or stays open until the probe's timeout, was accepted.
   */
  async reach(target: ProbeTarget, signal: AbortSignal): Promise<void> {
    const podUid = this.#podOf(target);
    if (podUid === undefined) return this.#others.reach(target, signal);
    const connection = await this.#forward({ ...target, podUid }, signal);
    let stop = () => {};
    const aborted = new Promise<undefined>((resolve) => {
      stop = () => resolve(undefined);
    });
    using _ = onAbort(signal, stop);
    try {
      // The stream's failure explains more than the failed write.
      await connection.end().catch(() => undefined);
      const failure = await Promise.race([connection.failure, aborted]);
      if (failure !== undefined) throw failed(target, failure);
    } finally {
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
  // The runtime's `... connection refused` names its own address; the probe's result names the pod's.
  const text = /connection refused/.test(why) ? "connect: connection refused" : why;
  return new DialError(`dial tcp ${joinHostPort(host, port)}: ${text}`, options);
}
