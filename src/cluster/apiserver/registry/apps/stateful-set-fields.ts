import type { V1StatefulSet, V1StatefulSetPersistentVolumeClaimRetentionPolicy } from "@kubernetes/client-node";
import type { FieldError } from "../../../../staging/apimachinery/errors.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { isSet } from "../../../../util/records.js";
import { factFor } from "../../../../util/release/facts.js";
import { notSupported } from "../rest/field-errors.js";

type StatefulSet = Wire<V1StatefulSet>;
type RetentionPolicy = Wire<V1StatefulSetPersistentVolumeClaimRetentionPolicy>;

const RETENTION_POLICIES = ["Retain", "Delete"];

/**
 * Drops the fields that the release does not know: a start of the ordinals, a retention policy of claims. A newer release has a
 * policy in each set. Mirrors dropStatefulSetDisabledFields in pkg/registry/apps/statefulset/strategy.go, and SetDefaults_StatefulSet
 * in pkg/apis/apps/v1/defaults.go.
 */
export function withKnownFields(set: StatefulSet, kubeVersion: string): StatefulSet {
  const { ordinals, persistentVolumeClaimRetentionPolicy: policy, ...spec } = set.spec ?? {};
  const retained = { whenDeleted: policy?.whenDeleted ?? "Retain", whenScaled: policy?.whenScaled ?? "Retain" };
  const known = {
    ...spec,
    ...(isSet(ordinals) && factFor("statefulSetStartOrdinal", kubeVersion) ? { ordinals } : {}),
    ...(factFor("statefulSetAutoDeletePvc", kubeVersion) ? { persistentVolumeClaimRetentionPolicy: retained } : {}),
  };
  return { ...set, spec: known } as StatefulSet;
}

/** Mirrors ValidatePersistentVolumeClaimRetentionPolicy in pkg/apis/apps/validation/validation.go. */
export function validateRetentionPolicy(policy: RetentionPolicy | undefined): FieldError[] {
  return Object.entries(policy ?? {}).flatMap(([when, value]) =>
    RETENTION_POLICIES.includes(String(value))
      ? []
      : [notSupported(`spec.persistentVolumeClaimRetentionPolicy.${when}`, value, RETENTION_POLICIES)],
  );
}
