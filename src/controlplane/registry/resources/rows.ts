import type { ResourceDefinition, Strategy, SubresourceDefinition } from "../definition.js";

/** Verbs of an ordinary stored resource, in the order of discovery. */
export const ALL_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"] as const;

const STATUS_VERBS = ["get", "patch", "update"] as const;

type RowOptions = Partial<Omit<ResourceDefinition, "group" | "version" | "kind" | "resource" | "strategy">>;

/**
 * A row of the resource table with what most kinds have in common.
 * @param groupVersion `v1`, or `apps/v1`
 */
export function row(
  groupVersion: string,
  kind: string,
  resource: string,
  strategy: Strategy,
  options: RowOptions = {},
): ResourceDefinition {
  const [group, version] = groupVersion.includes("/") ? groupVersion.split("/", 2) : ["", groupVersion];
  return {
    group: group ?? "",
    version: version ?? "",
    kind,
    resource,
    singular: kind.toLowerCase(),
    namespaced: true,
    verbs: ALL_VERBS,
    schema: kind,
    strategy,
    ...options,
  };
}

/** The `/status` subresource: `prepareForUpdate` must keep all but the status. */
export function statusOf(strategy: Pick<Strategy, "prepareForUpdate" | "validateUpdate">): SubresourceDefinition {
  return { name: "status", verbs: STATUS_VERBS, strategy };
}

/** A subresource with a kind of its own, which a special handler serves. */
export function special(
  name: string,
  kind: string,
  verbs: readonly string[],
  groupVersion?: string,
): SubresourceDefinition {
  const [group, version] = groupVersion?.split("/", 2) ?? [];
  return {
    name,
    kind,
    verbs,
    ...(group === undefined ? {} : { group }),
    ...(version === undefined ? {} : { version }),
  };
}
