import type { KubeList, KubeObject, WatchEvent } from "../../../../staging/apimachinery/api/meta.js";
import type { UserInfo } from "../../../../staging/server/authentication/user.js";
import type { Cause } from "../../../../trace/trace.js";
import type { ResourceKeys } from "../../storage/keys.js";
import type { ResourceDefinition } from "./definition.js";
import type { ReportStage } from "./stages.js";

/** All stores, by resource. The API server's handlers, the authorizers and the controllers' client use it. */
export interface Registry {
  readonly definitions: readonly ResourceDefinition[];
  /** @param resource `pods`, or `leases.coordination.k8s.io` @throws when the table has no such row */
  store(resource: string): ResourceStore;
  /** the current revision, as text */
  resourceVersion(): Promise<string>;
}

/** The requester, and what the response must return to it. One per request. */
export interface RequestContext {
  readonly user: UserInfo;
  readonly auditId?: string;
  readonly dryRun?: boolean;
  /** collects texts for `Warning: 299` headers */
  readonly warnings: string[];
  readonly signal?: AbortSignal;
  /** set if a trace keeps what is done with the request */
  readonly report?: ReportStage;
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
  /** seconds after which the stream ends normally; a bookmark is sent about 2 s before */
  readonly timeoutSeconds?: number;
}

export interface DeleteOptions {
  readonly gracePeriodSeconds?: number;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly propagationPolicy?: string;
  readonly orphanDependents?: boolean;
}

/** Mirrors rest.UpdatedObjectInfo's Preconditions: only a PUT has them; a PATCH changes the current object. */
export interface UpdateOptions {
  readonly uid?: string;
  /** creates a missing object, whatever the strategy allows (server-side apply) */
  readonly forceAllowCreate?: boolean;
}

/** The resourceVersion of a read that a watch cache can answer, as a lister's are. The newest state is not asked for. */
export const FROM_CACHE = "0";

/** Computes the object to store, again after each conflict. `undefined` current: it does not exist. */
export type Transform = (current: KubeObject | undefined) => KubeObject | Promise<KubeObject>;

/** The generic store of one resource. Mirrors k8s.io/apiserver/pkg/registry/generic/registry/store.go. All throw StatusError. */
export interface ResourceStore {
  readonly definition: ResourceDefinition;
  readonly keys: ResourceKeys;
  /** @param resourceVersion absent: the newest state */
  get(namespace: string | undefined, name: string, resourceVersion?: string): Promise<KubeObject>;
  /** @param options absent: everything, as `FROM_CACHE` */
  list(namespace: string | undefined, options?: ListOptions): Promise<KubeList>;
  /** Runs admission, strategy and validation, then stores. */
  create(context: RequestContext, namespace: string | undefined, object: KubeObject): Promise<KubeObject>;
  /**
   * Read, transform, admit, validate, compare-and-swap. Tries again after a conflict if `transform`'s result has no
   * resourceVersion, or the current one. Without a change nothing is written and the resourceVersion stays.
   * @param subresource `status`, `approval`: its own strategy is used; undefined: the main resource
   * @param options.uid the uid in a PUT's body: another uid in the store is a 409 before any other check
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
   * Starts with ADDED events of existing objects if resourceVersion is absent or "0". Ends at an abort or its timeout.
   * @throws StatusError synchronously for invalid options
   */
  watch(namespace: string | undefined, options: WatchOptions, signal: AbortSignal): AsyncIterable<WatchEvent>;
}

/**
 * A reflector's events, each with the cause of what it leads to if a trace keeps causes. A fresh list is not a change. Closer to
 * kube-rs's watcher than to client-go's informer.
 */
export type WatchItem<T extends KubeObject = KubeObject> = Cause &
  (
    | { readonly type: "init"; readonly object: T }
    | { readonly type: "initDone" }
    | { readonly type: "applied"; readonly object: T; readonly previous?: T | undefined }
    | { readonly type: "deleted"; readonly object: T }
  );

/** The kinds of patches that upstream's controllers send. */
export type LocalPatchType = "application/merge-patch+json" | "application/strategic-merge-patch+json";

/** A patch of a local client. */
export interface PatchBody extends Readonly<Record<string, unknown>> {
  readonly metadata: { readonly uid?: string | undefined } & Readonly<Record<string, unknown>>;
}

/**
 * A controller's client: the same stores as over HTTPS, with admission, without sockets.
 * Mirrors the loopback client of the API server. Not-found is `undefined`; other failures throw StatusError.
 */
export interface LocalClient {
  /** the user this client acts as, for example `system:serviceaccount:kube-system:node-controller` */
  readonly user: UserInfo;
  /** @param subresource `scale`: the answer is the workload's Scale */
  get<T extends KubeObject = KubeObject>(
    resource: string,
    namespace: string | undefined,
    name: string,
    subresource?: string,
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
  /** Optimistic: the resourceVersion of `object` must be current. @param subresource with `scale`, `object` is a Scale */
  update<T extends KubeObject = KubeObject>(resource: string, object: KubeObject, subresource?: string): Promise<T>;
  /** Read-modify-write with retries; `change` returns the same object to skip the write. @returns undefined if gone */
  modify<T extends KubeObject = KubeObject>(
    resource: string,
    namespace: string | undefined,
    name: string,
    change: (current: T) => KubeObject,
    subresource?: string,
  ): Promise<T | undefined>;
  /**
   * A PATCH. With `metadata.uid` it is refused for another object of this name, with `metadata.resourceVersion` for another version.
   * @returns undefined if gone
   */
  patch<T extends KubeObject = KubeObject>(
    resource: string,
    namespace: string | undefined,
    name: string,
    type: LocalPatchType,
    body: PatchBody,
    subresource?: string,
  ): Promise<T | undefined>;
  delete(resource: string, namespace: string | undefined, name: string, options?: DeleteOptions): Promise<boolean>;
  /**
   * Lists, then watches, and lists again after a broken watch, until `signal` aborts (a normal end). Keeps no objects: a
   * `SharedReflector` finds those that a broken watch lost.
   */
  reflect<T extends KubeObject = KubeObject>(resource: string, signal: AbortSignal): AsyncIterable<WatchItem<T>>;
}
