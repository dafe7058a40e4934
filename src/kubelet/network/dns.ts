import { readFile } from "node:fs/promises";
import { isIPv6 } from "node:net";
import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import { isAtLeast } from "../../util/release/facts.js";
import { formatPod } from "../container/helpers.js";
import type { PodDns, PodDnsResult } from "../container/runtime-helper.js";
import type { PodEventRecorder } from "../events/pod-recorder.js";

/** The limits of the API: MaxDNSNameservers, MaxDNSSearchPaths, MaxDNSSearchListChars. */
const MAX_NAMESERVERS = 3;
const SEARCH_LIMITS = { legacy: { paths: 6, chars: 256 }, expanded: { paths: 32, chars: 2048 } } as const;
const MAX_SEARCH_PATH_LENGTH = 253;
/** Names with fewer than five dots are tried with the search domains first, so `web.default.svc` resolves. */
const DEFAULT_DNS_OPTIONS = ["ndots:5"];
const MAX_RESOLV_CONF_BYTES = 10 * 2 ** 20;

export interface DnsOptions {
  /** the cluster's name servers; empty: pods get the node's settings */
  readonly clusterDns: readonly string[];
  /** `cluster.local`; empty: no cluster search domains */
  readonly clusterDomain: string;
  /** the node's own settings: upstream `/etc/resolv.conf`; empty: none */
  readonly resolverConfig: string;
  readonly nodeIps: readonly string[];
  readonly kubeVersion: string;
}

interface DnsConfigSpec {
  readonly nameservers?: readonly string[] | null;
  readonly searches?: readonly string[] | null;
  readonly options?: readonly { readonly name: string; readonly value?: string | null }[] | null;
}

/**
 * The resolv.conf of a pod's containers.
 *
 * Mirrors pkg/kubelet/network/dns/dns.go (Configurer).
 * Differs: merged options keep their order, upstream's is that of a Go map; only the pod's event reports missing
 * cluster name servers.
 */
export class DnsConfigurer {
  constructor(
    readonly deps: { readonly recorder: PodEventRecorder },
    readonly options: DnsOptions,
  ) {}

  async getPodDns(pod: V1Pod): Promise<PodDnsResult> {
    let host: PodDns;
    try {
      host = await this.#hostDns();
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      const isMissing = (error as NodeJS.ErrnoException).code === "ENOENT";
      const { resolverConfig } = this.options;
      return {
        outcome: "failed",
        message: isMissing ? `open ${resolverConfig}: no such file or directory` : error.message,
      };
    }
    const base = this.#baseFor(pod, host);
    const { dnsConfig } = pod.spec;
    const dns = typeof dnsConfig === "object" && dnsConfig !== null ? append(base, dnsConfig as DnsConfigSpec) : base;
    return { outcome: "ok", dns: this.#withinLimits(pod, dns) };
  }

  /** Mirrors the policy part of GetPodDNS. */
  #baseFor(pod: V1Pod, host: PodDns): PodDns {
    const { clusterDns, clusterDomain } = this.options;
    const policy = podDnsType(pod);
    if (policy === "none") return { servers: [], searches: [], options: [] };
    if (policy === "cluster" && clusterDns.length > 0) {
      const { namespace } = pod.metadata;
      const ofCluster = [`${namespace}.svc.${clusterDomain}`, `svc.${clusterDomain}`, clusterDomain];
      const searches = clusterDomain === "" ? host.searches : distinct([...ofCluster, ...host.searches]);
      return { servers: clusterDns, searches, options: DEFAULT_DNS_OPTIONS };
    }
    if (policy === "cluster") {
      const what = 'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy.';
      const message = `pod: ${JSON.stringify(formatPod(pod))}. ${what} Falling back to "Default" policy.`;
      this.deps.recorder.event(pod, "Warning", "MissingClusterDNS", message);
    }
    return this.options.resolverConfig === "" ? this.#loopbackDns(host) : host;
  }

  /** Without settings of the node, pods get 127.0.0.1 as name server, the closest to having none. */
  #loopbackDns({ options }: PodDns): PodDns {
    const { nodeIps } = this.options;
    const servers = nodeIps.map((ip) => (isIPv6(ip) ? "::1" : "127.0.0.1"));
    return { servers: servers.length === 0 ? ["127.0.0.1"] : servers, searches: ["."], options };
  }

  async #hostDns(): Promise<PodDns> {
    const { resolverConfig } = this.options;
    if (resolverConfig === "") return { servers: [], searches: [], options: [] };
    const text = await readFile(resolverConfig);
    return parseResolvConf(text.subarray(0, MAX_RESOLV_CONF_BYTES).toString("utf8"));
  }

  /** Mirrors formDNSConfigFitsLimits: omits what exceeds the limits, and records an event. */
  #withinLimits(pod: V1Pod, { servers, searches, options }: PodDns): PodDns {
    const tell = (message: string) => this.deps.recorder.event(pod, "Warning", "DNSConfigForming", message);
    const keptServers = servers.slice(0, MAX_NAMESERVERS);
    if (keptServers.length < servers.length) {
      const applied = `the applied nameserver line is: ${keptServers.join(" ")}`;
      tell(`Nameserver limits were exceeded, some nameservers have been omitted, ${applied}`);
    }
    const keptSearches = this.#searchesWithinLimits(searches);
    if (keptSearches.length < searches.length) {
      const applied = `the applied search line is: ${keptSearches.join(" ")}`;
      tell(`Search Line limits were exceeded, some search paths have been omitted, ${applied}`);
    }
    return { servers: keptServers, searches: keptSearches, options };
  }

  #searchesWithinLimits(searches: readonly string[]): readonly string[] {
    const isExpanded = isAtLeast(this.options.kubeVersion, "1.26");
    const { paths, chars } = isExpanded ? SEARCH_LIMITS.expanded : SEARCH_LIMITS.legacy;
    const kept = searches.slice(0, paths).filter((search) => search.length <= MAX_SEARCH_PATH_LENGTH);
    while (kept.join(" ").length > chars) kept.pop();
    return kept;
  }
}

/** Mirrors getPodDNSType: an unknown policy counts as ClusterFirst. */
function podDnsType({ spec }: V1Pod): "cluster" | "host" | "none" {
  const policy = spec["dnsPolicy"];
  if (policy === "None") return "none";
  if (policy === "Default") return "host";
  // A pod in the host's network gets the node's settings, unless its policy requests the cluster's.
  return policy === "ClusterFirst" && spec.hostNetwork === true ? "host" : "cluster";
}

/** Mirrors parseResolvConf. @throws Error for a nameserver line without an address */
export function parseResolvConf(text: string): PodDns {
  const servers: string[] = [];
  let searches: string[] = [];
  let options: string[] = [];
  for (const line of text.split("\n")) {
    const [keyword = "", ...fields] = line.trim().split(/\s+/);
    if (keyword === "nameserver") {
      const [address] = fields;
      if (address === undefined) throw new Error("nameserver list is empty ");
      servers.push(address);
    }
    // The last search line counts. Trailing dots are redundant.
    if (keyword === "search") searches = fields.map((search) => (search === "." ? search : search.replace(/\.$/, "")));
    if (keyword === "options") options = fields;
  }
  return { servers, searches, options };
}

/** Mirrors appendDNSConfig and mergeDNSOptions. */
function append(base: PodDns, { nameservers, searches, options }: DnsConfigSpec): PodDns {
  const merged = new Map(
    base.options.map((option) => {
      const at = option.indexOf(":");
      return at < 0 ? [option, ""] : [option.slice(0, at), option.slice(at + 1)];
    }),
  );
  for (const { name, value } of options ?? []) merged.set(name, value ?? "");
  return {
    servers: distinct([...base.servers, ...(nameservers ?? [])]),
    searches: distinct([...base.searches, ...(searches ?? [])]),
    options: [...merged].map(([name, value]) => (value === "" ? name : `${name}:${value}`)),
  };
}

function distinct(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}
