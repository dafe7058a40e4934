import { isIP } from "node:net";
import { networkInterfaces } from "node:os";

/** Of this machine itself, whatever a name server says: `127.0.0.0/8`, `::1`, `localhost`. */
export function isLoopback(host: string): boolean {
  if (isIP(host) === 4) return host.startsWith("127.");
  return host === "::1" || host === "localhost";
}

/** An address of this machine: loopback, or one that an interface of it has. What is sent there never leaves the machine. */
export function isOwnAddress(host: string, interfaces?: ReturnType<typeof networkInterfaces>): boolean {
  if (isLoopback(host)) return true;
  // Asked of the system only where it matters: it takes as long as a whole request.
  return Object.values(interfaces ?? networkInterfaces()).some((all) => all?.some(({ address }) => address === host));
}
