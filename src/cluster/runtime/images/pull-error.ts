import { RpcError } from "../../../staging/cri/grpc/status.js";
import type { PullFault } from "./pull-fault.js";
import { formatReference, type Reference } from "./reference.js";

/** Why a registry does not serve an image: a fault, nothing listens there, a login is missing or wrong. */
export type Refusal = PullFault["how"] | "refused" | "no-login" | "wrong-login";

const RATE_LIMIT =
  "429 Too Many Requests - Server message: toomanyrequests: You have reached your pull rate limit. You may increase the limit by authenticating and upgrading: https://www.docker.com/increase-rate-limit";

/** The error of a pull in containerd 1.6's words. Mirrors remotes/docker/resolver.go (Resolve) of containerd. */
export function pullError(why: Refusal, reference: Reference): RpcError {
  const full = formatReference(reference);
  const start = `failed to pull and unpack image "${full}"`;
  if (why === "rate-limited") {
    const manifest = manifestUrl(reference);
    return new RpcError(
      "Unknown",
      `${start}: failed to copy: httpReadSeeker: failed open: unexpected status code ${manifest}: ${RATE_LIMIT}`,
    );
  }
  const code = why === "not-found" ? "NotFound" : "Unknown";
  return new RpcError(code, `${start}: failed to resolve reference "${full}": ${causeOf(why, reference)}`);
}

function causeOf(why: Exclude<Refusal, "rate-limited">, reference: Reference): string {
  switch (why) {
    case "not-found":
      return `${formatReference(reference)}: not found`;
    case "denied":
      return "pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed";
    case "unreachable":
      return `failed to do request: Head "${manifestUrl(reference)}": dial tcp: lookup ${hostOf(reference).replace(/:\d+$/, "")}: no such host`;
    case "refused":
      return `failed to do request: Head "${manifestUrl(reference)}": dial tcp ${addressOf(reference)}: connect: connection refused`;
    case "no-login":
      return "failed to authorize: failed to fetch anonymous token: unexpected status: 401 Unauthorized";
    case "wrong-login":
      return "failed to authorize: failed to fetch oauth token: unexpected status: 401 Unauthorized";
  }
}

/** Registries on this machine are contacted without TLS. */
function schemeOf({ domain }: Reference): "http" | "https" {
  return /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/.test(domain) ? "http" : "https";
}

/** The host that serves images of this domain. Docker Hub's host has another name. Mirrors DefaultHost of containerd. */
function hostOf({ domain }: Reference): string {
  return domain === "docker.io" ? "registry-1.docker.io" : domain;
}

function addressOf(reference: Reference): string {
  const host = reference.domain.replace(/^localhost/, "127.0.0.1");
  return /:\d+$/.test(host) ? host : `${host}:${schemeOf(reference) === "http" ? 80 : 443}`;
}

function manifestUrl(reference: Reference): string {
  const { path, tag, digest } = reference;
  return `${schemeOf(reference)}://${hostOf(reference)}/v2/${path}/manifests/${digest ?? tag}`;
}
