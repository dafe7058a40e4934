import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import type { DeleteOptions } from "../../../../staging/apimachinery/api/options.js";
import { conflict, invalid } from "../../../../staging/apimachinery/errors.js";
import type { ResourceDefinition, StrategyContext } from "./definition.js";
import { invalidValue, notSupported } from "./field-errors.js";
import { timestamp, withMeta } from "./object-meta.js";
import { FINALIZER_FOREGROUND, FINALIZER_ORPHAN } from "./validate-meta.js";

/** What a DELETE does to an object in its current state. */
export type DeletionPlan =
  /** the object is removed at once */
  | { readonly type: "remove" }
  /** the object is being deleted already, and this request changes nothing */
  | { readonly type: "pending" }
  /** the object is marked and stays, or is removed right after that (`thenRemove`): two events with two revisions */
  | { readonly type: "mark"; readonly object: KubeObject; readonly thenRemove: boolean };

/**
 * Decides how grace periods and finalizers affect a deletion. Pure.
 *
 * Mirrors k8s.io/apiserver/pkg/registry/rest/delete.go (BeforeDelete) and
 * pkg/registry/generic/registry/store.go (updateForGracefulDeletionAndFinalizers,
 * deletionFinalizersForGarbageCollection).
 * @throws StatusError 422 for invalid options, 409 for a failed precondition
 */
export function planDeletion(
  definition: ResourceDefinition,
  object: KubeObject,
  options: DeleteOptions,
  context: StrategyContext,
): DeletionPlan {
  validateOptions(options);
  checkPreconditions(definition, object, options);
  const { strategy } = definition;
  if (strategy.defaultGarbageCollection !== undefined && hasNoPolicy(options)) {
    context.warn(strategy.defaultGarbageCollection.warning);
  }
  if (strategy.hasOwnFinalizers?.(object) === true) {
    if (object.metadata.deletionTimestamp !== undefined) return { type: "pending" };
    const finalizers = finalizersFor(definition, object, options);
    const marked = withMeta(object, {
      deletionTimestamp: timestamp(context.nowMs),
      finalizers: finalizers.length > 0 ? finalizers : undefined,
    });
    return { type: "mark", object: strategy.prepareForDelete?.(marked, context) ?? marked, thenRemove: false };
  }
  const grace = graceFor(definition, object, options, context);
  if (grace === "pending") return { type: "pending" };
  const finalizers = finalizersFor(definition, object, options);
  const isHeld = finalizers.length > 0;
  if (grace === "none" && !isHeld) return { type: "remove" };
  const meta = grace === "none" ? markedNow(object, context.nowMs) : grace;
  const generation =
    object.metadata.deletionTimestamp === undefined ? bumped(object.metadata.generation) : object.metadata.generation;
  const marked = withMeta(object, { ...meta, generation, finalizers: isHeld ? finalizers : undefined });
  const prepared = strategy.prepareForDelete?.(marked, context) ?? marked;
  return { type: "mark", object: prepared, thenRemove: !isHeld && meta.deletionGracePeriodSeconds === 0 };
}

/** Mirrors ValidateDeleteOptions in k8s.io/apimachinery/pkg/apis/meta/v1/validation/validation.go. */
function validateOptions({ propagationPolicy, orphanDependents }: DeleteOptions): void {
  if (propagationPolicy === undefined) return;
  const policies = ["Foreground", "Background", "Orphan"];
  const errors = [
    ...(orphanDependents === undefined
      ? []
      : [
          invalidValue(
            "propagationPolicy",
            propagationPolicy,
            "orphanDependents and deletionPropagation cannot be both set",
          ),
        ]),
    ...(policies.includes(propagationPolicy)
      ? []
      : [notSupported("propagationPolicy", propagationPolicy, [...policies, "nil"])]),
  ];
  if (errors.length > 0) throw invalid({ group: "meta.k8s.io", kind: "DeleteOptions" }, "", errors);
}

/** These messages name the kind; other conflicts name the resource. @throws StatusError 409 */
export function checkPreconditions(
  { group, kind }: ResourceDefinition,
  object: KubeObject,
  options: DeleteOptions,
): void {
  const { name = "", uid = "", resourceVersion = "" } = object.metadata;
  const wanted = options.preconditions ?? {};
  if (wanted.uid !== undefined && wanted.uid !== uid) {
    const text = `the UID in the precondition (${wanted.uid}) does not match the UID in record (${uid}). The object might have been deleted and then recreated`;
    throw conflict({ group, resource: kind }, name, text);
  }
  if (wanted.resourceVersion !== undefined && wanted.resourceVersion !== resourceVersion) {
    const text = `the ResourceVersion in the precondition (${wanted.resourceVersion}) does not match the ResourceVersion in record (${resourceVersion}). The object might have been modified`;
    throw conflict({ group, resource: kind }, name, text);
  }
}

interface Grace {
  readonly deletionTimestamp: string;
  readonly deletionGracePeriodSeconds: number;
}

function graceFor(
  { strategy }: ResourceDefinition,
  object: KubeObject,
  options: DeleteOptions,
  { nowMs }: StrategyContext,
): Grace | "none" | "pending" {
  if (strategy.gracePeriodSeconds === undefined) return "none";
  const asked =
    options.gracePeriodSeconds !== undefined && options.gracePeriodSeconds < 0 ? 1 : options.gracePeriodSeconds;
  const { deletionTimestamp, deletionGracePeriodSeconds } = object.metadata;
  if (typeof deletionTimestamp !== "string") {
    const seconds = strategy.gracePeriodSeconds(object, asked);
    if (seconds === undefined) return "none";
    return { deletionTimestamp: timestamp(nowMs + seconds * 1000), deletionGracePeriodSeconds: seconds };
  }
  // Marked with grace 0 but still there: finalizers, or a removal that was interrupted.
  if (deletionGracePeriodSeconds === undefined || deletionGracePeriodSeconds === 0) return "none";
  if (asked === undefined || asked >= deletionGracePeriodSeconds) return "pending";
  const requestedMs = Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1000;
  return { deletionTimestamp: timestamp(requestedMs + asked * 1000), deletionGracePeriodSeconds: asked };
}

/** Mirrors markAsDeleting: finalizers delay the removal of an object whose kind has no grace period. */
function markedNow({ metadata }: KubeObject, nowMs: number): Grace {
  const now = timestamp(nowMs);
  const { deletionTimestamp } = metadata;
  const isMarked = typeof deletionTimestamp === "string" && Date.parse(deletionTimestamp) <= nowMs;
  return { deletionTimestamp: isMarked ? deletionTimestamp : now, deletionGracePeriodSeconds: 0 };
}

function bumped(generation: number | undefined): number | undefined {
  return generation === undefined || generation === 0 ? generation : generation + 1;
}

/** Sets the two finalizers of garbage collection if the options or the kind's default name a policy. */
function finalizersFor(
  { strategy }: ResourceDefinition,
  { metadata }: KubeObject,
  options: DeleteOptions,
): readonly string[] {
  const present = metadata.finalizers ?? [];
  const { propagationPolicy, orphanDependents } = options;
  if (hasNoPolicy(options)) {
    const isDecided = present.some((one) => one === FINALIZER_ORPHAN || one === FINALIZER_FOREGROUND);
    return isDecided || strategy.defaultGarbageCollection === undefined ? present : [...present, FINALIZER_ORPHAN];
  }
  const others = present.filter((one) => one !== FINALIZER_ORPHAN && one !== FINALIZER_FOREGROUND);
  if (orphanDependents === true || propagationPolicy === "Orphan") return [...others, FINALIZER_ORPHAN];
  if (propagationPolicy === "Foreground") return [...others, FINALIZER_FOREGROUND];
  return others;
}

function hasNoPolicy({ propagationPolicy, orphanDependents }: DeleteOptions): boolean {
  return propagationPolicy === undefined && orphanDependents === undefined;
}
