/** Where the streams of an exec, an attach or a port-forward are. */
export interface StreamUrl {
  readonly url: URL;
  /** what was changed: the host that the runtime named, which is none to call */
  readonly replacedHost: string | undefined;
}

/** Addresses to listen at, not to call. */
const UNSPECIFIED = new Set(["0.0.0.0", "[::]"]);

/**
 * Makes the URL that a runtime answered one that can be called: a runtime that listens everywhere names `0.0.0.0` or `::`.
 *
 * Mirrors normalizeLocation in k8s.io/apimachinery/pkg/util/proxy/upgradeaware.go.
 * Differs: upstream dials whatever it was given, which Linux takes for the machine itself.
 *
 * @returns undefined when it is no URL of http or https
 */
export function resolveStreamUrl(text: string): StreamUrl | undefined {
  const withScheme = text.startsWith("//") ? `http:${text}` : text;
  if (!URL.canParse(withScheme)) return undefined;
  const url = new URL(withScheme);
  if (url.protocol !== "http:" && url.protocol !== "https:") return undefined;
  const { hostname } = url;
  if (!UNSPECIFIED.has(hostname)) return { url, replacedHost: undefined };
  url.hostname = "127.0.0.1";
  return { url, replacedHost: hostname };
}

const SHOWN_OF_TOKEN = 2;

/** Without its secret: who has the last part of the path may use the streams, as long as nobody else has. */
export function maskStreamUrl(url: URL | string): string {
  const text = String(url).split("?")[0] ?? "";
  return text.replace(/\/([^/]+)$/, (_all, token: string) => `/${token.slice(0, SHOWN_OF_TOKEN)}****`);
}
