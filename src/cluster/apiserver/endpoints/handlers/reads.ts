import { StatusError } from "../../../../staging/apimachinery/errors.js";
import type { ResourceDefinition } from "../../registry/rest/definition.js";
import type { Exchange } from "../exchange.js";
import { negotiate } from "../media-types.js";
import { listOptions } from "../options.js";
import type { Target } from "../routes.js";
import type { HandlerDeps } from "./deps.js";

const STORE = "staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go";

/** Mirrors k8s.io/apiserver/pkg/endpoints/handlers/get.go (GetResource). */
export async function getObject(deps: HandlerDeps, exchange: Exchange, target: Target): Promise<void> {
  const { definition, qualified } = target.route;
  const shown = negotiate(exchange.accept, "object");
  const resourceVersion = exchange.query.size === 0 ? null : exchange.query.get("resourceVersion");
  const store = deps.registry.store(qualified);
  const name = target.name ?? "";
  const report = reportOf(exchange, definition);
  const read = (found: string) =>
    report?.({
      what: `read ${store.keys.key(target.namespace, name)}: ${found}`,
      why: atLeast(resourceVersion),
      upstream: { file: STORE, func: "Get" },
    });
  const asked = resourceVersion === null ? undefined : resourceVersion;
  const object = await store.get(target.namespace, name, asked).catch((error: unknown) => {
    if (error instanceof StatusError && error.code === 404) read("it does not exist");
    throw error;
  });
  if (report !== undefined) read(`resourceVersion ${object.metadata.resourceVersion ?? ""}`);
  await deps.presenter.object(exchange, 200, definition, object, shown);
}

/** Mirrors k8s.io/apiserver/pkg/endpoints/handlers/get.go (ListResource). */
export async function listObjects(deps: HandlerDeps, exchange: Exchange, target: Target): Promise<void> {
  const { definition, qualified } = target.route;
  const shown = negotiate(exchange.accept, "object");
  const store = deps.registry.store(qualified);
  const options = listOptions(exchange.query);
  const list = await store.list(target.namespace, options);
  const { resourceVersion = "", remainingItemCount = 0 } = list.metadata;
  const report = reportOf(exchange, definition);
  report?.({
    what: `list ${store.keys.prefix(target.namespace)}: ${list.items.length} at resourceVersion ${resourceVersion}`,
    why:
      remainingItemCount > 0
        ? `${remainingItemCount} more follow with the continue token`
        : atLeast(options.resourceVersion),
    upstream: { file: STORE, func: "List" },
  });
  await deps.presenter.list(exchange, definition, list, shown);
}

/** Computed objects are not read from the storage. */
function reportOf(exchange: Exchange, { computed }: ResourceDefinition): Exchange["report"] {
  return computed === true ? undefined : exchange.report;
}

/** What a read promises about its age. */
function atLeast(resourceVersion: string | null | undefined): string {
  if (resourceVersion === null || resourceVersion === undefined || resourceVersion === "") return "the newest version";
  return resourceVersion === "0" ? "any version is new enough" : `resourceVersion=${resourceVersion} was asked for`;
}
