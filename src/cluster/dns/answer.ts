import { isIP } from "node:net";
import type { Answer as DnsRecord, Question } from "dns-packet";
import type { Random } from "../../util/random.js";
import type { ClusterView } from "./cluster-view.js";
import { type Found, lookUp, lookUpReverse, type Target } from "./lookup.js";

/** kubeadm's Corefile sets it; the plugin's own default is 5 s. */
const TTL_SECONDS = 30;
/** The limit of aliases, beyond which they are a loop. */
const MAX_CNAMES = 8;
const REVERSE_ZONES = ["in-addr.arpa", "ip6.arpa"];
const SCHEMA_VERSION = "1.1.0";
const SCHEMA_TTL_SECONDS = 28_800;
const SOA_TIMES = { refresh: 7_200, retry: 1_800, expire: 86_400, minimum: TTL_SECONDS };

export type Rcode = "NOERROR" | "SERVFAIL" | "NXDOMAIN";

export interface DnsAnswer {
  readonly rcode: Rcode;
  readonly isAuthoritative: boolean;
  readonly answers: readonly DnsRecord[];
  readonly authorities: readonly DnsRecord[];
  readonly additionals: readonly DnsRecord[];
  /** for the trace */
  readonly why: string;
}

export interface AnswerDeps {
  readonly view: ClusterView;
  /** `cluster.local` */
  readonly zone: string;
  readonly random: Random;
  /** Unix seconds: the serial number of the zone */
  readonly serial: number;
}

interface Records {
  readonly outcome: Found["outcome"];
  readonly answers: readonly DnsRecord[];
  readonly additionals?: readonly DnsRecord[];
  readonly why: string;
}

/**
 * Answers one question as CoreDNS does with kubeadm's Corefile: the plugins kubernetes and loadbalance.
 *
 * Mirrors ServeDNS in CoreDNS, plugin/kubernetes/handler.go. Differs: there is no name server outside the cluster to forward to, so
 * all other names fail with SERVFAIL, and addresses that the cluster does not know have no name.
 */
export function answerQuestion(deps: AnswerDeps, question: Question): DnsAnswer {
  const name = question.name.toLowerCase().replace(/\.$/, "");
  const zone = [deps.zone, ...REVERSE_ZONES].find((one) => name === one || name.endsWith(`.${one}`));
  if (zone === undefined) {
    const why = `it is outside ${deps.zone}, and there is no other name server to forward to`;
    return { rcode: "SERVFAIL", isAuthoritative: false, answers: [], authorities: [], additionals: [], why };
  }
  const { outcome, answers, additionals = [], why } = recordsFor(deps, name, zone, question);
  return {
    rcode: outcome === "found" ? "NOERROR" : "NXDOMAIN",
    isAuthoritative: true,
    answers: shuffled(answers, deps.random),
    authorities: answers.length === 0 ? [soa(zone, deps.serial)] : [],
    additionals,
    why,
  };
}

function recordsFor(deps: AnswerDeps, name: string, zone: string, question: Question): Records {
  const { view } = deps;
  if (zone !== deps.zone) {
    const { outcome, targets, why } = lookUpReverse(view, name, deps.zone);
    const answers = question.type === "PTR" ? targets.map(({ host }) => record("PTR", question.name, host)) : [];
    return { outcome, answers, why };
  }
  switch (question.type) {
    case "A":
    case "AAAA":
      return addresses(deps, name, question.name, question.type, []);
    case "CNAME": {
      const { outcome, targets, why } = lookUp(view, name, zone);
      const names = targets.filter(({ host }) => isIP(host) === 0);
      return { outcome, answers: names.map(({ host }) => record("CNAME", question.name, host)), why };
    }
    case "SRV":
      return services(lookUp(view, name, zone), question.name);
    case "TXT":
      return textOf(name, zone, question.name);
    case "SOA":
      if (name === zone) return { outcome: "found", answers: [soa(zone, deps.serial)], why: "it is the zone" };
      break;
    case "NS":
      if (name === zone) return nameServer(view, zone, question.name);
      break;
    default:
  }
  // Whether the name exists does not depend on the type.
  const { outcome, why } = lookUp(view, name, zone);
  return { outcome, answers: [], why };
}

/** Mirrors A and AAAA in CoreDNS, plugin/backend_lookup.go. @param path the names that led here */
function addresses(
  deps: AnswerDeps,
  name: string,
  shown: string,
  type: "A" | "AAAA",
  path: readonly string[],
): Records {
  const { view, zone } = deps;
  const { outcome, targets, why } =
    name === `ns.dns.${zone}` ? nameServerTargets(view, zone) : lookUp(view, name, zone);
  const answers: DnsRecord[] = [];
  const seen = new Set<string>();
  for (const { host } of targets) {
    const family = isIP(host);
    if (family === 0) answers.push(...alias(deps, host, shown, type, [...path, name]));
    else if ((family === 4) === (type === "A") && !seen.has(host)) {
      seen.add(host);
      answers.push(record(type, shown, host));
    }
  }
  return { outcome, answers, why };
}

/** An external name, and its target in the cluster. */
function alias(
  deps: AnswerDeps,
  host: string,
  shown: string,
  type: "A" | "AAAA",
  path: readonly string[],
): readonly DnsRecord[] {
  const target = host.toLowerCase().replace(/\.$/, "");
  if (path.includes(target) || path.length > MAX_CNAMES) return [];
  const cname = record("CNAME", shown, host.replace(/\.$/, ""));
  if (target !== deps.zone && !target.endsWith(`.${deps.zone}`)) return [cname];
  const { answers } = addresses(deps, target, target, type, path);
  return answers.length === 0 ? [] : [cname, ...answers];
}

/** Mirrors SRV in CoreDNS, plugin/backend_lookup.go: all have one priority, and share a weight of 100. */
function services({ outcome, targets, why }: Found, shown: string): Records {
  const weight = Math.max(1, Math.floor(100 / Math.max(1, targets.length)));
  const answers = new Map<string, DnsRecord>();
  const additionals = new Map<string, DnsRecord>();
  for (const { host, port, name } of targets) {
    const family = isIP(host);
    // A target without a port, or an external name.
    if (port === undefined || family === 0) continue;
    const data = { priority: 0, weight, port, target: name };
    answers.set(`${name} ${port}`, { type: "SRV", class: "IN", name: shown, ttl: TTL_SECONDS, data });
    additionals.set(`${name} ${host}`, record(family === 4 ? "A" : "AAAA", name, host));
  }
  return { outcome, answers: [...answers.values()], additionals: [...additionals.values()], why };
}

/** `dns-version` is the only text. */
function textOf(name: string, zone: string, shown: string): Records {
  if (name !== `dns-version.${zone}`) return { outcome: "found", answers: [], why: "the cluster has no texts" };
  const answer: DnsRecord = { type: "TXT", class: "IN", name: shown, ttl: SCHEMA_TTL_SECONDS, data: SCHEMA_VERSION };
  return { outcome: "found", answers: [answer], why: "the version of Kubernetes' DNS specification" };
}

const NAME_SERVER = { namespace: "kube-system", name: "kube-dns" };

function nameServerTargets(view: ClusterView, zone: string): Found {
  const ips = view.service(NAME_SERVER.namespace, NAME_SERVER.name)?.spec?.clusterIPs ?? [];
  const name = `${NAME_SERVER.name}.${NAME_SERVER.namespace}.svc.${zone}`;
  const targets: Target[] = ips.map((host) => ({ host, name }));
  return { outcome: "found", targets, why: "it is the name server" };
}

/** Mirrors nsAddrs in CoreDNS, plugin/kubernetes/ns.go. */
function nameServer(view: ClusterView, zone: string, shown: string): Records {
  const { targets, why } = nameServerTargets(view, zone);
  const target = `${NAME_SERVER.name}.${NAME_SERVER.namespace}.svc.${zone}`;
  const additionals = targets.map(({ host, name }) => record(isIP(host) === 6 ? "AAAA" : "A", name, host));
  return { outcome: "found", answers: [record("NS", shown, target)], additionals, why };
}

function record(type: "A" | "AAAA" | "CNAME" | "PTR" | "NS", name: string, data: string): DnsRecord {
  return { type, class: "IN", name, ttl: TTL_SECONDS, data };
}

/** Mirrors newSOA in CoreDNS, plugin/backend_lookup.go. */
function soa(zone: string, serial: number): DnsRecord {
  const data = { mname: `ns.dns.${zone}`, rname: `hostmaster.${zone}`, serial, ...SOA_TIMES };
  return { type: "SOA", class: "IN", name: zone, ttl: TTL_SECONDS, data };
}

/** Addresses in random order, after the aliases that lead to them. Mirrors roundRobin in CoreDNS, plugin/loadbalance. */
function shuffled(records: readonly DnsRecord[], random: Random): DnsRecord[] {
  const isAddress = ({ type }: DnsRecord) => type === "A" || type === "AAAA";
  const addresses = records.filter(isAddress);
  for (let i = addresses.length - 1; i > 0; i--) {
    const j = Math.floor(random.float() * (i + 1));
    [addresses[i], addresses[j]] = [addresses[j] as DnsRecord, addresses[i] as DnsRecord];
  }
  return [...records.filter((one) => !isAddress(one)), ...addresses];
}
