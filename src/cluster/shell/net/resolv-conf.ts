import type { Self } from "../process/process.js";

/** The settings of /etc/resolv.conf. Mirrors resolv.conf(5). */
export interface ResolvConf {
  readonly nameservers: readonly string[];
  readonly search: readonly string[];
  readonly ndots: number;
  readonly timeoutMs: number;
  readonly attempts: number;
}

/** glibc's limits: MAXNS, RES_MAXNDOTS, RES_MAXRETRANS, RES_MAXRETRY. */
const MAX_NAMESERVERS = 3;
const MAX_NDOTS = 15;
const MAX_TIMEOUT_S = 30;
const MAX_ATTEMPTS = 5;

export function readResolvConf({ machine }: Self): ResolvConf {
  const path = "/etc/resolv.conf";
  const text = machine.fs.exists(path) ? machine.fs.readFile(path).toString() : "";
  const nameservers: string[] = [];
  let search: string[] = [];
  const options = new Map<string, string>();
  for (const line of text.split("\n")) {
    const [keyword = "", ...fields] = line
      .replace(/[#;].*/, "")
      .trim()
      .split(/\s+/);
    if (keyword === "nameserver" && fields[0] !== undefined) nameservers.push(fields[0]);
    if (keyword === "search" || keyword === "domain") search = fields.filter((one) => one !== ".");
    if (keyword !== "options") continue;
    for (const field of fields) {
      const [name = "", value = ""] = field.split(":");
      options.set(name, value);
    }
  }
  const number = (name: string, otherwise: number, max: number) => {
    const value = options.get(name) ?? "";
    return /^\d+$/.test(value) ? Math.min(Number(value), max) : otherwise;
  };
  return {
    nameservers: nameservers.length === 0 ? ["127.0.0.1"] : nameservers.slice(0, MAX_NAMESERVERS),
    search,
    ndots: number("ndots", 1, MAX_NDOTS),
    timeoutMs: number("timeout", 5, MAX_TIMEOUT_S) * 1_000,
    attempts: Math.max(1, number("attempts", 2, MAX_ATTEMPTS)),
  };
}

/**
 * The names that are tried for a name, in order: with fewer than `ndots` dots, the search domains come first.
 * Mirrors res_search of glibc.
 */
export function namesToTry(name: string, { search, ndots }: Pick<ResolvConf, "search" | "ndots">): readonly string[] {
  if (name.endsWith(".")) return [name.slice(0, -1)];
  const dots = name.split(".").length - 1;
  const searched = search.map((domain) => `${name}.${domain}`);
  return dots >= ndots ? [name, ...searched] : [...searched, name];
}
