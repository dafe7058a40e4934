/**
 * The filters before routing: authentication, impersonation and authorization, in upstream's order.
 * Mirrors k8s.io/apiserver/pkg/server/config.go (DefaultBuildHandlerChain).
 */
import type { TLSSocket } from "node:tls";
import { unauthorized } from "../../apimachinery/errors.js";
import type { UserInfo } from "../../server/authentication/user.js";
import type { Trace } from "../../trace/trace.js";
import { forbiddenRequest } from "../auth/authorization/forbidden.js";
import type { Authenticator, AuthorizationAttributes, Authorizer, Credentials } from "../auth/contracts.js";
import type { Exchange } from "./exchange.js";
import { impersonate, isImpersonating } from "./impersonation.js";

const AUTHENTICATION = {
  file: "staging/src/k8s.io/apiserver/pkg/endpoints/filters/authentication.go",
  func: "withAuthentication",
};
const IMPERSONATION = {
  file: "staging/src/k8s.io/apiserver/pkg/endpoints/filters/impersonation.go",
  func: "WithImpersonation",
};
const AUTHORIZATION = {
  file: "staging/src/k8s.io/apiserver/pkg/endpoints/filters/authorization.go",
  func: "WithAuthorization",
};

/** The `-v` level from which a terminal shows the API server's decision on each request. */
const LEVEL = 3;

export interface FilterDeps {
  readonly authenticator: Pick<Authenticator, "authenticate">;
  readonly authorizer: Pick<Authorizer, "authorize">;
  readonly trace: Trace;
}

export class Filters {
  /** the client certificate of a connection; its validity is checked on every request */
  readonly #certificates = new WeakMap<TLSSocket, Buffer | undefined>();

  constructor(readonly deps: FilterDeps) {}

  /** Sets the exchange's user. @throws StatusError 401 or 403 */
  async run(exchange: Exchange): Promise<void> {
    exchange.refusedByFilter = true;
    const asking = await this.#authenticate(exchange);
    const other = isImpersonating(exchange.request.headers) ? await this.#impersonate(exchange, asking) : undefined;
    exchange.user = other ?? asking;
    await this.#authorize(exchange, exchange.user);
    exchange.refusedByFilter = false;
  }

  async #authenticate(exchange: Exchange): Promise<UserInfo> {
    const result = await this.deps.authenticator.authenticate(this.#credentials(exchange));
    const { auditId } = exchange;
    if (result.outcome === "rejected") {
      this.#decide("401 Unauthorized", result.why, AUTHENTICATION, auditId);
      throw unauthorized();
    }
    this.#decide(`is ${result.user.username}`, result.how, AUTHENTICATION, auditId);
    return result.user;
  }

  async #impersonate(exchange: Exchange, user: UserInfo): Promise<UserInfo | undefined> {
    const other = await impersonate(exchange.request.headers, user, this.deps.authorizer);
    if (other === undefined) return undefined;
    const why = `${user.username} is allowed to impersonate: ${other.causes.join("; ")}`;
    this.#decide(`acts as ${other.user.username}`, why, IMPERSONATION, exchange.auditId);
    return other.user;
  }

  async #authorize(exchange: Exchange, user: UserInfo): Promise<void> {
    const attributes = attributesOf(exchange, user);
    const decision = await this.deps.authorizer.authorize(attributes);
    if (this.deps.trace.wants(LEVEL)) {
      const what = `${attributes.verb} ${attributes.path}`;
      this.#decide(`${decision.allowed ? "allow" : "forbid"} ${what}`, decision.cause, AUTHORIZATION, exchange.auditId);
    }
    if (!decision.allowed) throw forbiddenRequest(attributes, decision.reason);
  }

  /** Every request passes here, so decisions are only built for a trace that keeps them. */
  #decide(what: string, why: string, upstream: typeof AUTHENTICATION, auditId: string): void {
    if (!this.deps.trace.wants(LEVEL)) return;
    this.deps.trace.emit({ kind: "decision", what, why, upstream, auditId }, { actor: "apiserver", level: LEVEL });
  }

  #credentials({ request }: Exchange): Credentials {
    const { authorization } = request.headers;
    const clientCertificate = this.#certificateOf(request.socket as TLSSocket);
    return {
      ...(authorization === undefined ? {} : { authorization }),
      ...(clientCertificate === undefined ? {} : { clientCertificate }),
    };
  }

  #certificateOf(socket: TLSSocket): Buffer | undefined {
    if (this.#certificates.has(socket)) return this.#certificates.get(socket);
    const raw: Buffer | undefined = socket.getPeerX509Certificate?.()?.raw;
    this.#certificates.set(socket, raw);
    return raw;
  }
}

/** Mirrors k8s.io/apiserver/pkg/endpoints/filters/authorization.go (GetAuthorizerAttributes). */
function attributesOf({ info }: Exchange, user: UserInfo): AuthorizationAttributes {
  return {
    user,
    verb: info.verb,
    isResourceRequest: info.isResourceRequest,
    apiGroup: info.apiGroup,
    apiVersion: info.apiVersion,
    resource: info.resource,
    subresource: info.subresource,
    namespace: info.namespace,
    name: info.name,
    path: info.path,
  };
}
