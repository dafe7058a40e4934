/**
 * The rules of a node's kernel for the addresses of Services. kube-proxy writes them, the network of the runtime applies
 * them. Upstream these are tables of iptables.
 */

export type NetProtocol = "tcp" | "udp";

/** The kind of address that a rule is about, for people. */
export type RuleAddress = "cluster IP" | "node port" | "external IP" | "load balancer" | "health check";

/** What happens to a packet. */
export type Verdict =
  | {
      /** it goes to one of the endpoints */
      readonly kind: "dnat";
      /** the chain that chooses: `KUBE-SVC-...` for all endpoints, `KUBE-SVL-...` for those of this node */
      readonly chain: string;
      /** `10.244.1.3:8080`, in order */
      readonly endpoints: readonly string[];
      /** it gets the node's own address as its sender */
      readonly masquerade?: true;
      /** how long a client stays with its endpoint: session affinity ClientIP */
      readonly affinitySeconds?: number;
      /** the endpoints are servers of the control plane, at the loopback address of this machine */
      readonly isControlPlane?: true;
    }
  /** a program of the node listens there; `endpoint` is where on this machine: `127.0.0.1:40000` */
  | { readonly kind: "listener"; readonly endpoint: string; readonly why: string }
  /** the client's connection is refused at once */
  | { readonly kind: "reject"; readonly why: string }
  /** the client waits */
  | { readonly kind: "drop"; readonly why: string };

/** A rule for the packets to one address and port. */
export interface ServiceRule {
  /** `default/web:http` */
  readonly service: string;
  readonly protocol: NetProtocol;
  readonly address: RuleAddress;
  /** absent: any address of the node itself */
  readonly ip?: string;
  readonly port: number;
  /** only what these send; absent: everybody */
  readonly from?: "pods" | "node";
  readonly verdict: Verdict;
}

/** All rules of a node. The first one that fits decides. */
export interface RuleTable {
  readonly rules: readonly ServiceRule[];
}

export const NO_RULES: RuleTable = { rules: [] };

/** The key of the packets that a rule can match; without an address: any of the node. */
export function ruleKey({ protocol, ip = "", port }: Pick<ServiceRule, "protocol" | "ip" | "port">): string {
  return `${protocol} ${ip}:${port}`;
}
