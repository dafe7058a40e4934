import { RpcError } from "../../../staging/cri/grpc/status.js";
import { Protocol } from "../../../staging/cri/messages/enums.js";
import type { PodSandboxConfig } from "../../../staging/cri/messages/sandbox.js";
import { isLoopback } from "../../../util/net/local-address.js";
import type { SocketAddress } from "../../shell/process/ports.js";
import { MachinePortError, type MachinePorts } from "./machine-ports.js";

type PortMapping = PodSandboxConfig["portMappings"][number];

interface HostPort {
  readonly protocol: "tcp" | "udp";
  /** empty: every address of the node */
  readonly ip: string;
  readonly port: number;
  readonly to: SocketAddress;
}

const LOOPBACK = "127.0.0.1";

/**
 * The host ports of the pods of a node. They lead to the pod from the addresses of the node, and from this machine's loopback
 * interface: at 127.0.0.1, or at the loopback address that the mapping names.
 *
 * Mirrors the portmap plugin of CNI (DNAT to the pod) and pkg/kubelet/dockershim/network/hostport/hostport_manager.go
 * (openHostports: a port in use fails the sandbox). Differs: no SCTP.
 */
export class HostPorts {
  /** by the pod's address */
  readonly #pods = new Map<string, readonly HostPort[]>();

  /** @param machine undefined: nothing is opened on this machine */
  constructor(readonly machine: () => MachinePorts | undefined) {}

  /** @param pod `default/web` @throws RpcError if a port of this machine cannot be opened */
  async open(pod: string, ip: string, mappings: readonly PortMapping[]): Promise<void> {
    const ports = mappings.flatMap((mapping) => hostPortOf(mapping, ip));
    if (ports.length === 0) return;
    this.#pods.set(ip, ports);
    for (const port of ports) {
      const loopback = loopbackOf(port);
      if (loopback === undefined) continue;
      try {
        await this.machine()?.open({ ...port, ip: loopback, purpose: `host port of ${pod}` });
      } catch (error) {
        if (!(error instanceof MachinePortError)) throw error;
        this.#close(ports.slice(0, ports.indexOf(port)));
        this.#pods.delete(ip);
        throw new RpcError("Unknown", `cannot open hostport ${port.port} for pod ${pod}: ${error.message}`);
      }
    }
  }

  close(ip: string): void {
    this.#close(this.#pods.get(ip) ?? []);
    this.#pods.delete(ip);
  }

  /** The target of a packet to an address of the node; undefined if no host port matches. */
  find(protocol: "tcp" | "udp", { ip, port }: SocketAddress): SocketAddress | undefined {
    for (const ports of this.#pods.values()) {
      for (const one of ports) {
        if (one.port === port && one.protocol === protocol && (one.ip === "" || one.ip === ip)) return one.to;
      }
    }
    return undefined;
  }

  #close(ports: readonly HostPort[]): void {
    for (const port of ports) {
      const loopback = loopbackOf(port);
      if (loopback !== undefined) this.machine()?.close({ ...port, ip: loopback });
    }
  }
}

function hostPortOf({ hostPort, hostIp, containerPort, protocol }: PortMapping, ip: string): HostPort[] {
  if (hostPort <= 0 || protocol === Protocol.SCTP) return [];
  const anyAddress = hostIp === "" || hostIp === "0.0.0.0";
  return [
    {
      protocol: protocol === Protocol.UDP ? "udp" : "tcp",
      ip: anyAddress ? "" : hostIp,
      port: hostPort,
      to: { ip, port: containerPort },
    },
  ];
}

function loopbackOf({ ip }: HostPort): string | undefined {
  if (ip === "") return LOOPBACK;
  return isLoopback(ip) && ip.startsWith("127.") ? ip : undefined;
}
