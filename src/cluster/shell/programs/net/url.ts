/** A URL that a program fetches. */
export interface Target {
  readonly scheme: "http" | "https";
  /** a name or an address, without brackets */
  readonly host: string;
  readonly port: number;
  /** whether the port is the scheme's own, which a Host header leaves out */
  readonly isDefaultPort: boolean;
  /** path and query */
  readonly path: string;
  /** `user:password` */
  readonly credentials: string | undefined;
}

const PORTS = { http: 80, https: 443 } as const;

/** @returns undefined for anything but `[http[s]://][user:password@]host[:port][/path]` */
export function parseTarget(text: string): Target | undefined {
  const match = /^(?:(https?):\/\/)?(?:([^/@]*)@)?(\[[^\]]+\]|[^/:?#]+)(?::(\d{1,5}))?([/?][^#]*)?(?:#.*)?$/i.exec(
    text,
  );
  if (match === null) return undefined;
  const [, written = "http", credentials, host = "", digits, path = "/"] = match;
  const scheme = written.toLowerCase() === "https" ? "https" : "http";
  const port = digits === undefined ? PORTS[scheme] : Number(digits);
  if (port > 65_535) return undefined;
  return {
    scheme,
    host: host.replace(/^\[|\]$/g, ""),
    port,
    isDefaultPort: port === PORTS[scheme],
    path: path.startsWith("?") ? `/${path}` : path,
    credentials,
  };
}

/** The Host header. */
export function hostHeader({ host, port, isDefaultPort }: Target): string {
  const name = host.includes(":") ? `[${host}]` : host;
  return isDefaultPort ? name : `${name}:${port}`;
}

/** The target of a Location header. */
export function redirected(from: Target, location: string): Target | undefined {
  if (/^https?:\/\//i.test(location)) return parseTarget(location);
  if (!location.startsWith("/")) return { ...from, path: from.path.replace(/[^/]*(\?.*)?$/, location) };
  return { ...from, path: location };
}

/** `http://web:8080/x` */
export function formatTarget(target: Target): string {
  return `${target.scheme}://${hostHeader(target)}${target.path}`;
}
