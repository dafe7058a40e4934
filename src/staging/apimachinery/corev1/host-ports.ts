import type { V1Container } from "../api/pod.js";

const ANY_IP = "0.0.0.0";

/** A port of the node that a container claims. */
export interface HostPort {
  readonly ip: string;
  /** `TCP/80` */
  readonly protocolPort: string;
}

/** Mirrors getContainerPorts in pkg/scheduler/framework/plugins/nodeports/node_ports.go. */
export function hostPortsOf(containers: readonly V1Container[]): readonly HostPort[] {
  const ports = containers.flatMap((container) => container.ports ?? []);
  return ports.flatMap(({ hostIP = "", protocol = "TCP", hostPort = 0 }) =>
    hostPort > 0 ? [{ ip: hostIP === "" ? ANY_IP : hostIP, protocolPort: `${protocol}/${hostPort}` }] : [],
  );
}

/** The host ports that the pods of one node use. Mirrors HostPortInfo in pkg/scheduler/framework/types.go. */
export class HostPortInfo {
  /** `TCP/80` -> ip -> the number of containers with it */
  readonly #used = new Map<string, Map<string, number>>();

  /** @param sign -1 removes a port that was added */
  add({ ip, protocolPort }: HostPort, sign: 1 | -1 = 1): void {
    const ips = this.#used.get(protocolPort) ?? new Map<string, number>();
    const count = (ips.get(ip) ?? 0) + sign;
    if (count > 0) ips.set(ip, count);
    else ips.delete(ip);
    if (ips.size > 0) this.#used.set(protocolPort, ips);
    else this.#used.delete(protocolPort);
  }

  /** A wildcard address takes the port on all addresses. Mirrors CheckConflict. */
  hasConflict({ ip, protocolPort }: HostPort): boolean {
    const ips = this.#used.get(protocolPort);
    return ips !== undefined && (ip === ANY_IP || ips.has(ANY_IP) || ips.has(ip));
  }
}
