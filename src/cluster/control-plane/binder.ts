import type { KubeObject } from "../../staging/apimachinery/api/meta.js";
import type { UserInfo } from "../../staging/server/authentication/user.js";
import { defined } from "../../util/defined.js";
import { type AuthorizedDeps, authorizeLocally } from "../apiserver/auth/authorized-client.js";
import { reportRequest } from "../apiserver/auth/report-request.js";
import type { ActionHandler } from "../apiserver/registry/rest/action.js";
import type { Registry } from "../apiserver/registry/rest/registry.js";
import { admissionReporter } from "../apiserver/registry/rest/stages.js";
import type { Binder } from "../scheduler/framework.js";

/** The scheduler's binder: the handler of `POST pods/binding`, so the same rules apply as over HTTPS. */
export interface BinderDeps extends AuthorizedDeps {
  readonly registry: Registry;
  readonly handler: ActionHandler;
}

/**
 * Creates a binder that acts as one user.
 * Mirrors pkg/scheduler/framework/plugins/defaultbinder/default_binder.go (Bind).
 */
export function createBinder(deps: BinderDeps, user: UserInfo): Binder {
  const { registry, handler } = deps;
  return async ({ metadata: { namespace, name, uid } }, nodeName) => {
    const request = { verb: "create", resource: "pods", subresource: "binding", namespace, name } as const;
    const body: KubeObject = {
      apiVersion: "v1",
      kind: "Binding",
      metadata: {
        ...(namespace === undefined ? {} : { namespace }),
        name: name ?? "",
        ...(uid === undefined ? {} : { uid }),
      },
      target: { kind: "Node", name: nodeName },
    };
    const report = admissionReporter(deps.trace);
    const context = { user, warnings: [], ...defined({ report }) };
    await reportRequest(deps, user, { ...request, body }, async () => {
      await authorizeLocally(deps, user, request);
      return handler({ context, registry, namespace, name, body, query: new URLSearchParams() });
    });
  };
}
