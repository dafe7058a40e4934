import { isIP, isIPv4 } from "node:net";
import type { Answer, RecordType } from "dns-packet";
import { NetError } from "../../../util/net/net-error.js";
import type { Self } from "../process/process.js";
import { namesToTry, readResolvConf } from "./resolv-conf.js";

const DNS_PORT = 53;

/**
 * Looks up the IPv4 addresses of a name, as getaddrinfo does in a container: /etc/hosts first, then the name servers.
 * @returns an empty list if the name is unknown
 * @throws the signal's reason
 */
export async function lookUpHost(self: Self, host: string, signal = self.signal): Promise<readonly string[]> {
  signal.throwIfAborted();
  if (isIP(host) !== 0) return [host];
  const known = fromHostsFile(self, host);
  if (known.length > 0) return known;
  const found = await search(self, host, "A", {}, signal);
  return found.answers.flatMap((one) => (one.type === "A" ? [one.data] : []));
}

/** Mirrors the `files` service of nsswitch.conf. */
function fromHostsFile({ machine }: Self, host: string): readonly string[] {
  const path = "/etc/hosts";
  const text = machine.fs.exists(path) ? machine.fs.readFile(path).toString() : "";
  const wanted = host.toLowerCase().replace(/\.$/, "");
  const found = text.split("\n").flatMap((line) => {
    const [ip = "", ...names] = line.replace(/#.*/, "").trim().split(/\s+/);
    return isIPv4(ip) && names.some((name) => name.toLowerCase() === wanted) ? [ip] : [];
  });
  if (found.length > 0) return [...new Set(found)];
  // As systemd's myhostname: images without a hosts file know themselves.
  return wanted === "localhost" ? ["127.0.0.1"] : [];
}

/** The name servers' answer about a name. */
export interface SearchResult {
  /** the last name that was found, with its search domain */
  readonly name: string;
  /** `NOERROR`, `NXDOMAIN`, `SERVFAIL`; undefined: no server answered */
  readonly rcode: string | undefined;
  /** the records of the requested type, and the CNAMEs that lead to them */
  readonly answers: readonly Answer[];
}

export interface SearchOptions {
  /** instead of those of resolv.conf */
  readonly nameservers?: readonly string[];
}

/**
 * Asks for a name with each of its search domains, until one has records of the type.
 * Mirrors res_search of glibc. @throws the signal's reason
 */
export async function search(
  self: Self,
  name: string,
  type: RecordType,
  options: SearchOptions,
  signal: AbortSignal,
): Promise<SearchResult> {
  let result: SearchResult = { name, rcode: undefined, answers: [] };
  for (const candidate of namesToTry(name, readResolvConf(self))) {
    result = await ask(self, candidate, type, options, signal);
    if (result.answers.some((one) => one.type === type)) return result;
    // No server answers, so the other domains would wait as long.
    if (result.rcode === undefined) return result;
  }
  return result;
}

/** Asks the name servers in turn about one name. @throws the signal's reason */
export async function ask(
  self: Self,
  name: string,
  type: RecordType,
  { nameservers }: SearchOptions,
  signal: AbortSignal,
): Promise<SearchResult> {
  // Most programs only look up addresses and names of /etc/hosts.
  const { askNameServer } = await import("./dns-client.js");
  const conf = readResolvConf(self);
  let rcode: string | undefined;
  for (let attempt = 0; attempt < conf.attempts; attempt++) {
    for (const ip of nameservers ?? conf.nameservers) {
      try {
        const query = { name, type, timeoutMs: conf.timeoutMs };
        const answer = await askNameServer(self, { ip, port: DNS_PORT }, query, signal);
        if (answer === undefined) continue;
        rcode = answer.rcode;
        // Another server may be able to answer.
        if (rcode === "SERVFAIL") continue;
        return { name, rcode, answers: answer.answers };
      } catch (error) {
        if (!(error instanceof NetError)) throw error;
      }
    }
    if (rcode !== undefined) break;
  }
  return { name, rcode, answers: [] };
}

/** The name of an address for PTR queries: `4.0.244.10.in-addr.arpa`. */
export function reverseName(ip: string): string {
  return `${ip.split(".").reverse().join(".")}.in-addr.arpa`;
}
