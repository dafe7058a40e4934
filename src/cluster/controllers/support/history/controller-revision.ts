import type { V1ControllerRevision } from "@kubernetes/client-node";
import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { nameOf } from "../../../../staging/apimachinery/api/objects.js";
import { goMapJson } from "../../../../staging/apimachinery/go-map-json.js";
import { sameJson } from "../../../../staging/apimachinery/same-json.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { defined } from "../../../../util/defined.js";
import { FNV_OFFSET, FNV_PRIME, safeEncodeString } from "../compute-hash.js";
import { newControllerRef } from "../controller-ref.js";
import type { PodTemplate } from "../pod-control.js";

/** One version of a workload's pod template. */
export type ControllerRevision = Wire<V1ControllerRevision>;
export const CONTROLLER_REVISIONS = "controllerrevisions.apps";

/** The label with the hash of the revision's data. */
const CONTROLLER_REVISION_HASH = "controller.kubernetes.io/hash";
/** So that the name with its hash is a DNS subdomain of at most 253 characters. */
const MAX_PREFIX_LENGTH = 223;

/** A workload whose templates are kept as revisions: a StatefulSet or a DaemonSet. */
export interface RevisedWorkload extends KubeObject {
  readonly spec?: { readonly template: PodTemplate } | undefined;
}

/**
 * The data of a revision: a strategic merge patch that gives the workload this template again. Its keys are sorted as Go sorts them,
 * because clients compare the text of two patches.
 * Mirrors getPatch in pkg/controller/statefulset/stateful_set_utils.go and pkg/controller/daemon/update.go.
 */
export function templatePatch({ spec }: RevisedWorkload): object {
  return JSON.parse(goMapJson({ spec: { template: { ...spec?.template, $patch: "replace" } } })) as object;
}

/**
 * A revision that the workload controls, named by its hash and not stored yet. Mirrors NewControllerRevision in
 * pkg/controller/history/controller_history.go.
 * @param revision its number
 */
export function newControllerRevision(
  parent: RevisedWorkload,
  revision: number,
  collisionCount?: number,
): ControllerRevision {
  const data = templatePatch(parent);
  const hash = hashControllerRevision({ data }, collisionCount);
  const { namespace } = parent.metadata;
  return {
    apiVersion: "apps/v1",
    kind: "ControllerRevision",
    metadata: {
      name: controllerRevisionName(nameOf(parent), hash),
      ...defined({ namespace }),
      labels: { ...parent.spec?.template.metadata?.labels, [CONTROLLER_REVISION_HASH]: hash },
      ownerReferences: [newControllerRef(parent)],
    },
    data,
    revision,
  };
}

/** `web-6596ffb55b`. Mirrors ControllerRevisionName. */
export function controllerRevisionName(prefix: string, hash: string): string {
  return `${prefix.slice(0, MAX_PREFIX_LENGTH)}-${hash}`;
}

/**
 * The hash of a revision's data, equal to upstream's. Mirrors HashControllerRevision (FNV-1 of 32 bits).
 * @param probe changes the hash after another object took the name
 */
export function hashControllerRevision({ data }: Pick<ControllerRevision, "data">, probe?: number): string {
  let hash = FNV_OFFSET;
  for (const byte of Buffer.from(`${goMapJson(data)}${probe ?? ""}`)) hash = (Math.imul(hash, FNV_PRIME) ^ byte) >>> 0;
  return safeEncodeString(String(hash));
}

/** The lowest number first, of equal ones the oldest. Mirrors SortControllerRevisions. */
export function byRevision(a: ControllerRevision, b: ControllerRevision): number {
  if (a.revision !== b.revision) return a.revision - b.revision;
  const [createdA, createdB] = [a.metadata.creationTimestamp ?? "", b.metadata.creationTimestamp ?? ""];
  if (createdA !== createdB) return createdA < createdB ? -1 : 1;
  return nameOf(a) < nameOf(b) ? -1 : 1;
}

/** The number after the highest; 1 for the first revision. Mirrors nextRevision in pkg/controller/statefulset/stateful_set_utils.go. */
export function nextRevision(revisions: readonly ControllerRevision[]): number {
  return Math.max(0, ...revisions.map(({ revision }) => revision)) + 1;
}

/** Mirrors EqualRevision. */
export function equalRevision(a: ControllerRevision, b: ControllerRevision): boolean {
  return sameJson(a.data, b.data);
}

/** In the order of `revisions`. Mirrors FindEqualRevisions. */
export function findEqualRevisions(
  revisions: readonly ControllerRevision[],
  wanted: ControllerRevision,
): ControllerRevision[] {
  return revisions.filter((one) => equalRevision(one, wanted));
}
