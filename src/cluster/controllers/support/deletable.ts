import type { ApiResource } from "../../../staging/apimachinery/api/resource.js";
import { qualifiedResource } from "../../../staging/apimachinery/errors.js";

/**
 * The resources whose objects can be listed, watched and deleted, without views of other resources.
 * Mirrors GetDeletableResources in pkg/controller/garbagecollector/garbagecollector.go.
 */
export function deletableResources(definitions: readonly ApiResource[]): readonly ApiResource[] {
  return definitions.filter(
    ({ virtual, storedAs, verbs }) =>
      virtual !== true && storedAs === undefined && ["delete", "list", "watch"].every((verb) => verbs.includes(verb)),
  );
}

/** `pods`, `leases.coordination.k8s.io`: the resource's name for a client. */
export function resourceKey(definition: ApiResource): string {
  return qualifiedResource(definition);
}

/** `v1`, `coordination.k8s.io/v1` */
export function apiVersionOf({ group, version }: ApiResource): string {
  return group === "" ? version : `${group}/${version}`;
}
