import type { KubeList, KubeObject, WatchEvent } from "../../apimachinery/api/meta.js";
import type { UserInfo } from "../../server/authentication/user.js";
import type { ResourceDefinition } from "./definition.js";

/** Everything that can be stored, by resource. The API server's handlers, the authorizers and the controllers' client stand on it. */
export interface Registry {
  readonly definitions: readonly ResourceDefinition[];
  /** @param resource `pods`, or `leases.coordination.k8s.io` @throws when no such row exists: a programmer's mistake */
  store(resource: string): ResourceStore;
  /** the current revision, as text */
  resourceVersion(): Promise<string>;
}

/** Who asks, and what the answer must carry back. One per request. */
export interface RequestContext {
  readonly user: UserInfo;
  readonly auditId?: string;
  readonly dryRun?: boolean;
  /** collects texts for `Warning: 299` headers */
  readonly warnings: string[];
  readonly signal?: AbortSignal;
}

export interface ListOptions {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly limit?: number;
  readonly continue?: string;
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: string;
}

export interface WatchOptions {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: string;
  readonly allowWatchBookmarks?: boolean;
  readonly sendInitialEvents?: boolean;
  /** seconds after which the stream ends cleanly; a bookmark goes out about 2 s before */
  readonly timeoutSeconds?: number;
}

export interface DeleteOptions {
  readonly gracePeriodSeconds?: number;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly propagationPolicy?: string;
  readonly orphanDependents?: boolean;
}

/** Mirrors rest.UpdatedObjectInfo's Preconditions: only a PUT has them, a PATCH changes what it finds. */
export interface UpdateOptions {
  readonly uid?: string;
  /** creates what is not there, whatever the strategy says (server-side apply) */
  readonly forceAllowCreate?: boolean;
}

/** Makes the object to store out of the current one; called again after a lost race. `undefined` current: it does not exist. */
export type Transform = (current: KubeObject | undefined) => KubeObject | Promise<KubeObject>;

/** The generic store of one resource. Mirrors k8s.io/apiserver/pkg/registry/generic/registry/store.go. All throw StatusError. */
export interface ResourceStore {
  readonly definition: ResourceDefinition;
  get(namespace: string | undefined, name: string, resourceVersion?: string): Promise<KubeObject>;
  list(namespace: string | undefined, options?: ListOptions): Promise<KubeList>;
  /** Runs admission, strategy and validation, then stores. */
  create(context: RequestContext, namespace: string | undefined, object: KubeObject): Promise<KubeObject>;
  /**
   * Read, transform, admit, validate, compare-and-swap; tries again when `transform`'s result carries no (or an unchanged)
   * resourceVersion and somebody else wrote in between. No change: nothing is written, the resourceVersion stays.
   * @param subresource `status`, `approval`: its own strategy is used; undefined: the main resource
   * @param options.uid the uid in a PUT's body: another one in the store is a 409 before anything else is looked at
   */
  update(
    context: RequestContext,
    namespace: string | undefined,
    name: string,
    subresource: string | undefined,
    transform: Transform,
    options?: UpdateOptions,
  ): Promise<{ readonly object: KubeObject; readonly created: boolean }>;
  /** @returns the object as it was last stored, and whether it is gone or only marked */
  delete(
    context: RequestContext,
    namespace: string | undefined,
    name: string,
    options?: DeleteOptions,
  ): Promise<{ readonly object: KubeObject; readonly gone: boolean }>;
  deleteCollection(
    context: RequestContext,
    namespace: string | undefined,
    options: ListOptions & DeleteOptions,
  ): Promise<KubeList>;
  /**
   * Begins with ADDED events of what exists when resourceVersion is absent or "0". Ends when `signal` aborts or at its timeout.
   * @throws StatusError at once, before the first event is asked for, when the options are wrong
   */
  watch(namespace: string | undefined, options: WatchOptions, signal: AbortSignal): AsyncIterable<WatchEvent>;
}

/** What a reflector sees: a fresh list is not a change. Mirrors kube-rs's watcher events more than client-go's informer. */
export type WatchItem<T extends KubeObject = KubeObject> =
  | { readonly type: "init"; readonly object: T }
  | { readonly type: "initDone" }
  | { readonly type: "applied"; readonly object: T; readonly previous: T | undefined }
  | { readonly type: "deleted"; readonly object: T };

/**
 * The controllers' door to the cluster: the same stores as over HTTPS, with admission, without sockets.
 * Mirrors the loopback client of the API server. Not-found is `undefined`; other failures throw StatusError.
 */
export interface LocalClient {
  /** the user this client acts as, for example `system:serviceaccount:kube-system:node-controller` */
  readonly user: UserInfo;
  get<T extends KubeObject = KubeObject>(
    resource: string,
    namespace: string | undefined,
    name: string,
  ): Promise<T | undefined>;
  list<T extends KubeObject = KubeObject>(
    resource: string,
    namespace?: string,
    options?: ListOptions,
  ): Promise<readonly T[]>;
  create<T extends KubeObject = KubeObject>(
    resource: string,
    namespace: string | undefined,
    object: KubeObject,
  ): Promise<T>;
  /** Optimistic: the resourceVersion of `object` must be current. */
  update<T extends KubeObject = KubeObject>(resource: string, object: KubeObject, subresource?: string): Promise<T>;
  /** Read-modify-write with retries; `change` returns the same object to leave it alone. @returns undefined when it is gone */
  modify<T extends KubeObject = KubeObject>(
    resource: string,
    namespace: string | undefined,
    name: string,
    change: (current: T) => KubeObject,
    subresource?: string,
  ): Promise<T | undefined>;
  delete(resource: string, namespace: string | undefined, name: string, options?: DeleteOptions): Promise<boolean>;
  /** Lists, then watches, and lists anew after a break, until `signal` aborts (normal end). */
  reflect<T extends KubeObject = KubeObject>(
    resource: string,
    signal: AbortSignal,
    options?: Pick<ListOptions, "labelSelector" | "fieldSelector"> & { readonly namespace?: string },
  ): AsyncIterable<WatchItem<T>>;
}
