import { LabError } from "../../../util/errors.js";
import { isLoopback as isLoopbackHost } from "../../../util/net/local-address.js";
import { socketPathProblem } from "../../../util/os/paths.js";

/** Where a container runtime listens. */
export type Endpoint =
  | { readonly kind: "unix"; readonly path: string; readonly url: string; readonly warning?: string }
  | { readonly kind: "tcp"; readonly host: string; readonly port: number; readonly url: string };

/**
 * Reads `unix:///run/x.sock`, `tcp://host:port`, or a plain path, which upstream still takes with a warning.
 *
 * Mirrors pkg/kubelet/cri/remote/util/util_unix.go (parseEndpointWithFallbackProtocol).
 * Differs: TCP is allowed (the kubelet refuses it); a unix URL with a host part, which upstream silently drops, is refused.
 * @throws LabError USAGE
 */
export function parseEndpoint(endpoint: string): Endpoint {
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(endpoint)?.[1]?.toLowerCase();
  if (scheme === undefined) return plainPath(endpoint);
  if (scheme === "unix") return unixEndpoint(endpoint);
  if (scheme === "tcp") return tcpEndpoint(endpoint);
  throw badEndpoint(endpoint, `protocol "${scheme}" is not supported`);
}

function plainPath(path: string): Endpoint {
  if (!path.startsWith("/")) throw badEndpoint(path, "it is neither a URL nor an absolute path");
  checkLength(path, path);
  const url = `unix://${path}`;
  return { kind: "unix", path, url, warning: `endpoint ${path}: this form is deprecated, write ${url}` };
}

function unixEndpoint(endpoint: string): Endpoint {
  const rest = endpoint.slice("unix:".length);
  const path = rest.startsWith("//") ? rest.slice(2) : rest;
  if (!path.startsWith("/")) throw badEndpoint(endpoint, "a socket's path must be absolute, after three slashes");
  if (path.includes("\0")) throw badEndpoint(endpoint, "the path has a zero byte");
  checkLength(endpoint, path);
  return { kind: "unix", path, url: `unix://${path}` };
}

function checkLength(endpoint: string, path: string): void {
  const problem = socketPathProblem(path);
  if (problem !== undefined) throw badEndpoint(endpoint, problem);
}

function tcpEndpoint(endpoint: string): Endpoint {
  const match = /^tcp:\/\/(\[[0-9A-Fa-f:.%a-z]+\]|[^:/[\]]+):(\d{1,5})\/?$/i.exec(endpoint);
  const port = Number(match?.[2]);
  if (match === null || port > 65535) throw badEndpoint(endpoint, "it is not of the form tcp://HOST:PORT");
  const host = (match[1] ?? "").replace(/^\[|\]$/g, "");
  return { kind: "tcp", host, port, url: endpoint.replace(/\/$/, "") };
}

function badEndpoint(endpoint: string, why: string): LabError {
  return new LabError(
    "USAGE",
    `"${endpoint}" is not the endpoint of a container runtime: ${why}`,
    "Write it as unix:///run/containerd/containerd.sock or tcp://127.0.0.1:PORT.",
  );
}

/** True for addresses that other machines cannot reach. */
export function isLoopback(endpoint: Endpoint): boolean {
  return endpoint.kind === "unix" || isLoopbackHost(endpoint.host);
}
