import type { Duplex } from "node:stream";
import type { Registry } from "../registry/registry.js";
import type { Exchange } from "./exchange.js";

/** A connection whose client asks to speak something else than HTTP from now on. */
export interface Upgrade {
  readonly socket: Duplex;
  /** what came behind the request's head */
  readonly head: Buffer;
}

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
