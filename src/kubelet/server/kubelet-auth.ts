import { setMaxListeners } from "node:events";
import type { IncomingMessage } from "node:http";
import { parseGoDuration } from "../../staging/apimachinery/time.js";
import type { KubeClient } from "../../staging/client-go/rest/client.js";
import type { UserInfo } from "../../staging/server/authentication/user.js";
import { ExpiringCache } from "../../staging/server/expiring-cache.js";
import type { Level, Trace } from "../../trace/trace.js";
import type { Clock } from "../../util/clock.js";
import { defined } from "../../util/defined.js";
import { OLDEST_RELEASE } from "../../util/release/facts.js";
import { type KubeletConfiguration, setDefaults } from "../apis/config/defaults.js";
import { getRequestAttributes, type NodeAttributes } from "./attributes.js";
import { Authenticator } from "./authenticate.js";
import { type AccessDecision, ReviewError, reviewAccess, reviewToken } from "./reviews.js";
import { type Review, ServerObserver } from "./server-observer.js";

export interface KubeletAuthDeps {
  /** sends reviews of tokens and rights, as the node; undefined: tokens are ignored, and only `AlwaysAllow` works */
  readonly client?: KubeClient;
  readonly clock: Clock;
  readonly trace: Trace;
}

export interface KubeletAuthOptions {
  readonly nodeName: string;
  /** PEM; `--client-ca-file` */
  readonly clientCaPem?: string;
  /** the methods of authentication, and the cache times of the API server's answers; default: upstream's */
  readonly config?: Pick<KubeletConfiguration, "authentication" | "authorization">;
}

/** The decision about a request: let it through, or send this response. */
export type Admission =
  | { readonly outcome: "allowed"; readonly user: UserInfo }
  | { readonly outcome: "refused"; readonly status: 401 | 403 | 500; readonly text: string };

/**
 * Authenticates and authorizes each request.
 *
 * Mirrors pkg/kubelet/server/auth.go (KubeletAuth), cmd/kubelet/app/auth.go (BuildAuth) and the filter in server.go.
 */
export class KubeletAuth {
  readonly #observer: ServerObserver;
  readonly #authenticator: Authenticator;
  readonly #decisions: ExpiringCache<AccessDecision>;
  readonly #mode: string;
  readonly #ttlMs: { readonly allowed: number; readonly denied: number };
  readonly #closing = new AbortController();

  constructor(
    readonly deps: KubeletAuthDeps,
    readonly options: KubeletAuthOptions,
  ) {
    const { client, clock } = deps;
    this.#observer = new ServerObserver(deps.trace);
    const { clientCaPem, config = setDefaults({}, OLDEST_RELEASE) } = options;
    const { authentication, authorization } = config;
    const { enabled: reviewsTokens, cacheTTL } = authentication.webhook;
    const { cacheAuthorizedTTL, cacheUnauthorizedTTL } = authorization.webhook;
    const signal = this.#closing.signal;
    // Each pending review listens to it.
    setMaxListeners(0, signal);
    this.#authenticator = new Authenticator(
      {
        clock,
        ...(client === undefined || !reviewsTokens
          ? {}
          : { reviewToken: (token) => reviewToken({ client, clock }, token, signal) }),
      },
      {
        anonymous: authentication.anonymous.enabled,
        tokenTtlMs: parseGoDuration(cacheTTL),
        ...defined({ clientCaPem }),
      },
    );
    this.#mode = authorization.mode;
    this.#ttlMs = { allowed: parseGoDuration(cacheAuthorizedTTL), denied: parseGoDuration(cacheUnauthorizedTTL) };
    this.#decisions = new ExpiringCache(clock, ({ allowed }) => (allowed ? this.#ttlMs.allowed : this.#ttlMs.denied));
  }

  /**
   * @param path decoded
   * @param level the -v level from which decisions are shown
   */
  async admit(request: IncomingMessage, path: string, level: Level): Promise<Admission> {
    const authentication = await this.#authenticator.authenticate(request);
    if (authentication.outcome === "refused") {
      this.#observer.unauthenticated(authentication.why, level);
      return { outcome: "refused", status: 401, text: "Unauthorized" };
    }
    const { user, how } = authentication;
    const attributes = getRequestAttributes(request.method ?? "", path);
    const words = `user=${user.username}, verb=${attributes.verb}, resource=nodes, subresource=${attributes.subresource}`;
    try {
      const { decision, review } = await this.#authorize(user, attributes);
      this.#observer.authorized({ user, how, attributes }, decision, review, level);
      if (decision.allowed) return { outcome: "allowed", user };
      return { outcome: "refused", status: 403, text: `Forbidden (${words})` };
    } catch (error) {
      if (!(error instanceof ReviewError)) throw error;
      this.#observer.rightsUnknown(user, error, level);
      return { outcome: "refused", status: 500, text: `Authorization error (${words})` };
    }
  }

  async #authorize(
    user: UserInfo,
    attributes: NodeAttributes,
  ): Promise<{ readonly decision: AccessDecision; readonly review?: Review }> {
    const { client, clock } = this.deps;
    const { nodeName } = this.options;
    if (this.#mode === "AlwaysAllow") return { decision: { allowed: true, reason: "" } };
    if (client === undefined) throw new ReviewError("no client provided, cannot use webhook authorization");
    const { verb, subresource } = attributes;
    const key = JSON.stringify([user.username, user.uid, user.groups, user.extra, verb, subresource]);
    const { value: decision, isRemembered } = await this.#decisions.get(key, () =>
      reviewAccess({ client, clock }, nodeName, user, attributes, this.#closing.signal),
    );
    return { decision, review: { isRemembered, ttlMs: decision.allowed ? this.#ttlMs.allowed : this.#ttlMs.denied } };
  }

  /** Ends pending reviews. Safe to call twice. */
  async close(): Promise<void> {
    this.#closing.abort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
