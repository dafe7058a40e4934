import type { V1Volume } from "@kubernetes/client-node";
import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import { claimReferenceOf } from "../../staging/apimachinery/corev1/pod-references.js";
import type { Wire } from "../../staging/apimachinery/wire.js";
import { isSuccess, statusMessage } from "../../staging/client-go/rest/answers.js";
import type { KubeClient } from "../../staging/client-go/rest/client.js";
import { objectPath } from "../../staging/client-go/rest/paths.js";
import type { Claim, Volume } from "../../staging/component-helpers/storage/volume.js";
import { defined } from "../../util/defined.js";
import { messageOf } from "../../util/errors.js";

/** A claim that cannot be used: the pod's sync ends with this text, and tries again later. */
export class ClaimError extends Error {
  override readonly name = "ClaimError";
}

/** What is to be mounted: the pod's volume, or what its claim is bound to. */
export interface VolumeSpec {
  /** the name in Events: for a claim the name of its persistent volume */
  readonly name: string;
  readonly source: Wire<V1Volume> & { readonly local?: { readonly path: string } | null };
  readonly readOnly: boolean;
}

export interface ClaimDeps {
  /** absent: this kubelet has no API server */
  readonly client?: Pick<KubeClient, "request"> | undefined;
}

/**
 * Replaces a claim by the volume that it is bound to.
 * Mirrors createVolumeSpec, getPVCExtractPV and getPVSpec in desired_state_of_world_populator.go.
 * @throws ClaimError; as the client
 */
export async function createVolumeSpec(
  { client }: ClaimDeps,
  pod: V1Pod,
  volume: Wire<V1Volume>,
  signal: AbortSignal,
): Promise<VolumeSpec> {
  const reference = claimReferenceOf(pod, volume);
  if (reference === undefined) return { name: volume.name, source: volume, readOnly: false };
  const { namespace } = pod.metadata;
  const fail = (why: string): never => {
    throw new ClaimError(`error processing PVC ${namespace}/${reference.name}: ${why}`);
  };
  if (client === undefined) return fail("this kubelet has no API server");
  const get = async <T>(what: string, path: string): Promise<T> => {
    const response = await client
      .request<T>({ method: "GET", path, signal })
      .catch((error: unknown) => fail(`failed to ${what} from API server: ${messageOf(error)}`));
    if (isSuccess(response)) return response.body;
    return fail(`failed to ${what} from API server: ${statusMessage(response)}`);
  };
  const core = (resource: string, inNamespace?: string) => ({
    apiVersion: "v1",
    resource,
    ...defined({ namespace: inNamespace }),
  });
  const claim = await get<Claim>("fetch PVC", objectPath(core("persistentvolumeclaims", namespace), reference.name));
  const isOwner = claim.metadata.ownerReferences?.some(({ uid }) => uid === pod.metadata.uid) === true;
  if (reference.isEphemeral && !isOwner) {
    const why = `PVC ${namespace}/${reference.name} was not created for pod ${namespace}/${pod.metadata.name} (pod is not owner)`;
    throw new ClaimError(why);
  }
  if (claim.metadata.deletionTimestamp !== undefined) return fail("PVC is being deleted");
  const { volumeName = "" } = claim.spec ?? {};
  if (claim.status?.phase !== "Bound" || volumeName === "") return fail("PVC is not bound");
  const bound = await get<Volume>(
    `get PV ${JSON.stringify(volumeName)}`,
    objectPath(core("persistentvolumes"), volumeName),
  );
  if (bound.spec?.claimRef?.uid !== claim.metadata.uid) {
    return fail(`found PV object ${JSON.stringify(volumeName)} but its pvc.UID is not that of the claim`);
  }
  const { hostPath, local, accessModes } = bound.spec ?? {};
  const readOnly =
    volume.persistentVolumeClaim?.readOnly === true || accessModes?.every((mode) => mode === "ReadOnlyMany") === true;
  const source = { name: volume.name, ...(hostPath ? { hostPath } : {}), ...(local ? { local } : {}) };
  return { name: volumeName, source, readOnly };
}
