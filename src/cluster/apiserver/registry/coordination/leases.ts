import type { V1Lease } from "@kubernetes/client-node";
import { nameOf } from "../../../../staging/apimachinery/api/objects.js";
import type { FieldError } from "../../../../staging/apimachinery/errors.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { AGE_COLUMN, ageOf, column, NAME_COLUMN } from "../rest/cells.js";
import type { Strategy } from "../rest/definition.js";
import { invalidValue } from "../rest/field-errors.js";
import { row } from "../rest/rows.js";

/** Mirrors ValidateLeaseSpec in pkg/apis/coordination/validation/validation.go. */
function validateLease(lease: Wire<V1Lease>): FieldError[] {
  const { leaseDurationSeconds: durationSeconds, leaseTransitions: transitions } = lease.spec ?? {};
  const errors: FieldError[] = [];
  if (durationSeconds !== undefined && durationSeconds <= 0) {
    errors.push(invalidValue("spec.leaseDurationSeconds", durationSeconds, "must be greater than 0"));
  }
  if (transitions !== undefined && transitions < 0) {
    errors.push(invalidValue("spec.leaseTransitions", transitions, "must be greater than or equal to 0"));
  }
  return errors;
}

/** Mirrors pkg/registry/coordination/lease/strategy.go (leaseStrategy). */
const strategy: Strategy = {
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: false,
  validate: validateLease,
  validateUpdate: validateLease,
};

export const LEASES = row("coordination.k8s.io/v1", "Lease", "leases", strategy, {
  table: {
    columns: [
      NAME_COLUMN,
      column("Holder", "holderIdentity contains the identity of the holder of a current lease."),
      AGE_COLUMN,
    ],
    cells: (lease: Wire<V1Lease>, nowMs) => [nameOf(lease), lease.spec?.holderIdentity ?? "", ageOf(lease, nowMs)],
  },
});
