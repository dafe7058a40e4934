import type { V1CSIDriver, V1CSINode, V1CSIStorageCapacity, V1VolumeAttachment } from "@kubernetes/client-node";
import { isDns1123Subdomain, isQualifiedName } from "../../../../staging/apimachinery/api/names.js";
import type { FieldError } from "../../../../staging/apimachinery/errors.js";
import { signOfQuantity } from "../../../../staging/apimachinery/quantity.js";
import { semanticallyEqual } from "../../../../staging/apimachinery/semantic-equality.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { isSet } from "../../../../util/records.js";
import {
  duplicate,
  forbidden,
  goValue,
  IMMUTABLE,
  invalidValue,
  nonNegative,
  notSupported,
  required,
} from "../rest/field-errors.js";
import { validateLabelSelector } from "../rest/label-selector-validation.js";

/** The kinds that CSI drivers and their sidecars write. Mirrors pkg/apis/storage/validation/validation.go. */

type Attachment = Wire<V1VolumeAttachment>;
type Driver = Wire<V1CSIDriver>;
type Capacity = Wire<V1CSIStorageCapacity>;

const GROUP_POLICIES = ["File", "None", "ReadWriteOnceWithFSType"];
const LIFECYCLE_MODES = ["Persistent", "Ephemeral"];
const MAX_NODE_ID_LENGTH = 256;
const MIN_TOKEN_SECONDS = 600;
const MAX_TOKEN_SECONDS = 2 ** 32;

/** A driver has the name of a DNS subdomain (ValidateCSIDriverName). */
function validateDriverName(name: string, field: string): FieldError[] {
  return isDns1123Subdomain(name).map((message) => invalidValue(field, name, message));
}

/** Mirrors ValidateVolumeAttachment; ValidateVolumeAttachmentV1 runs for new objects only. */
function validateAttachment({ spec }: Attachment): FieldError[] {
  const { attacher = "", nodeName = "", source } = spec ?? {};
  const { inlineVolumeSpec: inline, persistentVolumeName: name } = source ?? {};
  const errors = attacher === "" ? [required("spec.attacher")] : [];
  const one = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
  if (!isSet(inline) && !isSet(name)) errors.push(required("spec.source", one));
  else if (isSet(inline) && isSet(name)) errors.push(forbidden("spec.source", one));
  else if (name === "") {
    errors.push(required("spec.source.persistentVolumeName", "must specify non empty persistentVolumeName"));
  }
  return [
    ...errors,
    ...isDns1123Subdomain(nodeName).map((message) => invalidValue("spec.nodeName", nodeName, message)),
  ];
}

export function validateNewAttachment(attachment: Attachment): FieldError[] {
  const { attacher = "", source } = attachment.spec ?? {};
  const { persistentVolumeName: name } = source ?? {};
  const ofName = isSet(name) ? isDns1123Subdomain(name) : [];
  return [
    ...validateAttachment(attachment),
    ...validateDriverName(attacher, "spec.attacher"),
    ...ofName.map((message) => invalidValue("spec.source.persistentVolumeName", name, message)),
  ];
}

export function validateAttachmentUpdate(attachment: Attachment, old: Attachment): FieldError[] {
  const errors = validateAttachment(attachment);
  if (semanticallyEqual(attachment.spec, old.spec)) return errors;
  return [...errors, invalidValue("spec", goValue(JSON.stringify(attachment.spec)), IMMUTABLE)];
}

export function validateDriver({ spec }: Driver): FieldError[] {
  const { fsGroupPolicy: policy, tokenRequests, volumeLifecycleModes: modes } = spec ?? {};
  const errors: FieldError[] = [];
  if (isSet(policy) && !GROUP_POLICIES.includes(policy)) {
    errors.push(notSupported("spec.fsGroupPolicy", policy, GROUP_POLICIES));
  }
  const audiences = new Set<string>();
  for (const [index, { audience = "", expirationSeconds: seconds }] of (tokenRequests ?? []).entries()) {
    const field = `spec.tokenRequests[${index}]`;
    if (audiences.has(audience)) errors.push(duplicate(`${field}.audience`, audience));
    audiences.add(audience);
    if (!isSet(seconds)) continue;
    const why = lifetimeProblem(seconds);
    if (why !== undefined) errors.push(invalidValue(`${field}.expirationSeconds`, seconds, why));
  }
  for (const mode of modes ?? []) {
    if (!LIFECYCLE_MODES.includes(mode)) errors.push(notSupported("spec.volumeLifecycleModes", mode, LIFECYCLE_MODES));
  }
  return errors;
}

function lifetimeProblem(seconds: number): string | undefined {
  if (seconds < MIN_TOKEN_SECONDS) return "may not specify a duration less than 10 minutes";
  return seconds > MAX_TOKEN_SECONDS ? "may not specify a duration larger than 2^32 seconds" : undefined;
}

export function validateDriverUpdate(driver: Driver, old: Driver): FieldError[] {
  const errors = validateDriver(driver);
  const { attachRequired: isRequired } = driver.spec ?? {};
  if (!semanticallyEqual(isRequired, old.spec?.attachRequired)) {
    errors.push(invalidValue("spec.attachedRequired", isRequired, IMMUTABLE));
  }
  return errors;
}

export function validateCsiNode({ spec }: Wire<V1CSINode>): FieldError[] {
  const errors: FieldError[] = [];
  const names = new Set<string>();
  for (const [index, { name = "", nodeID = "", allocatable, topologyKeys }] of (spec?.drivers ?? []).entries()) {
    const field = `spec.drivers[${index}]`;
    errors.push(...validateDriverName(name, `${field}.name`));
    if (nodeID === "") errors.push(required(`${field}.nodeID`));
    if (nodeID.length > MAX_NODE_ID_LENGTH) {
      errors.push(invalidValue(`${field}.nodeID`, nodeID, `must be ${MAX_NODE_ID_LENGTH} characters or less`));
    }
    errors.push(...nonNegative(`${field}.allocatable.count`, allocatable?.count));
    if (names.has(name)) errors.push(duplicate(`${field}.name`, name));
    names.add(name);
    errors.push(...validateTopologyKeys(topologyKeys ?? [], field));
  }
  return errors;
}

function validateTopologyKeys(keys: readonly string[], field: string): FieldError[] {
  return keys.flatMap((key, index) => [
    ...(key === "" ? [required(field)] : []),
    ...(keys.indexOf(key) < index ? [duplicate(field, key)] : []),
    ...isQualifiedName(key).map((message) => invalidValue(field, key, message)),
  ]);
}

/** Mirrors ValidateCSIStorageCapacity. */
export function validateCapacity({
  nodeTopology,
  storageClassName: name = "",
  capacity,
  maximumVolumeSize,
}: Capacity): FieldError[] {
  const errors = isDns1123Subdomain(name).map((message) => invalidValue("storageClassName", name, message));
  errors.push(...validateLabelSelector(nodeTopology, "nodeTopology"));
  for (const [field, quantity] of Object.entries({ capacity, maximumVolumeSize })) {
    if (!isSet(quantity) || signOfQuantity(quantity) >= 0) continue;
    errors.push(invalidValue(field, quantity, "must be greater than or equal to 0"));
  }
  return errors;
}

export function validateCapacityUpdate(capacity: Capacity, old: Capacity): FieldError[] {
  const errors = validateCapacity(capacity);
  if (capacity.storageClassName === old.storageClassName) return errors;
  return [...errors, invalidValue("storageClassName", capacity.storageClassName, IMMUTABLE)];
}
