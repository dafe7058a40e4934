import assert from "node:assert";
import { storeName } from "../../../../staging/apimachinery/api/resource.js";
import { notFound } from "../../../../staging/apimachinery/errors.js";
import { defined } from "../../../../util/defined.js";
import { isAtLeast } from "../../../../util/release/facts.js";
import type { ResourceDefinition } from "../rest/definition.js";
import type { Registry, RequestContext, ResourceStore } from "../rest/registry.js";
import { admissionReporter } from "../rest/stages.js";
import { createObject } from "./create.js";
import { deleteCollection, deleteObject } from "./delete.js";
import { listObjects } from "./list.js";
import { parseResourceVersion, waitForRevision } from "./resource-versions.js";
import { type StoreCore, type StoreDeps, storeCore } from "./store-core.js";
import { updateObject } from "./update.js";
import { watchObjects } from "./watch.js";
import { WatchEventMaker } from "./watch-plan.js";

export interface RegistryDeps extends StoreDeps {
  readonly definitions: readonly ResourceDefinition[];
  /** makes the store of a computed row */
  readonly computedStore?: (definition: ResourceDefinition) => ResourceStore;
}

/**
 * Creates a store for each row of the table that the release has; of the virtual rows, only computed ones get a store.
 *
 * Mirrors pkg/controlplane/instance.go (InstallAPIs) over k8s.io/apiserver/pkg/registry/generic/registry.
 */
export function createRegistry(deps: RegistryDeps): Registry {
  const definitions = deps.definitions.filter(({ since }) => since === undefined || isAtLeast(deps.kubeVersion, since));
  const byName = new Map(definitions.map((definition) => [storeName(definition), definition]));
  const stores = new Map<string, ResourceStore>();
  const open = (name: string): ResourceStore => {
    const definition = byName.get(name);
    if (definition?.computed === true && deps.computedStore !== undefined) return deps.computedStore(definition);
    assert(definition !== undefined && definition.virtual !== true, `no resource ${name} is stored`);
    const storing = byName.get(definition.storedAs?.resource ?? name);
    assert(storing !== undefined, `${name} is stored as a resource that is not there`);
    return resourceStore(storeCore(deps, definition, storing));
  };
  return {
    definitions,
    store(name) {
      let store = stores.get(name);
      if (store === undefined) {
        store = open(name);
        stores.set(name, store);
      }
      return store;
    },
    resourceVersion: async () => String(await deps.storage.currentRevision()),
  };
}

function resourceStore(core: StoreCore): ResourceStore {
  const maker = new WatchEventMaker(core);
  const told = (context: RequestContext): RequestContext => {
    // A request over HTTPS brings its own.
    const report = context.report ?? admissionReporter(core.trace);
    return report === context.report ? context : { ...context, ...defined({ report }) };
  };
  return {
    definition: core.definition,
    keys: core.keys,
    get: (namespace, name, resourceVersion) => getObject(core, namespace, name, resourceVersion),
    list: (namespace, options) => listObjects(core, namespace, options),
    create: (context, namespace, object) => createObject(core, told(context), namespace, object),
    update: (context, namespace, name, subresource, transform, options) =>
      updateObject(core, told(context), { namespace, name, subresource }, transform, options),
    delete: (context, namespace, name, options) => deleteObject(core, told(context), namespace, name, options),
    deleteCollection: (context, namespace, options) => deleteCollection(core, told(context), namespace, options),
    watch: (namespace, options, signal) => watchObjects(core, maker, namespace, options, signal),
  };
}

/** Mirrors Store.Get: the result is at least as new as the given resourceVersion, or else the newest. */
async function getObject(
  core: StoreCore,
  namespace: string | undefined,
  name: string,
  resourceVersion: string | undefined,
) {
  const revision = parseResourceVersion(resourceVersion);
  if (revision !== undefined) await waitForRevision(core.storage, core.clock, revision);
  const freshness = revision === undefined ? undefined : { notOlderThan: revision };
  const { entry } = await core.storage.get(core.keys.key(namespace, name), freshness);
  if (entry === undefined) throw notFound(core.definition, name);
  return core.read(entry);
}
