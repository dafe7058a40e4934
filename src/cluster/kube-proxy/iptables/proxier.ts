import { createHash } from "node:crypto";
import { defined } from "../../../util/defined.js";
import type { RuleAddress, RuleTable, ServiceRule, Verdict } from "../../netfilter/rules.js";
import type { Endpoint, EndpointsMap } from "../endpoint-slice-cache.js";
import { type ServiceMap, type ServicePort, servicePortName } from "../service.js";
import { type CategorizedEndpoints, categorizeEndpoints, type TopologyOptions } from "../topology.js";

/**
 * The Services whose endpoints are servers of the control plane. In a cluster of kubelab they listen on this machine's
 * loopback address, which the API server accepts from no other client.
 */
const CONTROL_PLANE_SERVICES = ["default/kubernetes", "kube-system/kube-dns", "kube-system/kubelab-name-server"];

/**
 * The rules of a node for all Services.
 *
 * Pure. Mirrors syncProxyRules in pkg/proxy/iptables/proxier.go. Differs: one rule replaces upstream's chains of an
 * endpoint, of a balancing step and of a mark; source ranges of load balancers are ignored.
 */
export function proxyRules(services: ServiceMap, endpoints: EndpointsMap, options: TopologyOptions): RuleTable {
  const sorted = [...services].sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    rules: sorted.flatMap(([key, port]) => {
      return rulesOf(port, categorizeEndpoints(endpoints.get(key) ?? [], port, options));
    }),
  };
}

function rulesOf(port: ServicePort, endpoints: CategorizedEndpoints): ServiceRule[] {
  const name = servicePortName(port.service, port.port);
  const protocol = port.protocol === "TCP" ? "tcp" : "udp";
  const rule = (address: RuleAddress, to: Pick<ServiceRule, "ip" | "port">, one: Verdict, from?: ServiceRule["from"]) =>
    ({
      service: name,
      protocol,
      address,
      ...to,
      ...defined({ from }),
      verdict: one,
    }) as const;
  const verdicts = new Verdicts(port, name, endpoints);
  const external = (address: RuleAddress, to: Pick<ServiceRule, "ip" | "port">): ServiceRule[] => {
    if (!endpoints.hasAny) return [rule(address, to, verdicts.none)];
    if (!port.isExternalLocal) return [rule(address, to, verdicts.cluster(true))];
    return [
      // Pods and the node itself reach any endpoint; only packets from outside must stay on the node.
      rule(address, to, verdicts.cluster(false), "pods"),
      rule(address, to, verdicts.cluster(true), "node"),
      rule(address, to, verdicts.local),
    ];
  };
  const atService = (ip: string) => ({ ip, port: port.number });
  const internal = !endpoints.hasAny ? verdicts.none : port.isInternalLocal ? verdicts.local : verdicts.cluster(false);
  return [
    rule("cluster IP", atService(port.clusterIp), internal),
    ...port.externalIps.flatMap((ip) => external("external IP", atService(ip))),
    ...port.loadBalancerIps.flatMap((ip) => external("load balancer", atService(ip))),
    ...(port.nodePort === undefined ? [] : external("node port", { port: port.nodePort })),
  ];
}

/** The possible ends of one port's rules. */
class Verdicts {
  constructor(
    readonly port: ServicePort,
    readonly name: string,
    readonly endpoints: CategorizedEndpoints,
  ) {}

  get none(): Verdict {
    return { kind: "reject", why: `${this.name} has no endpoints` };
  }

  get local(): Verdict {
    const { local } = this.endpoints;
    if (local.length === 0) return { kind: "drop", why: `${this.name} has no local endpoints` };
    return this.#dnat("SVL", local, false);
  }

  /** @param isMasqueraded the answer must return through this node, which reverts the address changes of its rules */
  cluster(isMasqueraded: boolean): Verdict {
    const { cluster } = this.endpoints;
    return cluster.length === 0 ? this.none : this.#dnat("SVC", cluster, isMasqueraded);
  }

  #dnat(kind: "SVC" | "SVL", endpoints: readonly Endpoint[], isMasqueraded: boolean): Verdict {
    const { service, protocol, stickySeconds } = this.port;
    const isControlPlane =
      CONTROL_PLANE_SERVICES.includes(service) && endpoints.every(({ ip }) => ip.startsWith("127."));
    return {
      kind: "dnat",
      chain: serviceChain(kind, this.name, protocol),
      endpoints: endpoints.map(({ ip, port }) => `${ip}:${port}`),
      ...(isMasqueraded ? { masquerade: true } : {}),
      ...(isControlPlane ? { isControlPlane: true } : {}),
      ...defined({ affinitySeconds: stickySeconds }),
    };
  }
}

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const HASH_LENGTH = 16;

/**
 * The chain of a Service's port for all endpoints: `KUBE-SVC-` and a hash; for the endpoints of the node: `KUBE-SVL-`.
 * Mirrors servicePortPolicyClusterChain and servicePortPolicyLocalChainName in pkg/proxy/iptables/proxier.go.
 * @param name `default/web:http`
 */
export function serviceChain(kind: "SVC" | "SVL", name: string, protocol: string): string {
  const hash = createHash("sha256").update(`${name}${protocol.toLowerCase()}`).digest();
  return `KUBE-${kind}-${base32(hash).slice(0, HASH_LENGTH)}`;
}

/** RFC 4648, without padding. */
function base32(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  return (bits.match(/.{5}/g) ?? []).map((five) => ALPHABET[Number.parseInt(five, 2)]).join("");
}
