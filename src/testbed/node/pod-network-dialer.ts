import { isIPv4 } from "node:net";
import type { Duplex } from "node:stream";
import { dialError, NetworkDialer, type ProbeDialer, type ProbeTarget } from "../../kubelet/prober/probe-dialer.js";
import { askPodNetwork } from "../../staging/streaming/pod-network.js";
import { isLoopback } from "../../util/net/local-address.js";
import { NetError } from "../../util/net/net-error.js";

/**
 * Dials from the node of an embedded runtime, whose network has the pods of all nodes and the addresses of Services.
 * The node's loopback address means this machine if no pod of the node listens there.
 */
export class PodNetworkDialer implements ProbeDialer {
  readonly #machine = new NetworkDialer();

  /** @param socket path of the runtime's socket */
  constructor(readonly socket: string) {}

  async dial(target: ProbeTarget, signal: AbortSignal): Promise<Duplex> {
    const { host, port, isPod } = target;
    const ip = host === "localhost" ? "127.0.0.1" : host;
    if (!isIPv4(ip)) return this.#machine.dial(target, signal);
    try {
      return (await askPodNetwork(this.socket, { protocol: "tcp", to: `${ip}:${port}` }, signal)).stream;
    } catch (error) {
      if (!(error instanceof NetError)) throw error;
      if (!isPod && isLoopback(ip)) return this.#machine.dial(target, signal);
      throw dialError(error, host, port);
    }
  }

  async reach(target: ProbeTarget, signal: AbortSignal): Promise<void> {
    (await this.dial(target, signal)).destroy();
  }
}
