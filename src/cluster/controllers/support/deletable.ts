import type { ApiResource } from "../../../staging/apimachinery/api/resource.js";

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
