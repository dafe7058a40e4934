import { isIP } from "node:net";
import { networkInterfaces } from "node:os";

/** An address that always means this machine, whatever a name server answers: `127.0.0.0/8`, `::1`, `localhost`. */
export function isLoopback(host: string): boolean {
  if (isIP(host) === 4) return host.startsWith("127.");
  return host === "::1" || host === "localhost";
}

/** An address of this machine: loopback, or one of its interfaces. Traffic to it never leaves the machine. */
export function isLocalAddress(host: string, interfaces?: ReturnType<typeof networkInterfaces>): boolean {
  if (isLoopback(host)) return true;
  // Called only if needed, because it takes as long as a whole request.
  return Object.values(interfaces ?? networkInterfaces()).some((all) => all?.some(({ address }) => address === host));
}
