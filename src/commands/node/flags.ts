import { isIP } from "node:net";
import { InvalidArgumentError } from "commander";
import { nanoValue } from "../../apimachinery/quantity.js";

/** Mirrors --cluster-dns, which takes a list with commas. */
export function parseAddresses(text: string): string[] {
  const addresses = text.split(",").flatMap((one) => (one.trim() === "" ? [] : [one.trim()]));
  const wrong = addresses.find((address) => isIP(address) === 0);
  if (wrong === undefined) return addresses;
  throw new InvalidArgumentError(
    `${JSON.stringify(wrong)} is not an IP address; expected for example 10.96.0.10,1.1.1.1.`,
  );
}

export function parseDomain(text: string): string {
  if (text === "" || /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(text))
    return text;
  throw new InvalidArgumentError("expected a domain in lower case, for example cluster.local.");
}

const NANOS_PER_UNIT = 1_000_000_000n;

/** Bytes of `10Mi`, the form of the kubelet's containerLogMaxSize. */
export function parseLogSize(text: string): number {
  const nanos = nanoValue(text);
  if (nanos !== undefined && nanos % NANOS_PER_UNIT === 0n) return Number(nanos / NANOS_PER_UNIT);
  throw new InvalidArgumentError("expected a number of bytes such as 10Mi or 500k; -1: logs are not rotated.");
}

/** Mirrors NewContainerLogManager, which refuses fewer. */
export function parseLogFiles(text: string): number {
  const count = Number(text);
  if (/^\d{1,6}$/.test(text) && count >= 2) return count;
  throw new InvalidArgumentError("expected a number of files, at least 2: the one being written, and an old one.");
}
