import { RpcError } from "../../../staging/cri/grpc/status.js";
import type { Clock } from "../../../util/clock.js";
import { SystemRandom } from "../../../util/random.js";

const TTL_MS = 60_000;
const MAX_IN_FLIGHT = 1000;
/** length in base64 characters of six random bits each */
const TOKEN_LENGTH = 8;
const TOKEN_BYTES = 6;

interface Entry<T> {
  readonly request: T;
  readonly expiresMs: number;
}

/**
 * Requests that wait for their client to connect to the streaming server. Each has a random token that is valid once
 * and for a minute. Mirrors pkg/kubelet/cri/streaming/request_cache.go (requestCache).
 */
export class RequestCache<T> {
  /** in order of expiry */
  readonly #entries = new Map<string, Entry<T>>();
  /** A token allows running commands, so it never comes from a seed. */
  readonly #random = new SystemRandom();

  constructor(readonly clock: Clock) {}

  get size(): number {
    return this.#entries.size;
  }

  /** @returns the token @throws RpcError ResourceExhausted while a thousand others wait */
  insert(request: T): string {
    this.#dropExpired();
    if (this.#entries.size >= MAX_IN_FLIGHT)
      throw new RpcError("ResourceExhausted", "maximum number of in-flight requests exceeded");
    let token: string;
    do token = this.#random.bytes(TOKEN_BYTES).toString("base64url").slice(0, TOKEN_LENGTH);
    while (this.#entries.has(token));
    this.#entries.set(token, { request, expiresMs: this.clock.now() + TTL_MS });
    return token;
  }

  /** @returns undefined for a token that is unknown, used or expired */
  consume(token: string): T | undefined {
    const entry = this.#entries.get(token);
    this.#entries.delete(token);
    return entry === undefined || this.clock.now() > entry.expiresMs ? undefined : entry.request;
  }

  #dropExpired(): void {
    const now = this.clock.now();
    for (const [token, { expiresMs }] of this.#entries) {
      if (now <= expiresMs) return;
      this.#entries.delete(token);
    }
  }
}
