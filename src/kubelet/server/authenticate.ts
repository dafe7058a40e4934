import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import { type Certificate, certificateProblem, parseCertificate } from "../../pki/certificate.js";
import { decodePem } from "../../pki/pem.js";
import type { Clock } from "../../util/clock.js";
import { ExpiringCache } from "./expiring-cache.js";
import { ReviewError, type UserInfo } from "./reviews.js";

/** Who is asking, and how that is known; or why it is not. */
export type Authentication =
  | { readonly outcome: "authenticated"; readonly user: UserInfo; readonly how: string }
  | { readonly outcome: "refused"; readonly why: string };

export interface AuthenticateOptions {
  /** PEM of one or more CAs; undefined: client certificates do not count */
  readonly clientCaPem?: string;
  /** `--anonymous-auth` */
  readonly anonymous: boolean;
  /** ms; `authentication.webhook.cacheTTL` */
  readonly tokenTtlMs: number;
}

export interface AuthenticateDeps {
  readonly clock: Clock;
  /** asks the API server whose token this is; undefined: tokens do not count. @throws ReviewError */
  readonly reviewToken?: (token: string) => Promise<UserInfo | undefined>;
}

/** A certificate that a client has shown. */
interface Shown {
  readonly certificate: Certificate;
  /** of its DER, SHA-256 in base64 */
  readonly fingerprint: string;
}

/** A certificate that was good, and from when to when it is so for sure: Unix ms. */
interface Good extends Shown {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** A kubelet has one client, the API server, and now and then a curious one. */
const MAX_REMEMBERED = 64;
const AUTHENTICATED_GROUP = "system:authenticated";
const ANONYMOUS: UserInfo = { username: "system:anonymous", groups: ["system:unauthenticated"] };
/** The subprotocol in which a browser, which can set no header, brings its token. */
const WEBSOCKET_BEARER = "base64url.bearer.authorization.k8s.io.";

/**
 * Finds out who sent a request: by client certificate, by bearer token, or as nobody in particular. What proved it is taken
 * off the request when it is a token, so that it goes no further.
 *
 * Mirrors cmd/kubelet/app/auth.go (BuildAuthn) and
 * k8s.io/apiserver/pkg/authentication/authenticatorfactory/delegating.go (DelegatingAuthenticatorConfig.New).
 */
export class Authenticator {
  readonly #authorities: readonly Certificate[];
  readonly #tokens: ExpiringCache<UserInfo | undefined>;
  /** a connection's certificate does not change */
  readonly #shown = new WeakMap<TLSSocket, Shown>();
  /** by fingerprint */
  readonly #good = new Map<string, Good>();

  constructor(
    readonly deps: AuthenticateDeps,
    readonly options: AuthenticateOptions,
  ) {
    this.#authorities = decodePem(options.clientCaPem ?? "")
      .filter(({ type }) => type === "CERTIFICATE")
      .map(({ der }) => parseCertificate(der));
    this.#tokens = new ExpiringCache(deps.clock, () => options.tokenTtlMs);
  }

  async authenticate(request: IncomingMessage): Promise<Authentication> {
    const byCertificate = this.#byCertificate(request);
    if (byCertificate?.outcome === "authenticated") return byCertificate;
    const byToken = await this.#byToken(request);
    if (byToken?.outcome === "authenticated") return byToken;
    // A credential that is no good does not make one anonymous.
    const refused = byCertificate ?? byToken;
    if (refused !== undefined) return refused;
    if (this.options.anonymous) return { outcome: "authenticated", user: ANONYMOUS, how: "without any credential" };
    return {
      outcome: "refused",
      why: "no client certificate and no bearer token came, and anonymous requests are off",
    };
  }

  /** Mirrors k8s.io/apiserver/pkg/authentication/request/x509/x509.go (AuthenticateRequest, CommonNameUserConversion). */
  #byCertificate(request: IncomingMessage): Authentication | undefined {
    if (this.#authorities.length === 0) return undefined;
    try {
      const shown = this.#shownBy(request.socket as TLSSocket);
      if (shown === undefined) return undefined;
      const { commonName, organization } = shown.certificate.subject;
      const problem = this.#problemOf(shown);
      if (problem !== undefined) return { outcome: "refused", why: `client certificate of ${commonName}: ${problem}` };
      if (commonName === "") return undefined;
      const user = { username: commonName, groups: withAuthenticated(organization) };
      return { outcome: "authenticated", user, how: "by client certificate" };
    } catch (error) {
      return { outcome: "refused", why: `client certificate: ${(error as Error).message}` };
    }
  }

  /** Read and checked once: the API server comes with each stream on a connection of its own. */
  #shownBy(socket: TLSSocket): Shown | undefined {
    const known = this.#shown.get(socket);
    if (known !== undefined || typeof socket.getPeerX509Certificate !== "function") return known;
    const raw = socket.getPeerX509Certificate()?.raw;
    if (raw === undefined) return undefined;
    const fingerprint = createHash("sha256").update(raw).digest("base64");
    const shown = this.#good.get(fingerprint) ?? { certificate: parseCertificate(raw), fingerprint };
    this.#shown.set(socket, shown);
    return shown;
  }

  #problemOf({ certificate, fingerprint }: Shown): string | undefined {
    const nowMs = this.deps.clock.now();
    const good = this.#good.get(fingerprint);
    if (good !== undefined && nowMs >= good.fromMs && nowMs < good.untilMs) return undefined;
    const problem = this.#findProblem(certificate, nowMs);
    if (problem !== undefined) return problem;
    if (this.#good.size >= MAX_REMEMBERED) this.#good.clear();
    const untilMs = Math.min(certificate.notAfterMs, ...this.#authorities.map(({ notAfterMs }) => notAfterMs));
    this.#good.set(fingerprint, { certificate, fingerprint, fromMs: nowMs, untilMs });
    return undefined;
  }

  #findProblem(certificate: Certificate, nowMs: number): string | undefined {
    const problems = this.#authorities.map((issuer) =>
      certificateProblem(certificate, { issuer, nowMs, purpose: "client auth" }),
    );
    const unknown = "x509: certificate signed by unknown authority";
    return problems.includes(undefined) ? undefined : (problems.find((one) => one !== unknown) ?? unknown);
  }

  async #byToken(request: IncomingMessage): Promise<Authentication | undefined> {
    const { reviewToken } = this.deps;
    const token = bearerToken(request.headers.authorization) ?? websocketToken(protocolsOf(request));
    if (token === undefined || reviewToken === undefined) return undefined;
    // The memory knows no token, only what it takes to recognise one.
    const key = createHash("sha256").update(token).digest("base64");
    try {
      const { value: user, isRemembered } = await this.#tokens.get(key, () => reviewToken(token));
      if (user === undefined) return { outcome: "refused", why: "invalid bearer token" };
      removeToken(request);
      const how = `by bearer token (TokenReview${isRemembered ? ", remembered" : ""})`;
      return { outcome: "authenticated", user: { ...user, groups: withAuthenticated(user.groups) }, how };
    } catch (error) {
      if (!(error instanceof ReviewError)) throw error;
      return { outcome: "refused", why: error.message };
    }
  }
}

/** Mirrors k8s.io/apiserver/pkg/authentication/group (AuthenticatedGroupAdder). */
function withAuthenticated(groups: readonly string[]): readonly string[] {
  return groups.includes(AUTHENTICATED_GROUP) ? groups : [...groups, AUTHENTICATED_GROUP];
}

/** Mirrors k8s.io/apiserver/pkg/authentication/request/bearertoken/bearertoken.go. */
function bearerToken(header: string | undefined): string | undefined {
  const [scheme = "", token = ""] = (header ?? "").trim().split(" ");
  return scheme.toLowerCase() === "bearer" && token !== "" ? token : undefined;
}

function protocolsOf(request: IncomingMessage): string[] {
  const isWebSocket = request.headers.upgrade?.toLowerCase() === "websocket";
  if (!isWebSocket) return [];
  return (request.headers["sec-websocket-protocol"] ?? "").split(",").map((protocol) => protocol.trim());
}

/** Mirrors k8s.io/apiserver/pkg/authentication/request/websocket/protocol.go. */
function websocketToken(protocols: readonly string[]): string | undefined {
  const found = protocols.find((protocol) => protocol.startsWith(WEBSOCKET_BEARER));
  const token = Buffer.from(found?.slice(WEBSOCKET_BEARER.length) ?? "", "base64url").toString("utf8");
  return token === "" ? undefined : token;
}

/** From what is passed on to the runtime: `rawHeaders` are names and values in turn. */
function removeToken(request: IncomingMessage): void {
  const kept: string[] = [];
  for (let i = 0; i < request.rawHeaders.length; i += 2) {
    const name = request.rawHeaders[i] ?? "";
    const value = request.rawHeaders[i + 1] ?? "";
    if (name.toLowerCase() === "authorization") continue;
    kept.push(name, name.toLowerCase() === "sec-websocket-protocol" ? withoutTokens(value) : value);
  }
  request.rawHeaders = kept;
}

function withoutTokens(protocols: string): string {
  const all = protocols.split(",").map((protocol) => protocol.trim());
  return all.filter((protocol) => !protocol.startsWith(WEBSOCKET_BEARER)).join(", ");
}
