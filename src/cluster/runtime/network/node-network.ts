import type { Duplex } from "node:stream";
import { askPodNetwork } from "../../../staging/streaming/pod-network.js";
import type { Ctx } from "../../../trace/ctx.js";
import type { Level } from "../../../trace/trace.js";
import { isPrivateAddress } from "../../../util/net/ipv4.js";
import { type NetErrno, NetError } from "../../../util/net/net-error.js";
import type { RuleTable } from "../../netfilter/rules.js";
import { NetworkNamespace, type Route, SYN_TIMEOUT_MS } from "../../shell/process/network-namespace.js";
import type { Connection, SocketAddress } from "../../shell/process/ports.js";
import type { Addresses } from "./addresses.js";
import { HostPorts } from "./host-ports.js";
import { connectMachine, sendMachine } from "./machine.js";
import { MachinePorts } from "./machine-ports.js";
import type { NetworkCut } from "./network-cut.js";
import { listenerPorts, nodePorts } from "./node-ports.js";
import type { Peer, Peers } from "./peers.js";
import { type NatDecision, parseEndpoint, ServiceNat } from "./service-nat.js";
import { connectionOf } from "./socket-connection.js";

/** A connection attempt or a datagram on its way. */
export interface Flow {
  readonly protocol: "tcp" | "udp" | "icmp";
  readonly from: SocketAddress;
  readonly to: SocketAddress;
  /** how many more nodes can pass it on */
  readonly ttl: number;
}

/** Where a packet goes next, after the rules of Services. */
type NextHop =
  | { readonly kind: "namespace"; readonly namespace: NetworkNamespace }
  | { readonly kind: "peer"; readonly peer: Peer }
  | { readonly kind: "machine" }
  | { readonly kind: "none"; readonly errno: NetErrno; readonly afterMs: number };

/** The number of nodes that a packet can pass: the client's, the node port's, the endpoint's. */
const TTL = 3;
/** Linux sends three ARP requests, a second apart, for an address of its own network (mcast_solicit). */
const ARP_TIMEOUT_MS = 3_000;
/** The limit of concurrent connections to other nodes. */
const MAX_PEER_CONNECTIONS = 4_096;
/** The wait for a datagram's answer from another node: as long as conntrack remembers an unanswered datagram. */
const DATAGRAM_PATIENCE_MS = 30_000;

export interface NodeNetworkDeps extends Ctx {
  /** the `-v` level of decisions by the rules of Services */
  readonly traceLevel: Level;
}

/**
 * The network of one node, as its kernel has it: the pods' namespaces behind a bridge, the node's own namespace, and routes
 * to the pods of other nodes. Nothing leaves the machine: there is no way to any other address.
 */
export class NodeNetwork implements Route {
  /** the network of pods with `hostNetwork`, and of the node itself */
  readonly host: NetworkNamespace;
  /** the rules of Services */
  readonly nat: ServiceNat;
  readonly #pods = new Map<string, NetworkNamespace>();
  /** of its pods */
  readonly hostPorts = new HostPorts(() => this.#machinePorts);
  #machinePorts: MachinePorts | undefined;
  /** undefined for a node that has no others */
  peers: Peers | undefined;
  #peerConnections = 0;
  #cut: NetworkCut = {};
  readonly #peerStreams = new Set<Duplex>();

  constructor(
    readonly deps: NodeNetworkDeps,
    readonly addresses: Addresses,
    /** undefined: only the bridge's address */
    readonly address?: string,
  ) {
    const own = address === undefined ? [] : [address];
    this.host = new NetworkNamespace(() => [...own, addresses.gateway], deps.clock, this, true);
    this.nat = new ServiceNat(deps);
  }

  /** Makes the network of a pod. */
  add(ip: string): NetworkNamespace {
    const namespace = new NetworkNamespace(() => [ip], this.deps.clock, this);
    this.#pods.set(ip, namespace);
    return namespace;
  }

  delete(ip: string): void {
    this.#pods.delete(ip);
  }

  find(ip: string): NetworkNamespace | undefined {
    return this.#pods.get(ip);
  }

  /** Joins the network of the other nodes. A pod CIDR that this node had before is used again. */
  join(peers: Peers): void {
    this.peers = peers;
    const cidr = peers.lastCidr();
    if (cidr !== undefined) this.useCidr(cidr);
  }

  /** The range of this node's pods has changed. @throws RpcError InvalidArgument; the file system's error */
  useCidr(cidr: string): void {
    this.addresses.useCidr(cidr);
    this.peers?.announce(cidr);
  }

  /** Opens ports of this machine that lead into the network: host ports, node ports, and the node's own listeners. */
  openMachine(): MachinePorts {
    const connect = (from: SocketAddress, to: SocketAddress, signal: AbortSignal) => this.connect(from, to, signal);
    const exchange = (from: SocketAddress, to: SocketAddress, bytes: Buffer, signal: AbortSignal) =>
      this.exchange("udp", from, to, bytes, signal);
    const { clock, trace } = this.deps;
    const machine = new MachinePorts({ clock, trace, inwards: { connect, exchange }, peers: () => this.peers });
    this.#machinePorts = machine;
    this.host.ports.onChange = () => void machine.replace("listeners", listenerPorts(this.host));
    return machine;
  }

  /** Cuts or slows the way to and from other nodes, and ends the connections on it; undefined mends it. */
  setCut(cut: NetworkCut = {}): void {
    this.#cut = cut;
    if (cut.how !== undefined) for (const stream of this.#peerStreams) stream.destroy();
  }

  /** A connection from or to another node has been opened. */
  addPeerStream(stream: Duplex): void {
    // The way was cut while it was being opened.
    if (this.#cut.how !== undefined) stream.destroy();
    this.#peerStreams.add(stream);
    stream.once("close", () => this.#peerStreams.delete(stream));
  }

  /** Replaces the rules of Services. */
  restore(table: RuleTable): void {
    this.nat.restore(table);
    void this.#machinePorts?.replace("node ports", nodePorts(table, this.host.ip ?? ""));
  }

  connect(from: SocketAddress, to: SocketAddress, signal: AbortSignal): Promise<Connection> {
    return this.forward({ protocol: "tcp", from, to, ttl: TTL }, signal);
  }

  exchange(
    protocol: "udp" | "icmp",
    from: SocketAddress,
    to: SocketAddress,
    bytes: Buffer,
    signal: AbortSignal,
  ): Promise<Buffer | undefined> {
    return this.deliver({ protocol, from, to, ttl: TTL }, bytes, signal);
  }

  /** Connects a TCP flow that this node routes. @throws NetError; the signal's reason */
  async forward(given: Flow, signal: AbortSignal): Promise<Connection> {
    const { flow, hop } = this.#route(given);
    await this.#waitForNetwork(given, hop, signal);
    switch (hop.kind) {
      case "namespace":
        return hop.namespace.accept(flow.to, flow.from, signal);
      case "peer":
        return this.#connectPeer(hop.peer, flow, signal);
      case "machine":
        return connectMachine(flow.to.port, flow.to, signal);
      default:
        return this.#fail(hop, signal);
    }
  }

  /** Delivers a datagram that this node routes. @returns the answer @throws NetError; the signal's reason */
  async deliver(given: Flow, bytes: Buffer, signal: AbortSignal): Promise<Buffer | undefined> {
    const { flow, hop } = this.#route(given);
    await this.#waitForNetwork(given, hop, signal);
    switch (hop.kind) {
      case "namespace":
        // A kernel answers echo requests itself.
        return flow.protocol === "icmp" ? bytes : hop.namespace.ports.datagram(flow.to, bytes, flow.from);
      case "peer":
        return this.#sendToPeer(hop.peer, flow, bytes, signal);
      case "machine":
        return sendMachine(flow.to.port, bytes, { clock: this.deps.clock, ms: DATAGRAM_PATIENCE_MS }, signal);
      default:
        return this.#fail(hop, signal);
    }
  }

  /** The rules come first, as for any packet that a kernel receives; their result is routed. */
  #route(flow: Flow): { readonly flow: Flow; readonly hop: NextHop } {
    const { protocol, from, to } = flow;
    const isForNode = this.host.owns(to.ip);
    // Rules of Services name a port, which an echo request does not have.
    if (protocol === "icmp") return { flow, hop: this.#nextHop(flow) };
    const decision = this.nat.decide({ protocol, from, to, sender: this.#senderOf(from), isForNode });
    if (decision === undefined) return this.#toHostPort(flow, protocol, isForNode);
    this.#report(flow, decision);
    const { verdict } = decision;
    if (verdict.kind === "reject") return { flow, hop: { kind: "none", errno: "ECONNREFUSED", afterMs: 0 } };
    if (verdict.kind === "drop") return { flow, hop: { kind: "none", errno: "ETIMEDOUT", afterMs: SYN_TIMEOUT_MS } };
    if (verdict.kind === "listener")
      return { flow: { ...flow, to: parseEndpoint(verdict.endpoint) }, hop: { kind: "machine" } };
    const sender = verdict.isMasqueraded ? { ip: this.#masquerade(verdict.to), port: from.port } : from;
    const translated = { ...flow, from: sender, to: verdict.to };
    // Only endpoints of the control plane are on this machine. A loopback address of the node is not this machine.
    if (verdict.isControlPlane) return { flow: translated, hop: { kind: "machine" } };
    return { flow: translated, hop: this.#nextHop(translated) };
  }

  #toHostPort(flow: Flow, protocol: "tcp" | "udp", isForNode: boolean): { readonly flow: Flow; readonly hop: NextHop } {
    const to = isForNode ? this.hostPorts.find(protocol, flow.to) : undefined;
    const routed = to === undefined ? flow : { ...flow, to };
    return { flow: routed, hop: this.#nextHop(routed) };
  }

  /** The node's source address for an endpoint: the bridge's for its own pods. Mirrors MASQUERADE of iptables. */
  #masquerade({ ip }: SocketAddress): string {
    return this.#pods.has(ip) ? this.addresses.gateway : (this.host.ip ?? this.addresses.gateway);
  }

  #senderOf({ ip }: SocketAddress): "pods" | "node" | "outside" {
    if (this.host.owns(ip)) return "node";
    return this.addresses.has(ip) || this.peers?.findByPod(ip) !== undefined ? "pods" : "outside";
  }

  #report({ protocol, from, to }: Flow, { rule, verdict }: NatDecision): void {
    const { trace, traceLevel } = this.deps;
    if (!trace.wants(traceLevel)) return;
    const { service, address } = rule;
    const end =
      verdict.kind === "dnat"
        ? formatAddress(verdict.to)
        : verdict.kind === "listener"
          ? verdict.endpoint
          : `nowhere (${verdict.kind})`;
    const sender =
      verdict.kind === "dnat" && verdict.isMasqueraded ? `, from now on as ${this.#masquerade(verdict.to)}` : "";
    const what = `${from.ip} to ${formatAddress(to)}/${protocol}: goes to ${end}${sender}`;
    const why = `${address} of ${service}: ${verdict.why}`;
    const upstream = { file: "pkg/proxy/iptables/proxier.go", func: "syncProxyRules" };
    trace.emit({ kind: "decision", what, why, upstream }, { actor: "runtime", level: traceLevel });
  }

  #nextHop({ to, ttl }: Flow): NextHop {
    const pod = this.#pods.get(to.ip);
    if (pod !== undefined) return { kind: "namespace", namespace: pod };
    if (this.host.owns(to.ip)) return { kind: "namespace", namespace: this.host };
    const peer = this.peers?.find(to.ip);
    if (peer !== undefined && ttl > 0) return { kind: "peer", peer };
    if (peer !== undefined || this.addresses.has(to.ip)) {
      return { kind: "none", errno: "EHOSTUNREACH", afterMs: ARP_TIMEOUT_MS };
    }
    // No rule has changed the address of a cluster IP: the packet leaves by the default route, and nothing answers it.
    if (isPrivateAddress(to.ip)) return { kind: "none", errno: "ETIMEDOUT", afterMs: SYN_TIMEOUT_MS };
    return { kind: "none", errno: "ENETUNREACH", afterMs: 0 };
  }

  /** A faulty network meets what comes from other nodes, and what goes to them. @throws NetError; the signal's reason */
  async #waitForNetwork({ ttl }: Flow, hop: NextHop, signal: AbortSignal): Promise<void> {
    const { how, delayMs = 0 } = this.#cut;
    if ((how === undefined && delayMs === 0) || (ttl === TTL && hop.kind !== "peer")) return;
    if (how === "refuse") return this.#fail({ kind: "none", errno: "ECONNREFUSED", afterMs: 0 }, signal);
    if (how === "drop") return this.#fail({ kind: "none", errno: "ETIMEDOUT", afterMs: SYN_TIMEOUT_MS }, signal);
    await this.deps.clock.sleep(delayMs, signal);
  }

  async #fail({ errno, afterMs }: NextHop & { readonly kind: "none" }, signal: AbortSignal): Promise<never> {
    if (afterMs > 0) await this.deps.clock.sleep(afterMs, signal);
    throw new NetError(errno);
  }

  async #connectPeer({ socket }: Peer, flow: Flow, signal: AbortSignal): Promise<Connection> {
    if (this.#peerConnections >= MAX_PEER_CONNECTIONS) {
      return this.#fail({ kind: "none", errno: "ETIMEDOUT", afterMs: SYN_TIMEOUT_MS }, signal);
    }
    this.#peerConnections++;
    try {
      const { stream } = await askPodNetwork(socket, requestOf(flow), signal);
      stream.once("close", () => this.#peerConnections--);
      this.addPeerStream(stream);
      return connectionOf(stream, flow.to);
    } catch (error) {
      this.#peerConnections--;
      throw error;
    }
  }

  async #sendToPeer({ socket }: Peer, flow: Flow, bytes: Buffer, signal: AbortSignal): Promise<Buffer | undefined> {
    const patience = new AbortController();
    const timer = this.deps.clock.timer(DATAGRAM_PATIENCE_MS, () => patience.abort());
    try {
      const request = { ...requestOf(flow), payload: bytes.toString("base64") };
      const { stream, answer } = await askPodNetwork(socket, request, AbortSignal.any([signal, patience.signal]));
      stream.destroy();
      return answer.payload === undefined ? undefined : Buffer.from(answer.payload, "base64");
    } catch (error) {
      signal.throwIfAborted();
      if (patience.signal.aborted) return undefined;
      throw error;
    } finally {
      timer.stop();
    }
  }
}

function requestOf({ protocol, from, to, ttl }: Flow) {
  return { protocol, from: formatAddress(from), to: formatAddress(to), ttl: ttl - 1 };
}

/** `10.244.0.5:80` */
function formatAddress({ ip, port }: SocketAddress): string {
  return `${ip}:${port}`;
}
