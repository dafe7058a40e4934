import type { FieldError } from "../../../../staging/apimachinery/errors.js";
import { compareQuantities, signOfQuantity } from "../../../../staging/apimachinery/quantity.js";
import { semanticallyEqual } from "../../../../staging/apimachinery/semantic-equality.js";
import {
  type Claim,
  requestedBy,
  type StorageClass,
  type Volume,
} from "../../../../staging/component-helpers/storage/volume.js";
import { forbidden, invalidValue, notSupported, required } from "../rest/field-errors.js";

/** Mirrors the checks of volumes, claims and classes in pkg/apis/core/validation/validation.go and pkg/apis/storage/validation. */

const ACCESS_MODES = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
const NOT_SOURCES = new Set([
  "accessModes",
  "capacity",
  "claimRef",
  "mountOptions",
  "nodeAffinity",
  "persistentVolumeReclaimPolicy",
  "storageClassName",
  "volumeAttributesClassName",
  "volumeMode",
]);

/** Mirrors ValidatePersistentVolumeClaimSpec. */
export function validateClaim({ spec }: Claim): FieldError[] {
  const requested = spec?.resources?.requests?.["storage"];
  const field = "spec.resources[storage]";
  if (requested !== undefined && signOfQuantity(requested) <= 0) {
    return [...accessModes(spec?.accessModes), invalidValue(field, requested, "must be greater than zero")];
  }
  return [...accessModes(spec?.accessModes), ...(requested === undefined ? [required(field, "")] : [])];
}

/** Mirrors ValidatePersistentVolumeClaimUpdate. */
export function validateClaimUpdate(claim: Claim, old: Claim): FieldError[] {
  const errors = validateClaim(claim);
  const isBound = old.status?.phase === "Bound";
  // An empty name may become one: the binding is such a write.
  const fixed = ({ spec }: Claim) => ({
    ...spec,
    volumeName: (old.spec?.volumeName ?? "") === "" ? "" : spec?.volumeName,
  });
  const withoutSize = (one: Claim) => (isBound ? { ...fixed(one), resources: undefined } : fixed(one));
  if (!semanticallyEqual(withoutSize(claim), withoutSize(old))) {
    const why = "spec is immutable after creation except resources.requests for bound claims";
    errors.push(forbidden("spec", why));
  }
  if (isBound && compareQuantities(requestedBy(claim), requestedBy(old)) < 0) {
    errors.push(forbidden("spec.resources.requests.storage", "field can not be less than previous value"));
  }
  return errors;
}

/** Mirrors ValidatePersistentVolumeSpec. */
export function validateVolume({ spec }: Volume): FieldError[] {
  const errors = accessModes(spec?.accessModes);
  const { capacity, hostPath, local, nodeAffinity, persistentVolumeReclaimPolicy: policy = "Retain" } = spec ?? {};
  if (capacity?.["storage"] === undefined) errors.push(required("spec.capacity", ""));
  else if (signOfQuantity(capacity["storage"]) <= 0) {
    errors.push(invalidValue("spec.capacity[storage]", capacity["storage"], "must be greater than zero"));
  }
  const policies = ["Delete", "Recycle", "Retain"];
  if (!policies.includes(policy)) {
    errors.push(notSupported("spec.persistentVolumeReclaimPolicy", policy, policies));
  }
  const sources = sourcesOf(spec);
  if (sources.length === 0) errors.push(required("spec", "must specify a volume type"));
  for (const source of sources.slice(1))
    errors.push(forbidden(`spec.${source}`, "may not specify more than 1 volume type"));
  if (hostPath?.path === "") errors.push(required("spec.hostPath.path", ""));
  if (hostPath?.path.split("/").includes("..")) {
    errors.push(invalidValue("spec.hostPath.path", hostPath.path, "must not contain '..'"));
  }
  if (local && !nodeAffinity?.required)
    errors.push(required("spec.nodeAffinity", "Local volume requires node affinity"));
  return errors;
}

/** Mirrors ValidatePersistentVolumeUpdate. */
export function validateVolumeUpdate(volume: Volume, old: Volume): FieldError[] {
  const errors = validateVolume(volume);
  const sources = ({ spec }: Volume) =>
    Object.fromEntries(sourcesOf(spec).map((one) => [one, spec?.[one as "hostPath"]]));
  if (!semanticallyEqual(sources(volume), sources(old))) {
    errors.push(forbidden("spec.persistentvolumesource", "spec.persistentvolumesource is immutable after creation"));
  }
  if (old.spec?.nodeAffinity && !semanticallyEqual(volume.spec?.nodeAffinity, old.spec.nodeAffinity)) {
    errors.push(invalidValue("spec.nodeAffinity", volume.spec?.nodeAffinity ?? null, "field is immutable"));
  }
  return errors;
}

/** Mirrors ValidateStorageClass. */
export function validateClass({
  provisioner,
  reclaimPolicy = "Delete",
  volumeBindingMode,
}: StorageClass): FieldError[] {
  const modes = ["Immediate", "WaitForFirstConsumer"];
  const policies = ["Delete", "Retain"];
  return [
    ...((provisioner ?? "") === "" ? [required("provisioner", "")] : []),
    ...(policies.includes(reclaimPolicy) ? [] : [notSupported("reclaimPolicy", reclaimPolicy, policies)]),
    ...(volumeBindingMode === undefined || modes.includes(volumeBindingMode)
      ? []
      : [notSupported("volumeBindingMode", volumeBindingMode, modes)]),
  ];
}

/** Mirrors ValidateStorageClassUpdate. */
export function validateClassUpdate(storageClass: StorageClass, old: StorageClass): FieldError[] {
  const errors = validateClass(storageClass);
  for (const field of ["parameters", "provisioner", "reclaimPolicy"] as const) {
    if (semanticallyEqual(storageClass[field], old[field])) continue;
    errors.push(forbidden(field, `updates to ${field} are forbidden.`));
  }
  if ((storageClass.volumeBindingMode ?? "Immediate") !== (old.volumeBindingMode ?? "Immediate")) {
    errors.push(invalidValue("volumeBindingMode", storageClass.volumeBindingMode, "field is immutable"));
  }
  return errors;
}

function accessModes(modes: readonly string[] | null | undefined): FieldError[] {
  if (!modes || modes.length === 0) return [required("spec.accessModes", "at least 1 access mode is required")];
  const unknown = modes.filter((mode) => !ACCESS_MODES.includes(mode));
  if (unknown.length > 0) return unknown.map((mode) => notSupported("spec.accessModes", mode, ACCESS_MODES));
  if (!modes.includes("ReadWriteOncePod") || modes.length === 1) return [];
  return [forbidden("spec.accessModes", "may not use ReadWriteOncePod with other access modes")];
}

function sourcesOf(spec: Volume["spec"]): string[] {
  const set = Object.entries(spec ?? {}).filter(
    ([key, value]) => !NOT_SOURCES.has(key) && value !== null && value !== undefined,
  );
  return set.map(([key]) => key);
}
