import type { Cause } from "../../../trace/trace.js";
import type { KubeObject } from "../../apimachinery/api/meta.js";
import type { DeleteOptions, ListOptions } from "../../apimachinery/api/options.js";
import type { UserInfo } from "../../server/authentication/user.js";

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
