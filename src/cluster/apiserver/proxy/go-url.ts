import { badRequest } from "../../../staging/apimachinery/errors.js";
import { compareText } from "../../../util/text/compare-text.js";

/** URLs as Go writes them: the kubelet's access log and the recordings contain them. */

/** Mirrors net/url's QueryEscape. */
function queryEscape(text: string): string {
  return encodeURIComponent(text)
    .replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
    .replace(/%20/g, "+");
}

/** Sorted by name, values in their order, with the question mark; "" if empty. Mirrors net/url's Values.Encode. */
export function encodeQuery(values: readonly (readonly [name: string, value: string])[]): string {
  if (values.length === 0) return "";
  const sorted = [...values].sort(([a], [b]) => compareText(a, b));
  return `?${sorted.map(([name, value]) => `${queryEscape(name)}=${queryEscape(value)}`).join("&")}`;
}

/** Adds brackets around an IPv6 address. Mirrors net.JoinHostPort. */
export function joinHostPort(host: string, port: number | string): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

interface SchemeNamePort {
  readonly scheme: string;
  readonly name: string;
  readonly port: string;
}

/**
 * Parses `name`, `name:port` or `scheme:name:port` of a proxy path.
 * Mirrors SplitSchemeNamePort in k8s.io/apimachinery/pkg/util/net/port_split.go. @returns undefined for anything else
 */
function splitSchemeNamePort(id: string): SchemeNamePort | undefined {
  const parts = id.split(":");
  if (parts.length > 3) return undefined;
  const [scheme, name, port] = parts.length === 3 ? parts : ["", parts[0], parts[1] ?? ""];
  if (name === undefined || name === "" || scheme === undefined || port === undefined) return undefined;
  return scheme === "" || scheme === "http" || scheme === "https" ? { scheme, name, port } : undefined;
}

/** @param what `pod`, for the message @throws StatusError 400 */
export function splitOf(id: string, what: string): SchemeNamePort {
  const split = splitSchemeNamePort(id);
  if (split === undefined) throw badRequest(`invalid ${what} request ${JSON.stringify(id)}`);
  return split;
}

/** With the question mark; "" if there is none. */
export function rawQuery(url = ""): string {
  const question = url.indexOf("?");
  return question < 0 ? "" : url.slice(question);
}

export function isRead(method: string): boolean {
  return method === "GET" || method === "HEAD";
}
