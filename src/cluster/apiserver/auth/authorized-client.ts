import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import type { LocalClient } from "../../../staging/client-go/dynamic/interface.js";
import type { UserInfo } from "../../../staging/server/authentication/user.js";
import type {
  AuthorizationAttributes,
  AuthorizationDecision,
  Authorizer,
} from "../../../staging/server/authorization/authorizer.js";
import type { Trace } from "../../../trace/trace.js";
import type { Turns } from "../../../util/async/turns.js";
import type { Registry } from "../registry/rest/registry.js";
import { forbiddenRequest } from "./authorization/forbidden.js";
import { type LocalRequest, type LocalWrite, reportRequest, type Skip } from "./report-request.js";

/** The `-v` level at which a terminal shows why a controller's request was refused; the controller reports the failure. */
const LEVEL = 3;

export interface AuthorizedDeps {
  readonly registry: Pick<Registry, "store">;
  readonly authorizer: Pick<Authorizer, "authorize">;
  readonly trace: Trace;
  /** of all controllers: what they do waits for no socket, and clients elsewhere would wait for them */
  readonly turns: Turns;
}

/**
 * Asks the authorizer before a request of a client in this process, as the filters of the API server do for HTTPS. The request waits
 * for its turn: upstream, the client's limit of requests per second keeps controllers from starving other clients.
 * Mirrors k8s.io/apiserver/pkg/endpoints/filters/authorization.go (WithAuthorization).
 * @throws StatusError 403
 */
export async function authorizeLocally(
  { registry, authorizer, trace, turns }: AuthorizedDeps,
  user: UserInfo,
  ...requests: readonly [LocalRequest, ...LocalRequest[]]
): Promise<void> {
  const turn = turns.next();
  if (turn !== undefined) await turn;
  const refused: { readonly attributes: AuthorizationAttributes; readonly decision: AuthorizationDecision }[] = [];
  for (const request of requests) {
    const attributes = attributesOf(registry, user, request);
    const decision = await authorizer.authorize(attributes);
    if (decision.allowed) return;
    refused.push({ attributes, decision });
  }
  const [{ attributes, decision } = unreachable()] = refused;
  const error = forbiddenRequest(attributes, decision.reason);
  const fact = { kind: "decision", what: `forbid it: ${error.message}`, why: decision.cause } as const;
  trace.emit(fact, { actor: "apiserver", level: LEVEL });
  throw error;
}

function unreachable(): never {
  throw new Error("no request was given");
}

/**
 * A client that does only what its user's roles allow. It reports each write as the request that a client elsewhere would send.
 * Differs: a client in this process reads a change's current object with the right to write it. Either of the rights to update and
 * to patch is enough for a change, because upstream's controllers send either.
 */
export function authorizedClient(client: LocalClient, deps: AuthorizedDeps): LocalClient {
  const { user } = client;
  const check = (...requests: readonly [LocalRequest, ...LocalRequest[]]) => authorizeLocally(deps, user, ...requests);
  /** @param others requests whose rights are enough too */
  const write = <T>(request: LocalWrite, act: (skip: Skip) => Promise<T>, ...others: readonly LocalRequest[]) =>
    reportRequest(deps, user, request, async (skip) => {
      await check(request, ...others);
      return act(skip);
    });
  return {
    user,
    async get(resource, namespace, name, subresource) {
      await check({ verb: "get", resource, subresource, namespace, name });
      return client.get(resource, namespace, name, subresource);
    },
    async list(resource, namespace, options) {
      await check({ verb: "list", resource, namespace });
      return client.list(resource, namespace, options);
    },
    create(resource, namespace, object) {
      return write({ verb: "create", resource, namespace }, () => client.create(resource, namespace, object));
    },
    update(resource, object, subresource) {
      const { namespace, name } = object.metadata;
      const request = { verb: "update", resource, subresource, namespace, name } as const;
      return write(request, () => client.update(resource, object, subresource));
    },
    modify<T extends KubeObject>(...[resource, namespace, name, change, subresource]: ModifyParameters<T>) {
      const request = { verb: "update", resource, subresource, namespace, name } as const;
      const modify = (skip: Skip) =>
        client.modify<T>(
          resource,
          namespace,
          name,
          (current) => {
            const changed = change(current);
            skip(changed === current);
            return changed;
          },
          subresource,
        );
      return write(request, modify, { ...request, verb: "patch" });
    },
    patch(resource, namespace, name, type, body, subresource) {
      const request = { verb: "patch", resource, subresource, namespace, name } as const;
      return write(request, () => client.patch(resource, namespace, name, type, body, subresource));
    },
    delete(resource, namespace, name, options) {
      const request = { verb: "delete", resource, namespace, name } as const;
      return write(request, () => client.delete(resource, namespace, name, options));
    },
    async *reflect<T extends KubeObject>(resource: string, signal: AbortSignal) {
      await check({ verb: "list", resource, namespace: undefined });
      await check({ verb: "watch", resource, namespace: undefined });
      yield* client.reflect<T>(resource, signal);
    },
  };
}

type ModifyParameters<T extends KubeObject> = [
  resource: string,
  namespace: string | undefined,
  name: string,
  change: (current: T) => KubeObject,
  subresource?: string,
];

function attributesOf(
  registry: Pick<Registry, "store">,
  user: UserInfo,
  { verb, resource: qualified, subresource = "", namespace = "", name = "" }: LocalRequest,
): AuthorizationAttributes {
  const { group, version, resource } = registry.store(qualified).definition;
  return {
    user,
    verb,
    isResourceRequest: true,
    apiGroup: group,
    apiVersion: version,
    resource,
    subresource,
    namespace,
    name,
    path: "",
  };
}
