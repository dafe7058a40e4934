import type { Exchange } from "../exchange.js";
import { negotiate } from "../media-types.js";
import { listOptions } from "../options.js";
import type { Target } from "../routes.js";
import type { HandlerDeps } from "./deps.js";

/** Mirrors k8s.io/apiserver/pkg/endpoints/handlers/get.go (GetResource). */
export async function getObject(deps: HandlerDeps, exchange: Exchange, target: Target): Promise<void> {
  const { definition, qualified } = target.route;
  const shown = negotiate(exchange.accept, "object");
  const resourceVersion = exchange.query.size === 0 ? null : exchange.query.get("resourceVersion");
  const object = await deps.registry
    .store(qualified)
    .get(target.namespace, target.name ?? "", resourceVersion === null ? undefined : resourceVersion);
  await deps.presenter.object(exchange, 200, definition, object, shown);
}

/** Mirrors k8s.io/apiserver/pkg/endpoints/handlers/get.go (ListResource). */
export async function listObjects(deps: HandlerDeps, exchange: Exchange, target: Target): Promise<void> {
  const { definition, qualified } = target.route;
  const shown = negotiate(exchange.accept, "object");
  const list = await deps.registry.store(qualified).list(target.namespace, listOptions(exchange.query));
  await deps.presenter.list(exchange, definition, list, shown);
}
