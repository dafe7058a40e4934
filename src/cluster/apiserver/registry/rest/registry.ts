import type { KubeList, KubeObject, WatchEvent } from "../../../../staging/apimachinery/api/meta.js";
import type { DeleteOptions, ListOptions, WatchOptions } from "../../../../staging/apimachinery/api/options.js";
import type { UserInfo } from "../../../../staging/server/authentication/user.js";
import type { ResourceKeys } from "../../storage/keys.js";
import type { ResourceDefinition } from "./definition.js";
import type { ReportStage } from "./stages.js";

/** All stores, by resource. The API server's handlers, the authorizers and the controllers' client use it. */
export interface Registry {
  /** A live list: custom resources come and go. */
  readonly definitions: readonly ResourceDefinition[];
  /**
   * Replaces the rows of one owner. The watches of rows that go end.
   * @param owner the name of a CustomResourceDefinition
   */
  serve(owner: string, rows: readonly ResourceDefinition[]): void;
  /** Calls back after each change of the definitions, as long as the registry lives. */
  onChange(listener: () => void): void;
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

/** Mirrors rest.UpdatedObjectInfo's Preconditions: only a PUT has them; a PATCH changes the current object. */
export interface UpdateOptions {
  readonly uid?: string;
  /** creates a missing object, whatever the strategy allows (server-side apply) */
  readonly forceAllowCreate?: boolean;
}

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
