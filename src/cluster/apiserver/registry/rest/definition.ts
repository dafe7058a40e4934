import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import type { Scale } from "../../../../staging/apimachinery/api/objects.js";
import type { ApiResource } from "../../../../staging/apimachinery/api/resource.js";
import type { FieldError } from "../../../../staging/apimachinery/errors.js";
import type { UserInfo } from "../../../../staging/server/authentication/user.js";
import type { HookDeps, StoreHooks } from "./store-hooks.js";

/**
 * One row of the resource table: everything about a kind that the generic store, discovery, tables and validators need.
 * A new kind is a new row; no other part of the API server knows kinds by name.
 */
export interface ResourceDefinition extends ApiResource {
  readonly subresources?: readonly SubresourceDefinition[];
  readonly strategy: Strategy;
  /** columns and cells for `as=Table`; absent: Name and Created At */
  readonly table?: TableDefinition;
  /** values for field selectors, in addition to metadata.name and metadata.namespace */
  selectableFields?(object: KubeObject): Readonly<Record<string, string>>;
  /** the release that began to serve it; absent: 1.25 or before */
  readonly since?: string;
  /** A view of objects that another row stores (events.k8s.io over core events). It has no keys. */
  readonly storedAs?: StoredAs;
  /** Brings a stored object into the form of the present schema, when it is read. Absent: it is in that form. */
  readStored?(stored: KubeObject): KubeObject;
  /** the kind of lists, if it is not the kind with List behind it */
  readonly listKind?: string;
  /** what the scale subresource shows; absent: the replicas of a workload */
  readonly scale?: ScaleView;
  /** a warning in each answer */
  readonly deprecationWarning?: string;
  /** Makes what runs around the writes of a registry's objects: services allocate addresses. */
  createHooks?(deps: HookDeps): StoreHooks;
  /** ms after the last write until a storage with leases deletes the object. Mirrors TTLFunc. @param kubeVersion `1.25` */
  timeToLiveMs?(kubeVersion: string): number;
  /** DELETE returns the object instead of a Status (pods, namespaces, serviceaccounts, …) */
  readonly deleteReturnsObject?: boolean;
}

/** How the scale subresource reads and changes an object. */
export interface ScaleView {
  /** @throws StatusError */
  scaleOf(object: KubeObject): Scale;
  /** The object with the number of replicas that the scale wants. @throws StatusError 422 */
  withScale(current: KubeObject, scale: Scale): KubeObject;
}

/** Conversion between this row's kind and the stored kind. */
export interface StoredAs {
  /** the row that stores the objects, as for `Registry.store`: `events` */
  readonly resource: string;
  toStored(object: KubeObject): KubeObject;
  fromStored(stored: KubeObject): KubeObject;
}

export interface SubresourceDefinition {
  /** `status`, `approval`, `binding`, `eviction`, `token`, … */
  readonly name: string;
  /** the kind in discovery if it is not the parent's: `Binding` */
  readonly kind?: string;
  readonly group?: string;
  readonly version?: string;
  /** older versions that a body can have. Mirrors rest.GroupVersionAcceptor */
  readonly olderVersions?: readonly string[];
  readonly verbs: readonly string[];
  /** For views of the same object (status, approval): how to prepare and check an update. */
  readonly strategy?: Pick<Strategy, "prepareForUpdate" | "validateUpdate">;
}

/** What the store passes to a strategy. */
export interface StrategyContext {
  readonly user: UserInfo;
  /** Unix ms on the control plane's clock */
  readonly nowMs: number;
  readonly kubeVersion: string;
  /** adds a `Warning: 299` header to the answer */
  warn(text: string): void;
  /** reports to the trace which fields of a stored object have no effect here */
  report(what: string, why: string): void;
}

/**
 * What a kind adds to the generic store. Mirrors rest.RESTCreateStrategy and its relatives in
 * k8s.io/apiserver/pkg/registry/rest. Objects are immutable: `prepare…` returns a new one. The generic store itself
 * handles names, namespaces, uid, times, generateName, resourceVersion, finalizers and deletion.
 */
export interface Strategy {
  /** Drops fields that clients cannot set and sets the server's fields. The schema's defaults are already set. */
  prepareForCreate?(object: KubeObject, context: StrategyContext): KubeObject;
  validate?(object: KubeObject, context: StrategyContext): FieldError[];
  prepareForUpdate?(object: KubeObject, old: KubeObject, context: StrategyContext): KubeObject;
  validateUpdate?(object: KubeObject, old: KubeObject, context: StrategyContext): FieldError[];
  /** The texts of `Warning` headers about a valid object. Mirrors WarningsOnCreate and WarningsOnUpdate. */
  warningsOnCreate?(object: KubeObject, context: StrategyContext): readonly string[];
  warningsOnUpdate?(object: KubeObject, old: KubeObject, context: StrategyContext): readonly string[];
  /** checks metadata.name; absent: a DNS subdomain. @returns messages with upstream's text */
  validateName?(name: string): string[];
  /** a PUT of a missing object creates it (leases) */
  readonly allowCreateOnUpdate?: boolean;
  /** a PUT without resourceVersion overwrites (nodes: yes, leases: no) */
  readonly allowUnconditionalUpdate?: boolean;
  /** What a DELETE without options does with the dependents; absent: they are deleted. Mirrors GarbageCollectionDeleteStrategy. */
  readonly defaultGarbageCollection?: { readonly policy: "Orphan"; readonly warning: string };
  /** Other changes when an object is only marked for deletion: a namespace's phase. */
  prepareForDelete?(object: KubeObject, context: StrategyContext): KubeObject;
  /** Reports whether finalizers outside metadata delay the deletion: a namespace's spec.finalizers. */
  hasOwnFinalizers?(object: KubeObject): boolean;
  /** seconds between mark and removal (pods); undefined: removed at once unless it has finalizers */
  gracePeriodSeconds?(object: KubeObject, asked: number | undefined): number | undefined;
}

export interface TableColumn {
  readonly name: string;
  readonly type: "string" | "integer" | "date" | "number" | "boolean";
  readonly format: string;
  readonly description: string;
  /** 0: always shown; 1: with -o wide */
  readonly priority: number;
}

export interface TableDefinition {
  readonly columns: readonly TableColumn[];
  cells(object: KubeObject, nowMs: number): unknown[];
  /** `rows[].conditions`: a finished pod is marked Completed; empty: the key is omitted */
  conditions?(object: KubeObject): readonly TableRowCondition[];
}

export interface TableRowCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}
