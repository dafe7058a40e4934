import { isLocalAddress } from "../../util/net/local-address.js";

/** The URL of the streams of an exec, an attach or a port-forward. */
export interface StreamUrl {
  readonly url: URL;
  /** the runtime's replaced host, to which nothing can connect */
  readonly replacedHost: string | undefined;
}

/** Addresses to listen on, not to connect to. */
const UNSPECIFIED = new Set(["0.0.0.0", "[::]"]);

/**
 * Makes the runtime's URL reachable: a runtime that listens on all addresses returns `0.0.0.0` or `::`.
 *
 * Mirrors normalizeLocation in k8s.io/apimachinery/pkg/util/proxy/upgradeaware.go.
 * Differs: upstream dials any host, and Linux takes these for the local machine. Here a runtime cannot make the kubelet connect
 * to another machine.
 *
 * @returns why the URL cannot be used: it is not an http or https URL, has credentials, or names another machine
 */
export function resolveStreamUrl(text: string): StreamUrl | { readonly problem: string } {
  const withScheme = text.startsWith("//") ? `http:${text}` : text;
  if (!URL.canParse(withScheme)) return { problem: "it is not a URL" };
  const url = new URL(withScheme);
  if (url.protocol !== "http:" && url.protocol !== "https:") return { problem: "it is not an http or https URL" };
  if (url.username !== "" || url.password !== "") return { problem: "it has credentials" };
  const { hostname } = url;
  if (UNSPECIFIED.has(hostname)) {
    url.hostname = "127.0.0.1";
    return { url, replacedHost: hostname };
  }
  if (isLocalAddress(hostname.replace(/^\[|\]$/g, ""))) return { url, replacedHost: undefined };
  return { problem: `${hostname} is not an address of this machine` };
}

const SHOWN_OF_TOKEN = 2;

/** The URL without its secret last segment, which gives access to the streams until they are used. */
export function maskStreamUrl(url: URL | string): string {
  const text = (String(url).split("?")[0] ?? "").replace(/\/\/[^/@]*@/, "//****@");
  return text.replace(/\/([^/]+)$/, (_all, token: string) => `/${token.slice(0, SHOWN_OF_TOKEN)}****`);
}
