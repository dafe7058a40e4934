import type { Registry } from "../registry/rest/registry.js";
import type { Exchange } from "./exchange.js";

/** A request whose response is a byte stream: a log, a remote command, a port-forward, a proxied request. */
export interface ConnectRequest {
  readonly exchange: Exchange;
  readonly registry: Registry;
  readonly namespace: string | undefined;
  readonly name: string;
  /** the encoded path after `/proxy`: `/healthz`; "" if there is none */
  readonly subpath: string;
  /** aborts when the client disconnects, and when the server closes */
  readonly signal: AbortSignal;
}

/**
 * Writes the whole response, or throws before the first byte.
 * Mirrors rest.Connecter and rest.ResourceStreamer in k8s.io/apiserver/pkg/registry/rest/rest.go. @throws StatusError
 */
export type Connecter = (request: ConnectRequest) => Promise<void>;

/** By resource and subresource: `pods/exec`, `nodes/proxy`. */
export type Connecters = ReadonlyMap<string, Connecter>;
