import type { V1Deployment, V1ReplicationController } from "@kubernetes/client-node";
import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import type { Scale } from "../../../../staging/apimachinery/api/objects.js";
import { invalid, notFound } from "../../../../staging/apimachinery/errors.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { formatLabelSelector, formatLabels, NONE } from "./cells.js";
import type { ResourceDefinition, ScaleView } from "./definition.js";
import { invalidValue } from "./field-errors.js";

/**
 * The scale subresource of a workload: how many pods it wants, and which ones are its pods.
 * Mirrors pkg/registry/apps/deployment/storage/storage.go (scaleFromDeployment, scaleUpdatedObjectInfo), also for the other
 * workloads.
 */

/** Any kind with a scale; a replication controller differs in its selector. */
type Workload = Wire<V1Deployment>;

export const SCALE_KIND = { group: "autoscaling", version: "v1", kind: "Scale", schema: "Scale" } as const;

function scaleOf(object: KubeObject): Scale {
  const { spec, status } = object as Workload;
  const count = spec?.replicas ?? 0;
  // A replication controller's selector is a plain map.
  const shown =
    object.kind === "ReplicationController"
      ? formatLabels((object as Wire<V1ReplicationController>).spec?.selector)
      : formatLabelSelector(spec?.selector);
  return scaleWith(object, count, {
    replicas: status?.replicas ?? 0,
    ...(shown === NONE ? {} : { selector: shown }),
  });
}

/** The scale of an object. @param count the pods that it wants */
export function scaleWith({ metadata }: KubeObject, count: number, status: NonNullable<Scale["status"]>): Scale {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  return {
    kind: SCALE_KIND.kind,
    apiVersion: "autoscaling/v1",
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp } as KubeObject["metadata"],
    spec: count === 0 ? {} : { replicas: count },
    status,
  };
}

/** The workload with the number of pods that the scale wants. @throws StatusError 422 */
function withScale(current: KubeObject, scale: Scale): KubeObject {
  const { replicas, metadata } = wantedScale(current, scale);
  return { ...current, metadata, spec: { ...(current as Workload).spec, replicas } };
}

/** What an update of a scale asks for, with the object's metadata. @throws StatusError 422 */
export function wantedScale(
  current: KubeObject,
  { metadata, spec }: Scale,
): Pick<KubeObject, "metadata"> & { replicas: number } {
  const { replicas = 0 } = spec ?? {};
  if (replicas < 0) {
    const errors = [invalidValue("spec.replicas", replicas, "must be greater than or equal to 0")];
    throw invalid(SCALE_KIND, metadata.name ?? "", errors);
  }
  // A resourceVersion in the request is a precondition; without one, the last write wins.
  const { resourceVersion = "" } = metadata;
  return { replicas, metadata: resourceVersion === "" ? current.metadata : { ...current.metadata, resourceVersion } };
}

/** What `/scale` shows of an object of this kind. */
export function scaleViewOf({ scale }: ResourceDefinition): ScaleView {
  return scale ?? WORKLOAD_SCALE;
}

const WORKLOAD_SCALE: ScaleView = { scaleOf, withScale };

/** `deployments/scale.apps "web" not found` */
export function scaleNotFound({ group, resource, custom }: ResourceDefinition, name: string) {
  if (custom !== undefined) return notFound({ group, resource }, name);
  return notFound({ group, resource: `${resource}/scale` }, name);
}
