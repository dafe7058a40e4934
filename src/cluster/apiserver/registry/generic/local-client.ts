import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import type { Scale } from "../../../../staging/apimachinery/api/objects.js";
import { FROM_CACHE } from "../../../../staging/apimachinery/api/options.js";
import { StatusError } from "../../../../staging/apimachinery/errors.js";
import { applyMergePatch } from "../../../../staging/apimachinery/patch/merge-patch.js";
import { applyStrategicMergePatch } from "../../../../staging/apimachinery/patch/strategic-merge-patch.js";
import type { LocalClient, WatchItem } from "../../../../staging/client-go/dynamic/interface.js";
import type { UserInfo } from "../../../../staging/server/authentication/user.js";
import { defined } from "../../../../util/defined.js";
import type { Registry, RequestContext, ResourceStore } from "../rest/registry.js";
import { scaleNotFound, scaleViewOf } from "../rest/scale.js";

/** the subresource that has a kind of its own */
const SCALE = "scale";

/**
 * The cluster for a controller in this process: the stores, with admission, as one user.
 *
 * Mirrors the loopback client of k8s.io/apiserver/pkg/server (Config.LoopbackClientConfig).
 * Reads come from the watch cache, as those of upstream's informers do.
 * Differs: no serialization: a controller gets the stored objects themselves. `authorizedClient` adds the authorization.
 */
export function createLocalClient(registry: Registry, user: UserInfo): LocalClient {
  const context = (): RequestContext => ({ user, warnings: [] });
  return {
    user,
    async get<T extends KubeObject>(
      resource: string,
      namespace: string | undefined,
      name: string,
      subresource?: string,
    ) {
      const object = await orUndefined(registry.store(resource).get(namespace, name, FROM_CACHE));
      return (
        subresource === SCALE && object !== undefined
          ? scaleViewOf(registry.store(resource).definition).scaleOf(object)
          : object
      ) as T | undefined;
    },
    list: async <T extends KubeObject>(...[resource, namespace, options]: Parameters<LocalClient["list"]>) =>
      (await registry.store(resource).list(namespace, options && { resourceVersion: FROM_CACHE, ...options }))
        .items as readonly T[],
    create: <T extends KubeObject>(resource: string, namespace: string | undefined, object: KubeObject) =>
      registry.store(resource).create(context(), namespace, object) as Promise<T>,
    async update<T extends KubeObject>(resource: string, object: KubeObject, subresource?: string) {
      const { namespace, name = "", uid } = object.metadata;
      const options = uid === undefined ? {} : { uid };
      const store = registry.store(resource);
      if (subresource === SCALE) return (await updateScale(store, context(), object)) as T;
      return (await store.update(context(), namespace, name, subresource, () => object, options)).object as T;
    },
    modify: <T extends KubeObject>(...[resource, namespace, name, change, subresource]: ModifyParameters<T>) =>
      orUndefined(modify<T>(registry, context(), [resource, namespace, name, change, subresource])),
    patch: <T extends KubeObject>(...parameters: Parameters<LocalClient["patch"]>) =>
      orUndefined(patch<T>(registry, context(), parameters)),
    async delete(resource, namespace, name, options) {
      const outcome = await orUndefined(registry.store(resource).delete(context(), namespace, name, options));
      return outcome !== undefined;
    },
    reflect: <T extends KubeObject>(resource: string, signal: AbortSignal) =>
      listAndWatch<T>(registry.store(resource), signal),
  };
}

/** The scale is a view of the workload, which is what is stored. */
async function updateScale(store: ResourceStore, context: RequestContext, scale: Scale): Promise<Scale> {
  const view = scaleViewOf(store.definition);
  const { namespace, name = "" } = scale.metadata;
  const transform = (current: KubeObject | undefined) => {
    if (current === undefined) throw scaleNotFound(store.definition, name);
    return view.withScale(current, scale);
  };
  return view.scaleOf((await store.update(context, namespace, name, undefined, transform)).object);
}

async function* listAndWatch<T extends KubeObject>(
  store: ResourceStore,
  signal: AbortSignal,
): AsyncGenerator<WatchItem<T>> {
  while (!signal.aborted) {
    const { items, metadata } = await store.list(undefined);
    for (const object of items) {
      if (signal.aborted) return;
      yield { type: "init", object: object as T };
    }
    yield { type: "initDone" };
    const { resourceVersion = "" } = metadata;
    for await (const { type, object } of store.watch(undefined, { resourceVersion }, signal)) {
      if (type === "ERROR") break;
      if (type === "DELETED") yield { type: "deleted", object: object as T };
      else if (type !== "BOOKMARK") yield { type: "applied", object: object as T };
    }
  }
}

type ModifyParameters<T extends KubeObject> = [
  resource: string,
  namespace: string | undefined,
  name: string,
  change: (current: T) => KubeObject,
  subresource?: string | undefined,
];

/** Carries the unchanged object out of the update. */
class Unchanged<T> {
  constructor(readonly object: T) {}
}

async function modify<T extends KubeObject>(
  registry: Registry,
  context: RequestContext,
  [resource, namespace, name, change, subresource]: ModifyParameters<T>,
): Promise<T> {
  const transform = (current: KubeObject | undefined) => {
    if (current === undefined) throw new StatusError(missing(name));
    const changed = change(current as T);
    if (changed === current) throw new Unchanged(current as T);
    return changed;
  };
  try {
    return (await registry.store(resource).update(context, namespace, name, subresource, transform)).object as T;
  } catch (error) {
    if (error instanceof Unchanged) return error.object as T;
    throw error;
  }
}

/** Changes the stored object: what a controller created has no defaults, and decoding would add them. */
async function patch<T extends KubeObject>(
  registry: Registry,
  context: RequestContext,
  [resource, namespace, name, type, body, subresource]: Parameters<LocalClient["patch"]>,
): Promise<T> {
  const store = registry.store(resource);
  const { uid } = body.metadata;
  const isStrategic = type === "application/strategic-merge-patch+json";
  const transform = (current: KubeObject | undefined) => {
    if (current === undefined) throw new StatusError(missing(name));
    // Applying takes the directives out of a patch, and a conflict applies it again.
    const patched = isStrategic
      ? applyStrategicMergePatch({ ...current }, structuredClone({ ...body }), store.definition.schema)
      : applyMergePatch(current, body);
    return withoutEmptyLists(patched as KubeObject);
  };
  return (await store.update(context, namespace, name, subresource, transform, defined({ uid }))).object as T;
}

/** As Go leaves them out of the metadata (omitempty). */
function withoutEmptyLists(object: KubeObject): KubeObject {
  const kept = Object.entries(object.metadata).filter(([, value]) => !Array.isArray(value) || value.length > 0);
  return { ...object, metadata: Object.fromEntries(kept) };
}

/** Does not create a missing object, even if an update could. */
function missing(name: string): ConstructorParameters<typeof StatusError>[0] {
  const message = `"${name}" not found`;
  return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", reason: "NotFound", message, code: 404 };
}

async function orUndefined<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof StatusError && error.reason === "NotFound") return undefined;
    throw error;
  }
}
