import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import { bearerToken, removeToken, websocketToken } from "../../staging/server/authentication/bearer-token.js";
import { ClientCertificateAuthenticator } from "../../staging/server/authentication/client-certificates.js";
import { ANONYMOUS, asAuthenticated, type UserInfo } from "../../staging/server/authentication/user.js";
import { ExpiringCache } from "../../staging/server/expiring-cache.js";
import type { Clock } from "../../util/clock.js";
import { ReviewError } from "./reviews.js";

/** The sender of a request and the proof of it; or why the sender is unknown. */
export type Authentication =
  | { readonly outcome: "authenticated"; readonly user: UserInfo; readonly how: string }
  | { readonly outcome: "refused"; readonly why: string };

export interface AuthenticateOptions {
  /** PEM of one or more CAs; undefined: client certificates are ignored */
  readonly clientCaPem?: string;
  /** `--anonymous-auth` */
  readonly anonymous: boolean;
  /** ms; `authentication.webhook.cacheTTL` */
  readonly tokenTtlMs: number;
}

export interface AuthenticateDeps {
  readonly clock: Clock;
  /** asks the API server for the owner of a token; undefined: tokens are ignored. @throws ReviewError */
  readonly reviewToken?: (token: string) => Promise<UserInfo | undefined>;
}

/**
 * Authenticates a request by client certificate, by bearer token, or as anonymous. A token is removed from the request, so
 * that it is not passed on.
 *
 * Mirrors cmd/kubelet/app/auth.go (BuildAuthn) and
 * k8s.io/apiserver/pkg/authentication/authenticatorfactory/delegating.go (DelegatingAuthenticatorConfig.New).
 */
export class Authenticator {
  readonly #certificates: ClientCertificateAuthenticator | undefined;
  readonly #tokens: ExpiringCache<UserInfo | undefined>;
  /** the certificate of a connection does not change */
  readonly #shown = new WeakMap<TLSSocket, Buffer>();

  constructor(
    readonly deps: AuthenticateDeps,
    readonly options: AuthenticateOptions,
  ) {
    const { clientCaPem } = options;
    if (clientCaPem !== undefined) this.#certificates = new ClientCertificateAuthenticator(clientCaPem, deps.clock);
    this.#tokens = new ExpiringCache(deps.clock, () => options.tokenTtlMs);
  }

  async authenticate(request: IncomingMessage): Promise<Authentication> {
    const byCertificate = this.#byCertificate(request);
    if (byCertificate?.outcome === "authenticated") return byCertificate;
    const byToken = await this.#byToken(request);
    if (byToken?.outcome === "authenticated") return byToken;
    // A request with a bad credential is not anonymous.
    const refused = byCertificate ?? byToken;
    if (refused !== undefined) return refused;
    if (this.options.anonymous) return { outcome: "authenticated", user: ANONYMOUS, how: "without any credential" };
    return {
      outcome: "refused",
      why: "no client certificate and no bearer token came, and anonymous requests are off",
    };
  }

  #byCertificate(request: IncomingMessage): Authentication | undefined {
    const shown = this.#certificates === undefined ? undefined : this.#shownBy(request.socket as TLSSocket);
    const result = shown === undefined ? undefined : this.#certificates?.authenticate(shown);
    if (result === undefined) return undefined;
    if (result.outcome === "authenticated") return { ...result, how: "by client certificate" };
    return { outcome: "refused", why: `client certificate: ${result.why}` };
  }

  #shownBy(socket: TLSSocket): Buffer | undefined {
    const known = this.#shown.get(socket);
    if (known !== undefined || typeof socket.getPeerX509Certificate !== "function") return known;
    const der = socket.getPeerX509Certificate()?.raw;
    if (der !== undefined) this.#shown.set(socket, der);
    return der;
  }

  async #byToken(request: IncomingMessage): Promise<Authentication | undefined> {
    const { reviewToken } = this.deps;
    const token = bearerToken(request.headers.authorization) ?? websocketToken(request);
    if (token === undefined || reviewToken === undefined) return undefined;
    // The cache holds a hash, not the token.
    const key = createHash("sha256").update(token).digest("base64");
    try {
      const { value: user, isRemembered } = await this.#tokens.get(key, () => reviewToken(token));
      if (user === undefined) return { outcome: "refused", why: "invalid bearer token" };
      removeToken(request);
      const how = `by bearer token (TokenReview${isRemembered ? ", remembered" : ""})`;
      return { outcome: "authenticated", user: asAuthenticated(user), how };
    } catch (error) {
      if (!(error instanceof ReviewError)) throw error;
      return { outcome: "refused", why: error.message };
    }
  }
}
