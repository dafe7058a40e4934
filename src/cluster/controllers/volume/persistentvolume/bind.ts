import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { nameOf } from "../../../../staging/apimachinery/api/objects.js";
import { semanticallyEqual } from "../../../../staging/apimachinery/semantic-equality.js";
import type { LocalClient } from "../../../../staging/client-go/dynamic/interface.js";
import {
  BIND_COMPLETED,
  BOUND_BY_CONTROLLER,
  boundToClaim,
  type Claim,
  type Volume,
} from "../../../../staging/component-helpers/storage/volume.js";

/** The writes of the controller that binds claims. Mirrors pkg/controller/volume/persistentvolume/pv_controller.go. */

const VOLUMES = "persistentvolumes";
const CLAIMS = "persistentvolumeclaims";

type Phase = "Pending" | "Available" | "Bound" | "Released" | "Failed" | "Lost";

/**
 * Makes volume and claim name each other, and sets the phase of both to Bound. Mirrors bind.
 * @throws AlreadyBound; StatusError
 */
export async function bind(client: LocalClient, volume: Volume, claim: Claim): Promise<void> {
  const bound = await client.modify<Volume>(VOLUMES, undefined, nameOf(volume), (current) =>
    boundToClaim(current, claim),
  );
  if (bound === undefined) return;
  await setVolumePhase(client, bound, "Bound");
  const { namespace } = claim.metadata;
  const complete = await client.modify<Claim>(CLAIMS, namespace, nameOf(claim), (current) => {
    if (current.metadata.uid !== claim.metadata.uid) return current;
    const isChosen = (current.spec?.volumeName ?? "") === "";
    const { annotations } = current.metadata;
    if (!isChosen && annotations?.[BIND_COMPLETED] !== undefined) return current;
    const added = { ...(isChosen ? { [BOUND_BY_CONTROLLER]: "yes" } : {}), [BIND_COMPLETED]: "yes" };
    const metadata = { ...current.metadata, annotations: { ...annotations, ...added } };
    return { ...current, metadata, spec: { ...current.spec, volumeName: nameOf(volume) } } as KubeObject;
  });
  if (complete !== undefined) await setClaimPhase(client, complete, "Bound", bound);
}

/** @param message why, for a phase that needs it: Failed */
export async function setVolumePhase(client: LocalClient, volume: Volume, phase: Phase, message = ""): Promise<void> {
  const change = (current: Volume) => {
    if (current.status?.phase === phase && (current.status.message ?? "") === message) return current;
    const { message: _before, ...status } = current.status ?? {};
    return { ...current, status: { ...status, phase, ...(message === "" ? {} : { message }) } } as KubeObject;
  };
  if (change(volume) !== volume) await client.modify<Volume>(VOLUMES, undefined, nameOf(volume), change, "status");
}

/** @param volume for the phase Bound: its size and access modes become the claim's. Mirrors updateClaimStatus. */
export async function setClaimPhase(client: LocalClient, claim: Claim, phase: Phase, volume?: Volume): Promise<void> {
  const change = (current: Claim) => {
    const { accessModes: _modes, capacity: before, ...rest } = current.status ?? {};
    const { accessModes, capacity } = volume?.spec ?? {};
    // A resize has raised the capacity of a bound claim on its own.
    const shown = volume === undefined ? {} : { accessModes, capacity: before ?? capacity };
    const status = { ...rest, phase, ...shown };
    return semanticallyEqual(status, current.status) ? current : ({ ...current, status } as KubeObject);
  };
  if (change(claim) === claim) return;
  await client.modify<Claim>(CLAIMS, claim.metadata.namespace, nameOf(claim), change, "status");
}

/**
 * Frees a volume whose claim is bound to another one: completely if the controller chose it, else its user's choice stays.
 * Mirrors unbindVolume.
 */
export async function unbind(client: LocalClient, volume: Volume): Promise<void> {
  const freed = await client.modify<Volume>(VOLUMES, undefined, nameOf(volume), (current) => {
    const { claimRef, ...spec } = current.spec ?? {};
    if (!claimRef) return current;
    const { [BOUND_BY_CONTROLLER]: byController, ...annotations } = current.metadata.annotations ?? {};
    if (byController !== undefined)
      return { ...current, metadata: { ...current.metadata, annotations }, spec } as KubeObject;
    const { uid: _uid, ...chosen } = claimRef;
    return { ...current, spec: { ...spec, claimRef: chosen } } as KubeObject;
  });
  if (freed !== undefined) await setVolumePhase(client, freed, "Available");
}

/** Names the provisioner that shall make the claim's volume. Mirrors setClaimProvisioner. */
export async function setProvisioner(
  client: LocalClient,
  claim: Claim,
  keys: readonly string[],
  provisioner: string,
): Promise<void> {
  await client.modify<Claim>(CLAIMS, claim.metadata.namespace, nameOf(claim), (current) => {
    const { annotations } = current.metadata;
    if (keys.every((key) => annotations?.[key] === provisioner)) return current;
    const added = Object.fromEntries(keys.map((key) => [key, provisioner]));
    return { ...current, metadata: { ...current.metadata, annotations: { ...annotations, ...added } } };
  });
}
