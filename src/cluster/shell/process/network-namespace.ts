import type { Clock } from "../../../util/clock.js";
import { defined } from "../../../util/defined.js";
import { NetError } from "../../../util/net/net-error.js";
import { ownedConnection } from "./owned-connection.js";
import { type Connection, type OpenSocket, Ports, type SocketAddress } from "./ports.js";

/** The router of packets that leave a network namespace. */
export interface Route {
  /** @returns the client's side @throws NetError; the signal's reason */
  connect(from: SocketAddress, to: SocketAddress, signal: AbortSignal): Promise<Connection>;
  /** Sends a datagram. @returns the answer; undefined without one @throws as `connect` */
  exchange(
    protocol: "udp" | "icmp",
    from: SocketAddress,
    to: SocketAddress,
    bytes: Buffer,
    signal: AbortSignal,
  ): Promise<Buffer | undefined>;
}

/** The range of Linux's ephemeral ports. */
const FIRST_CLIENT_PORT = 32_768;
const LAST_CLIENT_PORT = 60_999;
/** How long Linux sends SYNs that nothing answers (tcp_syn_retries = 6). */
export const SYN_TIMEOUT_MS = 127_000;

/** Whether an address is a loopback address, which means the sender itself. */
function isLoopbackIp(ip: string): boolean {
  return ip.startsWith("127.") || ip === "::1";
}

/** The address that the bridge plugin of CNI derives from the IP. Mirrors hwaddr.GenerateHardwareAddr4. */
export function hardwareAddress(ip: string): string {
  const bytes = ip.split(".").map((part) => Number(part).toString(16).padStart(2, "0"));
  return ["0a", "58", ...bytes].join(":");
}

/** The network of a pod, or of the node itself: its address, its listeners and its way to others. */
export class NetworkNamespace {
  readonly ports = new Ports();
  #nextPort = FIRST_CLIENT_PORT;

  /**
   * @param ips its addresses in addition to loopback; the first is the source address. A pod has one; the node's change with its pod CIDR
   */
  constructor(
    readonly ips: () => readonly string[],
    readonly clock: Clock,
    readonly route: Route,
    /** the node also routes packets to its own addresses, because the rules of Services apply there */
    readonly isNode = false,
  ) {}

  /** The first address; undefined without one. */
  get ip(): string | undefined {
    return this.ips()[0];
  }

  /** Whether packets to the address stay in this network. */
  owns(ip: string): boolean {
    return isLoopbackIp(ip) || this.ips().includes(ip);
  }

  /**
   * @param signal of the process that connects: its end closes the connection
   * @param owner the process, for netstat
   * @returns the client's side
   * @throws NetError; the signal's reason
   */
  async connect(to: SocketAddress, signal: AbortSignal, owner?: OpenSocket["owner"]): Promise<Connection> {
    const from = this.#source(to.ip);
    const connecting = this.#isInside(to.ip) ? this.accept(to, from, signal) : this.route.connect(from, to, signal);
    const connection = await connecting;
    const socket = { protocol: "tcp", local: from, peer: to, ...defined({ owner }) } as const;
    return { ...ownedConnection(connection, signal, this.ports.track(socket)), local: from };
  }

  /** Connects a client to a listener in this network. @throws NetError; the signal's reason */
  async accept(to: SocketAddress, from: SocketAddress, signal: AbortSignal): Promise<Connection> {
    const connection = this.ports.connect(to, from);
    if (connection !== undefined) return connection;
    await this.clock.sleep(SYN_TIMEOUT_MS, signal);
    throw new NetError("ETIMEDOUT");
  }

  /** Sends a datagram. @returns the answer; undefined without one @throws NetError; the signal's reason */
  sendDatagram(to: SocketAddress, bytes: Buffer, signal: AbortSignal): Promise<Buffer | undefined> {
    const from = this.#source(to.ip);
    return this.#isInside(to.ip)
      ? this.ports.datagram(to, bytes, from)
      : this.route.exchange("udp", from, to, bytes, signal);
  }

  /** Sends an echo request, and awaits its answer. @throws NetError; the signal's reason */
  async ping(ip: string, bytes: Buffer, signal: AbortSignal): Promise<void> {
    const to = { ip, port: 0 };
    if (!this.owns(ip)) await this.route.exchange("icmp", this.#source(ip), to, bytes, signal);
  }

  #isInside(ip: string): boolean {
    return !this.isNode && this.owns(ip);
  }

  #source(to: string): SocketAddress {
    const port = this.#nextPort;
    this.#nextPort = port >= LAST_CLIENT_PORT ? FIRST_CLIENT_PORT : port + 1;
    return { ip: isLoopbackIp(to) ? to : (this.ip ?? "127.0.0.1"), port };
  }
}
