/**
 * The filters before routing: authentication, impersonation and authorization, in upstream's order.
 * Mirrors k8s.io/apiserver/pkg/server/config.go (DefaultBuildHandlerChain).
 */
import type { TLSSocket } from "node:tls";
import { unauthorized } from "../../../staging/apimachinery/errors.js";
import type { Authenticator, Credentials } from "../../../staging/server/authentication/authenticator.js";
import type { UserInfo } from "../../../staging/server/authentication/user.js";
import type { AuthorizationAttributes, Authorizer } from "../../../staging/server/authorization/authorizer.js";
import { forbiddenRequest } from "../auth/authorization/forbidden.js";
import { type Exchange, MAX_REQUEST_MS } from "../endpoints/exchange.js";
import { isLongRunning } from "../endpoints/options.js";
import { hasBody } from "../endpoints/read-body.js";
import type { RequestInfo } from "../endpoints/request-info.js";
import type { ReportStage } from "../registry/rest/stages.js";
import { impersonate, isImpersonating } from "./impersonation.js";

const AUDIT_INIT = {
  file: "staging/src/k8s.io/apiserver/pkg/endpoints/filters/audit_init.go",
  func: "WithAuditInit",
};
const REQUEST_INFO = {
  file: "staging/src/k8s.io/apiserver/pkg/endpoints/filters/requestinfo.go",
  func: "WithRequestInfo",
};
const CACHE_CONTROL = {
  file: "staging/src/k8s.io/apiserver/pkg/endpoints/filters/cachecontrol.go",
  func: "WithCacheControl",
};
const WARNING_RECORDER = {
  file: "staging/src/k8s.io/apiserver/pkg/endpoints/filters/warning.go",
  func: "WithWarningRecorder",
};
const WAIT_GROUP = {
  file: "staging/src/k8s.io/apiserver/pkg/server/filters/waitgroup.go",
  func: "WithWaitGroup",
};
const REQUEST_DEADLINE = {
  file: "staging/src/k8s.io/apiserver/pkg/endpoints/filters/request_deadline.go",
  func: "WithRequestDeadline",
};
const AUTHENTICATION = {
  file: "staging/src/k8s.io/apiserver/pkg/endpoints/filters/authentication.go",
  func: "WithAuthentication",
};
const IMPERSONATION = {
  file: "staging/src/k8s.io/apiserver/pkg/endpoints/filters/impersonation.go",
  func: "WithImpersonation",
};
const AUTHORIZATION = {
  file: "staging/src/k8s.io/apiserver/pkg/endpoints/filters/authorization.go",
  func: "WithAuthorization",
};

export interface FilterDeps {
  readonly authenticator: Pick<Authenticator, "authenticate">;
  readonly authorizer: Pick<Authorizer, "authorize">;
}

export class Filters {
  /** the client certificate of a connection; its validity is checked on every request */
  readonly #certificates = new WeakMap<TLSSocket, Buffer | undefined>();

  constructor(readonly deps: FilterDeps) {}

  /** Sets the exchange's user. @throws StatusError 401 or 403 */
  async run(exchange: Exchange): Promise<void> {
    if (exchange.report !== undefined) reportArrival(exchange, exchange.report);
    exchange.refusedByFilter = true;
    const asking = await this.#authenticate(exchange);
    const other = isImpersonating(exchange.request.headers) ? await this.#impersonate(exchange, asking) : undefined;
    exchange.user = other ?? asking;
    await this.#authorize(exchange, exchange.user);
    exchange.refusedByFilter = false;
  }

  async #authenticate(exchange: Exchange): Promise<UserInfo> {
    const result = await this.deps.authenticator.authenticate(this.#credentials(exchange));
    const { report } = exchange;
    if (result.outcome === "rejected") {
      report?.({ what: "401 Unauthorized", why: result.why, upstream: AUTHENTICATION });
      throw unauthorized();
    }
    report?.({ what: `is ${result.user.username}`, why: result.how, upstream: AUTHENTICATION });
    return result.user;
  }

  async #impersonate(exchange: Exchange, user: UserInfo): Promise<UserInfo | undefined> {
    const other = await impersonate(exchange.request.headers, user, this.deps.authorizer);
    if (other === undefined) return undefined;
    const why = `${user.username} is allowed to impersonate: ${other.causes.join("; ")}`;
    exchange.report?.({ what: `acts as ${other.user.username}`, why, upstream: IMPERSONATION });
    return other.user;
  }

  async #authorize(exchange: Exchange, user: UserInfo): Promise<void> {
    const attributes = attributesOf(exchange, user);
    const decision = await this.deps.authorizer.authorize(attributes);
    exchange.report?.({
      what: `${decision.allowed ? "allow" : "forbid"} ${attributes.verb} ${attributes.path}`,
      why: decision.cause,
      upstream: AUTHORIZATION,
    });
    if (!decision.allowed) throw forbiddenRequest(attributes, decision.reason);
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

/** Reports what the first filters found in the request itself, and what they have set for its answer. */
function reportArrival(exchange: Exchange, report: ReportStage): void {
  const { request, info, auditId, method, cacheControl, upgrade } = exchange;
  const isOwn = request.headers["audit-id"] === undefined;
  report({
    what: `give the request the audit ID ${auditId}`,
    why: isOwn ? "a new one" : "the client sent it",
    upstream: AUDIT_INIT,
  });
  report({ what: aboutOf(info), why: `${method} ${info.path}`, upstream: REQUEST_INFO });
  const cached = "the answer is for this client alone; only the handlers of public documents replace it";
  report({ what: `set Cache-Control: ${cacheControl}`, why: cached, upstream: CACHE_CONTROL });
  const warned = "each becomes a Warning header of the answer";
  report({ what: "collect warnings", why: warned, upstream: WARNING_RECORDER });
  if (upgrade !== undefined || isLongRunning(info)) return;
  const waited = "it is not long-running: a server that closes lets it finish";
  report({ what: "count it among the responses in progress", why: waited, upstream: WAIT_GROUP });
  reportDeadline(exchange, report);
}

/** Only bodies have a deadline here. */
function reportDeadline({ request, timeoutMs, query }: Exchange, report: ReportStage): void {
  if (!hasBody(request)) return;
  const limit = `${MAX_REQUEST_MS / 1000} s`;
  const asked = query.get("timeout");
  const why = `it is not long-running: ${asked === null ? `${limit}, as no timeout= says less` : `timeout=${asked}, at most ${limit}`}`;
  report({ what: `give the body ${timeoutMs / 1000} s to arrive`, why, upstream: REQUEST_DEADLINE });
}

/** `create pods in namespace default, version v1` */
function aboutOf({ isResourceRequest, verb, resource, subresource, namespace, name, ...rest }: RequestInfo): string {
  if (!isResourceRequest) return `${verb} ${rest.path}, which is not a resource`;
  const about = [resource, ...(subresource === "" ? [] : [`/${subresource}`]), ...(name === "" ? [] : [` ${name}`])];
  const version = rest.apiGroup === "" ? rest.apiVersion : `${rest.apiGroup}/${rest.apiVersion}`;
  const where = namespace === "" ? "" : ` in namespace ${namespace}`;
  return `${verb} ${about.join("")}${where}, version ${version}`;
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
