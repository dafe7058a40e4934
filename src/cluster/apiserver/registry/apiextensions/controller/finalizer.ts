import { messageOf } from "../../../../../util/errors.js";
import type { Registry, RequestContext } from "../../rest/registry.js";
import { isTrue } from "../conditions.js";
import type { Definition, DefinitionCondition } from "../types.js";

/** What became of the objects of a definition that is being deleted. */
export interface Cleanup {
  readonly condition: Omit<DefinitionCondition, "lastTransitionTime">;
  readonly isDone: boolean;
}

const terminating = (status: string, reason: string, message: string) => ({
  type: "Terminating",
  status,
  reason,
  message,
});

export const IN_PROGRESS = terminating("True", "InstanceDeletionInProgress", "CustomResource deletion is in progress");

/**
 * Deletes the objects of a definition.
 *
 * Mirrors deleteInstances in k8s.io/apiextensions-apiserver/pkg/controller/finalizer/crd_finalizer.go.
 * @param isServed whether the registry has the objects
 */
export async function deleteInstances(
  registry: Registry,
  definition: Definition,
  context: RequestContext,
  isServed: boolean,
): Promise<Cleanup> {
  if (!isTrue(definition, "Established") || !isServed) {
    return { condition: terminating("False", "NeverEstablished", "resource was never established"), isDone: true };
  }
  const { plural = "" } = definition.status?.acceptedNames ?? {};
  const failed = (what: string, error: unknown): Cleanup => {
    return { condition: terminating("True", "InstanceDeletionFailed", `${what}: ${messageOf(error)}`), isDone: false };
  };
  const store = registry.store(`${plural}.${definition.spec.group}`);
  try {
    await store.deleteCollection(context, undefined, {});
  } catch (error) {
    return failed("could not issue all deletes", error);
  }
  try {
    if ((await store.list(undefined)).items.length > 0) return { condition: IN_PROGRESS, isDone: false };
  } catch (error) {
    return failed("could not list instances", error);
  }
  return { condition: terminating("False", "InstanceDeletionCompleted", "removed all instances"), isDone: true };
}
