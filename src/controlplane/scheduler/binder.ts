import type { KubeObject } from "../../apimachinery/api/meta.js";
import type { UserInfo } from "../../server/authentication/user.js";
import type { SpecialHandler } from "../apiserver/special.js";
import type { Registry } from "../registry/registry.js";

/** Says to the API server on which node a pod shall run. @throws StatusError */
export type Binder = (pod: KubeObject, nodeName: string) => Promise<void>;

/** What a scheduler binds with: the handler that serves `POST pods/binding` over HTTPS too, so its rules hold. */
export interface BinderDeps {
  readonly registry: Registry;
  readonly handler: SpecialHandler;
}

/**
 * Binds as one user.
 * Mirrors pkg/scheduler/framework/plugins/defaultbinder/default_binder.go (Bind).
 */
export function createBinder({ registry, handler }: BinderDeps, user: UserInfo): Binder {
  return async ({ metadata: { namespace, name, uid } }, nodeName) => {
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
    const context = { user, warnings: [] };
    await handler({ context, registry, namespace, name, body, query: new URLSearchParams() });
  };
}
