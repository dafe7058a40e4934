import { isIPv4, isIPv6 } from "node:net";
import { childrenOf, contentOf, DerError, type DerNode, isContext, latin1Of } from "./der.js";
import { contextString, sequence } from "./der-write.js";

/** Subject alternative names: the other names that a certificate is valid for. */
export interface SubjectAltNames {
  readonly dns: readonly string[];
  /** in text form: `127.0.0.1`, `::1` */
  readonly ip: readonly string[];
  readonly email: readonly string[];
  readonly uri: readonly string[];
}

export const NO_SANS: SubjectAltNames = { dns: [], ip: [], email: [], uri: [] };

/** True when there is no name of any kind. */
export function isEmptySans(sans: SubjectAltNames): boolean {
  return sans.dns.length + sans.ip.length + sans.email.length + sans.uri.length === 0;
}

/** Context tags of GeneralName (RFC 5280). */
const EMAIL = 1;
const DNS = 2;
const URI = 6;
const IP = 7;

/** The extension's value, in Go's order: DNS names, emails, addresses, URIs. */
export function encodeSans(sans: SubjectAltNames): DerNode {
  return sequence(
    ...sans.dns.map((name) => contextString(DNS, Buffer.from(name, "latin1"))),
    ...sans.email.map((address) => contextString(EMAIL, Buffer.from(address, "latin1"))),
    ...sans.ip.map((address) => contextString(IP, ipBytes(address))),
    ...sans.uri.map((uri) => contextString(URI, Buffer.from(uri, "latin1"))),
  );
}

/**
 * Names of other kinds (directory names, …) are skipped, as in Go.
 * @throws DerError
 */
export function parseSans(node: DerNode): SubjectAltNames {
  const names = childrenOf(node);
  const texts = (tag: number) => names.filter((name) => isContext(name, tag)).map(latin1Of);
  return {
    dns: texts(DNS),
    email: texts(EMAIL),
    uri: texts(URI),
    ip: names.filter((name) => isContext(name, IP)).map((name) => ipText(name)),
  };
}

function ipText(name: DerNode): string {
  const bytes = contentOf(name);
  if (bytes.length === 4) return [...bytes].join(".");
  if (bytes.length !== 16) throw new DerError(`x509: cannot parse IP address of length ${bytes.length}`, 0);
  const groups = Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(i * 2).toString(16));
  return shortIpv6(groups.join(":"));
}

/** The form of RFC 5952, in which URLs have their hosts. */
function shortIpv6(address: string): string {
  return new URL(`http://[${address}]`).hostname.slice(1, -1);
}

/** @throws TypeError for a text that is not an IP address: the caller has checked it */
function ipBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split(".").map(Number));
  if (!isIPv6(address)) throw new TypeError(`not an IP address: ${address}`);
  const [head = "", tail] = shortIpv6(address.replace(/%.*/, "")).split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => "0");
  const bytes = Buffer.alloc(16);
  for (const [i, group] of [...left, ...zeros, ...right].entries()) {
    bytes.writeUInt16BE(Number.parseInt(group, 16), i * 2);
  }
  return bytes;
}
