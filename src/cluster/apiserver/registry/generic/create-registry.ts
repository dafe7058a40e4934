import assert from "node:assert";
import { storeName } from "../../../../staging/apimachinery/api/resource.js";
import { notFound, resourceNotServed } from "../../../../staging/apimachinery/errors.js";
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
  const served = new Map<string, Served>();
  const listeners: (() => void)[] = [];
  const open = (name: string): ResourceStore => {
    const definition = byName.get(name);
    if (definition?.computed === true && deps.computedStore !== undefined) return deps.computedStore(definition);
    assert(definition !== undefined && definition.virtual !== true, `no resource ${name} is stored`);
    const storing = byName.get(definition.storedAs?.resource ?? name);
    assert(storing !== undefined, `${name} is stored as a resource that is not there`);
    const ends = [...served.values()].find(({ rows }) => rows.includes(definition))?.ends.signal;
    return resourceStore(storeCore(deps, definition, storing), ends);
  };
  return {
    definitions,
    serve(owner, rows) {
      const before = served.get(owner);
      for (const row of before?.rows ?? []) {
        definitions.splice(definitions.indexOf(row), 1);
        byName.delete(storeName(row));
        stores.delete(storeName(row));
      }
      served.delete(owner);
      if (rows.length > 0) served.set(owner, { rows, ends: new AbortController() });
      for (const row of rows) {
        definitions.push(row);
        byName.set(storeName(row), row);
      }
      for (const listener of listeners) listener();
      before?.ends.abort();
    },
    onChange: (listener) => void listeners.push(listener),
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

/** The rows of one owner. */
interface Served {
  readonly rows: readonly ResourceDefinition[];
  /** aborts when they go */
  readonly ends: AbortController;
}

/** @param ends ends its watches; absent: they only end with their client */
function resourceStore(core: StoreCore, ends: AbortSignal | undefined): ResourceStore {
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
    watch(namespace, options, signal) {
      if (ends === undefined) return watchObjects(core, maker, namespace, options, signal);
      if (ends.aborted) throw resourceNotServed();
      return watchObjects(core, maker, namespace, options, AbortSignal.any([signal, ends]));
    },
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
