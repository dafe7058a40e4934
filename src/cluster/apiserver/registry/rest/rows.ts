import { createHash } from "node:crypto";
import type { ResourceDefinition, Strategy, SubresourceDefinition } from "./definition.js";

/** Verbs of an ordinary stored resource, in the order of discovery. */
const ALL_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"] as const;

const VIEW_VERBS = ["get", "patch", "update"] as const;

interface RowOptions
  extends Partial<
    Omit<ResourceDefinition, "group" | "version" | "kind" | "resource" | "strategy" | "storageVersionHash">
  > {
  /** the group/version that upstream stores objects as, if it differs: it is part of discovery's hash */
  readonly storageVersion?: string;
}

/**
 * Creates a row of the resource table with the defaults of most kinds.
 * @param groupVersion `v1`, or `apps/v1`
 */
export function row(
  groupVersion: string,
  kind: string,
  resource: string,
  strategy: Strategy,
  { storageVersion = groupVersion, ...options }: RowOptions = {},
): ResourceDefinition {
  const [group, version] = splitGroupVersion(groupVersion);
  return {
    group,
    version,
    kind,
    resource,
    singular: kind.toLowerCase(),
    namespaced: true,
    verbs: ALL_VERBS,
    schema: kind,
    strategy,
    ...options,
    get storageVersionHash() {
      return storageVersionHash(storageVersion, kind);
    },
  };
}

/** A kind that is posted and answered, but never stored. */
export function virtualRow(
  groupVersion: string,
  kind: string,
  resource: string,
  options: Partial<ResourceDefinition> = {},
): ResourceDefinition {
  const [group, version] = splitGroupVersion(groupVersion);
  return {
    group,
    version,
    kind,
    resource,
    singular: kind.toLowerCase(),
    namespaced: false,
    verbs: ["create"],
    virtual: true,
    schema: kind,
    strategy: {},
    ...options,
  };
}

function splitGroupVersion(groupVersion: string): [group: string, version: string] {
  const slash = groupVersion.indexOf("/");
  return slash < 0 ? ["", groupVersion] : [groupVersion.slice(0, slash), groupVersion.slice(slash + 1)];
}

/** Changes with the stored version. Mirrors k8s.io/apiserver/pkg/endpoints/discovery/storageversionhash.go. */
function storageVersionHash(groupVersion: string, kind: string): string {
  const name = `${splitGroupVersion(groupVersion).join("/")}/${kind}`;
  return createHash("sha256").update(name).digest().subarray(0, 8).toString("base64");
}

/** The `/status` subresource. Without a strategy only the status changes. */
export function statusOf(
  strategy: Pick<Strategy, "prepareForUpdate" | "validateUpdate"> = KEEP_ALL_BUT_STATUS,
): SubresourceDefinition {
  return { name: "status", verbs: VIEW_VERBS, strategy };
}

const KEEP_ALL_BUT_STATUS: Pick<Strategy, "prepareForUpdate"> = {
  prepareForUpdate: (object, old) => ({ ...object, spec: old.spec }),
};

/** `/scale`: only the number of pods that a workload wants. */
export const SCALE = action("scale", "Scale", VIEW_VERBS, "autoscaling/v1");

/** A subresource with a separate kind, which an action handler serves. */
export function action(
  name: string,
  kind: string,
  verbs: readonly string[],
  groupVersion?: string,
): SubresourceDefinition {
  if (groupVersion === undefined) return { name, kind, verbs };
  const [group, version] = splitGroupVersion(groupVersion);
  return { name, kind, verbs, group, version };
}
