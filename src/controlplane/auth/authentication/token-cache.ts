import { createHmac } from "node:crypto";
import type { Clock } from "../../../util/clock.js";
import type { Random } from "../../../util/random.js";
import type { TokenAuthenticator, TokenResult } from "./token-authenticator.js";

const MAX_REMEMBERED = 4_096;

/**
 * Remembers good tokens for a while (ten seconds): a token may outlive its secret or its expiry by that much.
 *
 * Mirrors k8s.io/apiserver/pkg/authentication/token/cache/cached_token_authenticator.go. Refusals are not remembered, as
 * kube-apiserver sets it up. Tokens are kept as keyed hashes only.
 */
export class TokenCache implements TokenAuthenticator {
  readonly #remembered = new Map<string, { readonly result: TokenResult; readonly untilMs: number }>();
  readonly #hashKey: Buffer;

  constructor(
    readonly authenticators: readonly TokenAuthenticator[],
    /** how long a token that was found good stays good without another look, ms */
    readonly successTtlMs: number,
    readonly clock: Clock,
    random: Random,
  ) {
    this.#hashKey = random.bytes(32);
  }

  async authenticateToken(token: string, audiences: readonly string[]): Promise<TokenResult> {
    const key = createHmac("sha256", this.#hashKey)
      .update(`${token}\0${audiences.join("\0")}`)
      .digest("base64");
    const known = this.#remembered.get(key);
    if (known !== undefined && this.clock.now() < known.untilMs) return known.result;
    this.#remembered.delete(key);
    const result = await this.#askAll(token, audiences);
    if (result.outcome === "authenticated") {
      this.#remembered.set(key, { result, untilMs: this.clock.now() + this.successTtlMs });
      if (this.#remembered.size > MAX_REMEMBERED) this.#forgetOldest();
    }
    return result;
  }

  /** The first authenticator that knows the token decides; a refusal by one does not stop the next. */
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

  #forgetOldest(): void {
    const oldest = this.#remembered.keys().next();
    if (!oldest.done) this.#remembered.delete(oldest.value);
  }
}
