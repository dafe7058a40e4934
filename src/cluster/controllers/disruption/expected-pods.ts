import type { V1Scale } from "@kubernetes/client-node";
import type { KubeObject, OwnerReference } from "../../../staging/apimachinery/api/meta.js";
import { nameOf, type PodObject } from "../../../staging/apimachinery/api/objects.js";
import type { ApiResource } from "../../../staging/apimachinery/api/resource.js";
import { qualifiedResource } from "../../../staging/apimachinery/errors.js";
import { scaledValue } from "../../../staging/apimachinery/int-or-string.js";
import type { PodDisruptionBudget } from "../../../staging/apimachinery/policyv1/pod-disruption-budget.js";
import type { Wire } from "../../../staging/apimachinery/wire.js";
import { isSet } from "../../../util/records.js";
import { controllerOf } from "../support/controller-ref.js";

/** How many pods a budget's numbers refer to. Mirrors pkg/controller/disruption/disruption.go. */

/** A workload with a size: a ReplicaSet, a Deployment, a StatefulSet, … */
type Scalable = KubeObject & Pick<Wire<V1Scale>, "spec">;

export interface ScaleLookup {
  /** the table of resources */
  readonly definitions: readonly ApiResource[];
  /** Reads the cache. @param resource `replicasets.apps` */
  get(resource: string, namespace: string | undefined, name: string): Scalable | undefined;
}

export interface ExpectedPods {
  readonly expectedCount: number;
  readonly desiredHealthy: number;
  /** without a controller, so that they count for no percentage */
  readonly unmanagedPods: readonly PodObject[];
  /** `minAvailable 50% of 4 pods` */
  readonly why: string;
}

/**
 * A percentage, or a number of unavailable pods, refers to what the pods' controllers want; a number of available ones needs no
 * total. Mirrors getExpectedPodCount.
 * @throws Error if the size of a controller cannot be found
 */
export function getExpectedPodCount(
  { spec }: PodDisruptionBudget,
  pods: readonly PodObject[],
  lookup: ScaleLookup,
): ExpectedPods {
  const { minAvailable, maxUnavailable } = spec ?? {};
  if (isSet(maxUnavailable)) {
    const { expectedCount, unmanagedPods } = getExpectedScale(pods, lookup);
    const desiredHealthy = Math.max(0, expectedCount - scaledValue(maxUnavailable, expectedCount, true));
    return {
      expectedCount,
      desiredHealthy,
      unmanagedPods,
      why: `maxUnavailable ${maxUnavailable} of ${expectedCount}`,
    };
  }
  if (typeof minAvailable === "string") {
    const { expectedCount, unmanagedPods } = getExpectedScale(pods, lookup);
    const desiredHealthy = scaledValue(minAvailable, expectedCount, true);
    return { expectedCount, desiredHealthy, unmanagedPods, why: `minAvailable ${minAvailable} of ${expectedCount}` };
  }
  const expectedCount = isSet(minAvailable) ? pods.length : 0;
  const desiredHealthy = minAvailable ?? 0;
  return {
    expectedCount,
    desiredHealthy,
    unmanagedPods: [],
    why: `minAvailable ${desiredHealthy} of ${expectedCount}`,
  };
}

/** Adds up the sizes of the pods' controllers, each once. Mirrors getExpectedScale. */
function getExpectedScale(pods: readonly PodObject[], lookup: ScaleLookup) {
  const scales = new Map<string, number>();
  const unmanagedPods: PodObject[] = [];
  for (const pod of pods) {
    const ref = controllerOf(pod);
    if (ref === undefined) unmanagedPods.push(pod);
    else if (!scales.has(ref.uid)) {
      const { uid, scale } = findScale(ref, pod, lookup);
      scales.set(uid, scale);
    }
  }
  const expectedCount = [...scales.values()].reduce((sum, scale) => sum + scale, 0);
  return { expectedCount, unmanagedPods };
}

/**
 * The size of a pod's controller; of a Deployment's ReplicaSet that of the Deployment, because during a rollout it has several.
 * Mirrors getPodDeployment, getPodReplicaSet, getPodStatefulSet, getPodReplicationController and getScaleController.
 * Differs: every kind with a scale is cached; upstream reads the scale of other kinds from the API server.
 */
function findScale(ref: OwnerReference, pod: PodObject, lookup: ScaleLookup) {
  const { namespace } = pod.metadata;
  const owner = lookUp(ref, namespace, lookup);
  const above = owner === undefined || owner.kind !== "ReplicaSet" ? undefined : controllerOf(owner);
  const found = above?.kind === "Deployment" ? lookUp(above, namespace, lookup) : owner;
  if (found === undefined) throw new Error(`found no controllers for pod ${JSON.stringify(nameOf(pod))}`);
  return { uid: found.metadata.uid ?? "", scale: found.spec?.replicas ?? 0 };
}

/** @returns undefined if the object is gone, or was replaced @throws Error if its kind has no size */
function lookUp(ref: OwnerReference, namespace: string | undefined, lookup: ScaleLookup): Scalable | undefined {
  const [group, version] = ref.apiVersion.includes("/") ? ref.apiVersion.split("/") : ["", ref.apiVersion];
  const isOlder = group === "extensions" && (ref.kind === "ReplicaSet" || ref.kind === "Deployment");
  const definition = lookup.definitions.find(
    (one) => one.kind === ref.kind && one.group === (isOlder ? "apps" : group),
  );
  if (definition === undefined || !(isOlder || definition.version === version)) {
    throw new Error(`no matches for kind ${JSON.stringify(ref.kind)} in version ${JSON.stringify(ref.apiVersion)}`);
  }
  const resource = qualifiedResource(definition);
  if (definition.subresources?.some(({ name }) => name === "scale") !== true) {
    throw new Error(`${resource} does not implement the scale subresource`);
  }
  const found = lookup.get(resource, namespace, ref.name);
  return found?.metadata.uid === ref.uid ? found : undefined;
}
