import { isIP, isIPv4 } from "node:net";
import type { Self } from "../process/process.js";

/**
 * Looks up the IPv4 addresses of a name, as getaddrinfo does in a container: /etc/hosts first.
 * @returns none if the name is not known
 * @throws the signal's reason
 */
export async function lookUpHost(self: Self, host: string, signal = self.signal): Promise<readonly string[]> {
  signal.throwIfAborted();
  if (host === "::1") return [host];
  if (isIP(host) !== 0) return [host];
  return fromHostsFile(self, host);
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
