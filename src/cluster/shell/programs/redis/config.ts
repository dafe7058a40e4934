import type { Store, Turn } from "./database.js";
import { MAX_BULK_BYTES } from "./resp.js";

/** The release whose behaviour is shown, unless the image names another. */
export const DEFAULT_VERSION = "7.2.4";
const UNITS: Readonly<Record<string, number>> = { k: 1000, kb: 1024, m: 1e6, mb: 1024 ** 2, g: 1e9, gb: 1024 ** 3 };
const POLICIES =
  "volatile-lru volatile-lfu volatile-random volatile-ttl allkeys-lru allkeys-lfu allkeys-random noeviction";

/** Redis' settings by name. */
export type Config = Record<string, string>;

/** The settings that hold a password; "" for none. */
const PASSWORDS = /^(requirepass|masterauth)$/;

export interface Server {
  /** its release */
  readonly version: string;
  readonly store: Store;
  readonly config: Config;
  readonly facts: {
    pid: number;
    file: string;
    startedMs: number;
    clients: number;
    connections: number;
    commands: number;
  };
  readonly turn: Turn;
  shutDown(): void;
}

export function defaultConfig(): Config {
  const limits = { maxmemory: "0", "maxmemory-policy": "noeviction", "proto-max-bulk-len": String(MAX_BULK_BYTES) };
  return { port: "6379", ...limits, requirepass: "", masterauth: "", appendonly: "no", save: "", databases: "16" };
}

/** Changes a setting of a running server. @returns the problem */
export function changeSetting(config: Config, name: string, value: string): string | undefined {
  const [, digits, unit = ""] = /^(\d{1,12})([kmg]?b?)$/i.exec(value) ?? [];
  if (name === "maxmemory") {
    if (digits === undefined) return "argument must be a memory value";
    config[name] = String(Number(digits) * (UNITS[unit.toLowerCase()] ?? 1));
  } else if (name === "maxmemory-policy") {
    if (!POLICIES.split(" ").includes(value))
      return `argument(s) must be one of the following: ${POLICIES.replaceAll(" ", ", ")}`;
    config[name] = value;
  } else if (PASSWORDS.test(name)) config[name] = value;
  else return "can't set immutable config";
  return undefined;
}

/** Settings without which a server would not do what its owner relies on. */
const NEEDED = /^(cluster-enabled|include|loadmodule|aclfile|tls-\w+) (?!no)/;

/** Applies a line of redis.conf. @returns the problem; a text that begins with `ignored` for what has no effect */
export function applyLine(config: Config, name: string, value: string): string | undefined {
  if (PASSWORDS.test(name)) return changeSetting(config, name, value);
  if (!/^[a-z][a-z-]+$/.test(name) || value === "") return "Bad directive or wrong number of arguments";
  if (NEEDED.test(`${name} ${value}`)) return "kubelab's redis cannot do it";
  if (name.startsWith("maxmemory")) return changeSetting(config, name, value);
  if (/^(replicaof|slaveof) (?!no one)/i.test(`${name} ${value}`))
    return "ignored: kubelab's redis does not replicate, so this server is a master without the other's keys";
  if (name !== "port")
    return /^(save \d|appendonly yes)/.test(`${name} ${value}`) ? "ignored: nothing is saved" : undefined;
  config["port"] = value;
  return /^\d{1,5}$/.test(value) && Number(value) < 65_536
    ? undefined
    : "argument must be between 0 and 65535 inclusive";
}

/** INFO's text. @param wanted names of sections; none: all. Mirrors redis' server.c (genRedisInfoString). */
export function infoText({ version, store, config, facts }: Server, wanted: readonly string[]): string {
  const uptime = Math.floor((store.clock.now() - facts.startedMs) / 1000);
  const counts = `total_connections_received:${facts.connections}\ntotal_commands_processed:${facts.commands}`;
  const sections = [
    `Server\nredis_version:${version}\nredis_mode:standalone\nprocess_id:${facts.pid}\ntcp_port:${config["port"]}`,
    `\nuptime_in_seconds:${uptime}\nconfig_file:${facts.file}`,
    `\n\nClients\nconnected_clients:${facts.clients}`,
    `\n\nMemory\nused_memory:${store.usedBytes}\nused_memory_human:${(store.usedBytes / 1024).toFixed(2)}K`,
    `\nmaxmemory:${config["maxmemory"]}\nmaxmemory_policy:${config["maxmemory-policy"]}`,
    "\n\nPersistence\nloading:0\naof_enabled:0",
    `\n\nStats\n${counts}\nexpired_keys:${store.expiredKeys}\nevicted_keys:${store.evictedKeys}`,
    "\n\nReplication\nrole:master\nconnected_slaves:0\n\nKeyspace",
    ...store.databases.map(({ entries, volatile }, index) =>
      entries.size === 0 ? "" : `\ndb${index}:keys=${entries.size},expires=${volatile.size},avg_ttl=0`,
    ),
  ];
  const names = wanted.map((name) => name.toLowerCase());
  const isAll = names.length === 0 || names.some((name) => /^(all|default|everything)$/.test(name));
  const parts = sections.join("").split("\n\n");
  const shown = parts.filter((part) => isAll || names.includes(part.split("\n", 1)[0]?.toLowerCase() ?? ""));
  return shown.map((part) => `# ${part.replaceAll("\n", "\r\n")}\r\n`).join("\r\n");
}
