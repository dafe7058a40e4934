import { qualifiedResource } from "../errors.js";
import type { CustomKind } from "./custom-kind.js";

/** What discovery knows about a kind. Mirrors metav1.APIResource in k8s.io/apimachinery/pkg/apis/meta/v1/types.go. */
export interface ApiResource {
  /** "" for the core group */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** the plural: `certificatesigningrequests` */
  readonly resource: string;
  readonly singular: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly namespaced: boolean;
  /** as discovery lists them, in upstream's order */
  readonly verbs: readonly string[];
  /** upstream's storageVersionHash, as discovery shows it */
  readonly storageVersionHash?: string;
  /** served, but never stored: reviews */
  readonly virtual?: boolean;
  /** virtual, but read as if it were stored: each read computes the objects (metrics) */
  readonly computed?: boolean;
  /** name of the type in the schema table, for example `Pod` */
  readonly schema: string;
  /** a kind that a CustomResourceDefinition describes */
  readonly custom?: CustomKind;
  /** stored, but not served in this version: other versions are views of it */
  readonly isHidden?: boolean;
  readonly subresources?: readonly { readonly name: string }[];
  /** A view of objects that another resource stores: `events` */
  readonly storedAs?: { readonly resource: string };
}

/**
 * The row's name in `Registry.store`: `pods`, `leases.coordination.k8s.io`. Another version of a resource has its version in
 * the name: `horizontalpodautoscalers.v1.autoscaling`.
 */
export function storeName({ group, version, resource, storedAs }: ApiResource): string {
  const name = qualifiedResource({ group, resource });
  return storedAs?.resource === name ? `${resource}.${version}.${group}` : name;
}

/** `v1`, `apps/v1`. Mirrors GroupVersion.String in k8s.io/apimachinery/pkg/runtime/schema/group_version.go. */
export function groupVersion({ group, version }: Pick<ApiResource, "group" | "version">): string {
  return group === "" ? version : `${group}/${version}`;
}
