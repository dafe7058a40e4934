import { isQualifiedName } from "../../../../staging/apimachinery/api/names.js";
import {
  isExtendedResource,
  isIntegerResource,
  isNativeResource,
  isStandardContainerResource,
  isStandardQuotaResource,
  isStandardResource,
} from "../../../../staging/apimachinery/corev1/resource-names.js";
import type { FieldError } from "../../../../staging/apimachinery/errors.js";
import { nanoValue, signOfQuantity } from "../../../../staging/apimachinery/quantity.js";
import { invalidValue } from "../rest/field-errors.js";

/** The entries of resource lists in quotas and limit ranges. Mirrors pkg/apis/core/validation/validation.go. */

/** Mirrors validateResourceName. */
export function validateResourceName(name: string, field: string): FieldError[] {
  const problems = isQualifiedName(name);
  if (problems.length > 0) return problems.map((one) => invalidValue(field, name, one));
  if (name.includes("/") || isStandardResource(name)) return [];
  return [invalidValue(field, name, "must be a standard resource type or fully qualified")];
}

/** Mirrors validateContainerResourceName. */
export function validateContainerResourceName(name: string, field: string): FieldError[] {
  const errors = validateResourceName(name, field);
  if (!name.includes("/")) {
    if (isStandardContainerResource(name)) return errors;
    return [...errors, invalidValue(field, name, "must be a standard resource for containers")];
  }
  if (isNativeResource(name) || isExtendedResource(name)) return errors;
  return [...errors, invalidValue(field, name, "doesn't follow extended resource name standard")];
}

/** Mirrors ValidateResourceQuotaResourceName and ValidateResourceQuantityValue. */
export function validateQuotaAmount(name: string, amount: string, field: string): FieldError[] {
  const errors = validateResourceName(name, field);
  if (!name.includes("/") && !isStandardQuotaResource(name)) {
    errors.push(invalidValue(field, name, "must be a standard resource for quota"));
  }
  if (signOfQuantity(amount) < 0) errors.push(invalidValue(field, amount, "must be greater than or equal to 0"));
  if (isIntegerResource(name) && (nanoValue(amount) ?? 0n) % 1_000_000_000n !== 0n) {
    errors.push(invalidValue(field, amount, "must be an integer"));
  }
  return errors;
}
