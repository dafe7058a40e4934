import { createHmac } from "node:crypto";
import { ExpiringCache } from "../../../../staging/server/expiring-cache.js";
import type { Clock } from "../../../../util/clock.js";
import type { Random } from "../../../../util/random.js";
import type { TokenAuthenticator, TokenResult } from "./token-authenticator.js";

const MAX_CACHED = 4_096;

/**
 * Caches valid tokens for ten seconds, so a token can outlive its secret or its expiry by that much.
 *
 * Mirrors k8s.io/apiserver/pkg/authentication/token/cache/cached_token_authenticator.go. As in kube-apiserver, refusals
 * are not cached. Holds only keyed hashes of tokens.
 */
export class TokenCache implements TokenAuthenticator {
  readonly #results: ExpiringCache<TokenResult>;
  readonly #hashKey: Buffer;

  constructor(
    readonly authenticators: readonly TokenAuthenticator[],
    /** how long a valid token is not checked again, ms */
    successTtlMs: number,
    clock: Clock,
    random: Random,
  ) {
    this.#results = new ExpiringCache(
      clock,
      ({ outcome }) => (outcome === "authenticated" ? successTtlMs : 0),
      MAX_CACHED,
    );
    this.#hashKey = random.bytes(32);
  }

  async authenticateToken(token: string, audiences: readonly string[]): Promise<TokenResult> {
    const key = createHmac("sha256", this.#hashKey)
      .update(`${token}\0${audiences.join("\0")}`)
      .digest("base64");
    return (await this.#results.get(key, () => this.#askAll(token, audiences))).value;
  }

  /** The first authenticator that accepts the token decides; a refusal by one does not stop the next. */
  async #askAll(token: string, audiences: readonly string[]): Promise<TokenResult> {
    let refusal: TokenResult = { outcome: "unknown" };
    for (const authenticator of this.authenticators) {
      const result = await authenticator.authenticateToken(token, audiences);
      if (result.outcome === "authenticated") return result;
      if (result.outcome === "rejected" || (refusal.outcome === "unknown" && result.why !== undefined))
        refusal = result;
    }
    return refusal;
  }
}
