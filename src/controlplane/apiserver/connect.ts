import type { Registry } from "../registry/registry.js";
import type { Exchange } from "./exchange.js";

/** A request that is answered by bytes as they come: a log, a remote command, a port-forward, a proxied request. */
export interface ConnectRequest {
  readonly exchange: Exchange;
  readonly registry: Registry;
  readonly namespace: string | undefined;
  readonly name: string;
  /** what follows `/proxy`, encoded: `/healthz`; "" for nothing at all */
  readonly subpath: string;
  /** aborts when the client is gone, and when the server closes */
  readonly signal: AbortSignal;
}

/**
 * Writes the whole answer, or throws before its first byte.
 * Mirrors rest.Connecter and rest.ResourceStreamer in k8s.io/apiserver/pkg/registry/rest/rest.go. @throws StatusError
 */
export type Connecter = (request: ConnectRequest) => Promise<void>;

/** By resource and subresource: `pods/exec`, `nodes/proxy`. */
export type Connecters = ReadonlyMap<string, Connecter>;
