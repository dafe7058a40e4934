import type { Clock } from "../../../util/clock.js";
import type { Random } from "../../../util/random.js";
import { NO_RULES, type RuleTable, ruleKey, type ServiceRule, type Verdict } from "../../netfilter/rules.js";
import type { SocketAddress } from "../../shell/process/ports.js";

/** A packet as the rules see it. */
export interface NatPacket {
  readonly protocol: "tcp" | "udp";
  readonly from: SocketAddress;
  readonly to: SocketAddress;
  /** its sender; `outside`: neither a pod nor this node */
  readonly sender: "pods" | "node" | "outside";
  /** whether it is for the node itself */
  readonly isForNode: boolean;
}

/** The rules' decision about a packet, and the reason. */
export interface NatDecision {
  readonly rule: ServiceRule;
  readonly verdict: Exclude<Verdict, { readonly kind: "dnat" }> | ChosenEndpoint;
}

export interface ChosenEndpoint {
  readonly kind: "dnat";
  readonly to: SocketAddress;
  /** its sender becomes the node */
  readonly isMasqueraded: boolean;
  readonly isControlPlane: boolean;
  /** why this endpoint: `one of 3, by chance` */
  readonly why: string;
}

/** The number of clients whose endpoints are remembered. Beyond it, the oldest is forgotten. */
const MAX_CLIENTS = 10_000;

interface Affinity {
  readonly endpoint: string;
  readonly atMs: number;
}

/** The nat table of a node: applies the rules that kube-proxy writes, as iptables does in the kernel. */
export class ServiceNat {
  #table: RuleTable = NO_RULES;
  #byKey = new Map<string, ServiceRule[]>();
  /** the last endpoint, by service and client */
  readonly #affinity = new Map<string, Affinity>();

  constructor(readonly deps: { readonly clock: Clock; readonly random: Random }) {}

  get table(): RuleTable {
    return this.#table;
  }

  /** Replaces all rules, as iptables-restore does. */
  restore(table: RuleTable): void {
    this.#table = table;
    this.#byKey = new Map();
    for (const rule of table.rules) {
      const key = ruleKey(rule);
      const rules = this.#byKey.get(key);
      if (rules === undefined) this.#byKey.set(key, [rule]);
      else rules.push(rule);
    }
  }

  /** @returns undefined if no rule matches the packet */
  decide(packet: NatPacket): NatDecision | undefined {
    const rule = this.#find(packet);
    if (rule === undefined) return undefined;
    const { verdict } = rule;
    if (verdict.kind !== "dnat") return { rule, verdict };
    const { endpoint, why } = this.#choose(rule, verdict, packet.from.ip);
    const to = parseEndpoint(endpoint);
    // An endpoint that calls its own service would otherwise answer itself directly, bypassing the rules.
    const isMasqueraded = verdict.masquerade === true || to.ip === packet.from.ip;
    return {
      rule,
      verdict: { kind: "dnat", to, isMasqueraded, isControlPlane: verdict.isControlPlane === true, why },
    };
  }

  #find({ protocol, to, sender, isForNode }: NatPacket): ServiceRule | undefined {
    const exact = this.#byKey.get(ruleKey({ protocol, ...to })) ?? [];
    const ofNode = isForNode ? (this.#byKey.get(ruleKey({ protocol, port: to.port })) ?? []) : [];
    return [...exact, ...ofNode].find(({ from }) => from === undefined || from === sender);
  }

  #choose(
    { service, protocol }: ServiceRule,
    { endpoints, affinitySeconds, chain }: Verdict & { readonly kind: "dnat" },
    client: string,
  ): { readonly endpoint: string; readonly why: string } {
    const { clock, random } = this.deps;
    const key = `${service} ${protocol} ${client}`;
    const nowMs = clock.now();
    if (affinitySeconds !== undefined) {
      const last = this.#affinity.get(key);
      const isFresh = last !== undefined && nowMs - last.atMs < affinitySeconds * 1_000;
      if (isFresh && endpoints.includes(last.endpoint)) {
        this.#remember(key, { endpoint: last.endpoint, atMs: nowMs });
        return { endpoint: last.endpoint, why: `${chain}: ${client} was there before (session affinity ClientIP)` };
      }
    }
    const endpoint = endpoints[Math.floor(random.float() * endpoints.length)] ?? endpoints[0] ?? "";
    if (affinitySeconds !== undefined) this.#remember(key, { endpoint, atMs: nowMs });
    const why = endpoints.length === 1 ? "the only endpoint" : `one of ${endpoints.length} endpoints, by chance`;
    return { endpoint, why: `${chain}: ${why}` };
  }

  #remember(key: string, affinity: Affinity): void {
    this.#affinity.delete(key);
    this.#affinity.set(key, affinity);
    if (this.#affinity.size <= MAX_CLIENTS) return;
    const [oldest] = this.#affinity.keys();
    if (oldest !== undefined) this.#affinity.delete(oldest);
  }
}

/** `10.244.1.3:80` */
export function parseEndpoint(endpoint: string): SocketAddress {
  const at = endpoint.lastIndexOf(":");
  return { ip: endpoint.slice(0, at), port: Number(endpoint.slice(at + 1)) };
}
