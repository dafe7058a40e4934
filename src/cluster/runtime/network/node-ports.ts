import { isLoopback } from "../../../util/net/local-address.js";
import type { RuleTable, ServiceRule } from "../../netfilter/rules.js";
import type { NetworkNamespace } from "../../shell/process/network-namespace.js";
import type { MachinePort } from "./machine-listener.js";

const LOOPBACK = "127.0.0.1";

/**
 * The ports of this machine for the node ports that a node does not drop. With externalTrafficPolicy Local, only nodes
 * with an endpoint open them, as a load balancer would choose.
 * @param ip the node's own address
 */
export function nodePorts({ rules }: RuleTable, ip: string): readonly MachinePort[] {
  const isOpen = ({ ip: of, from, verdict }: ServiceRule) =>
    of === undefined && from === undefined && verdict.kind !== "drop";
  return rules.filter(isOpen).map(({ protocol, port, address, service }) => {
    return { protocol, ip: LOOPBACK, port, to: { ip, port }, purpose: `${address} of ${service}` };
  });
}

/** The ports of this machine for listeners in the node's network, such as pods with `hostNetwork`. */
export function listenerPorts({ ports, ip = LOOPBACK }: NetworkNamespace): readonly MachinePort[] {
  return (["tcp", "udp"] as const).flatMap((protocol) => {
    return ports.bound(protocol).flatMap((bound) => {
      const isAny = bound.ip === "0.0.0.0";
      if (!isAny && !isLoopback(bound.ip)) return [];
      const { port } = bound;
      const to = { ip: isAny ? ip : bound.ip, port };
      return [{ protocol, ip: isAny ? LOOPBACK : bound.ip, port, to, purpose: "listener of a pod with hostNetwork" }];
    });
  });
}
