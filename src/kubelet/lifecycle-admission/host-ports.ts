import type { V1Pod } from "../../apimachinery/api/pod.js";
import { isRestartableInitContainer } from "../status/phase.js";

/** A port of the node that a container claims. */
export interface HostPort {
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}

interface ContainerPort {
  readonly hostPort?: number;
  readonly hostIP?: string;
  readonly protocol?: string;
}

export function hostPortsOf({ spec }: V1Pod): readonly HostPort[] {
  const sidecars = (spec.initContainers ?? []).filter(isRestartableInitContainer);
  return [...(spec.containers ?? []), ...sidecars].flatMap((container) => {
    const ports = Array.isArray(container["ports"]) ? (container["ports"] as readonly ContainerPort[]) : [];
    return ports.flatMap(({ hostPort = 0, hostIP, protocol }) =>
      hostPort > 0 ? [{ ip: isUnset(hostIP) ? ANY_IP : hostIP, protocol: protocol ?? "TCP", port: hostPort }] : [],
    );
  });
}

const ANY_IP = "0.0.0.0";

/** Mirrors HostPortInfo.CheckConflict in pkg/scheduler/framework/types.go. */
export function portsConflict(a: HostPort, b: HostPort): boolean {
  if (a.port !== b.port || a.protocol !== b.protocol) return false;
  return a.ip === b.ip || a.ip === ANY_IP || b.ip === ANY_IP;
}

function isUnset(text: string | undefined): text is undefined | "" {
  return text === undefined || text === "";
}
