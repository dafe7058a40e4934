import { cut, type FieldError } from "../../../../staging/apimachinery/errors.js";
import { isSet } from "../../../../util/records.js";

/**
 * Constructors of field errors with upstream's wording.
 * Mirrors k8s.io/apimachinery/pkg/util/validation/field/errors.go.
 */

/** Prints a bad value as Go does: strings quoted, numbers and booleans plain, other values as prepared by `goValue`. */
function badValue(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(cut(value));
  if (value instanceof GoText) return cut(value.text);
  if (value === undefined || value === null) return '"null"';
  return cut(String(value));
}

/** Appends errors. `push(...more)` overflows the stack when a list has a hundred thousand. */
export function addErrors(errors: FieldError[], more: readonly FieldError[]): void {
  for (const one of more) errors.push(one);
}

/** A value that is already in Go's `%#v` syntax: `[]byte(nil)`, `core.PodIP{IP:"10.0.0.1"}`. */
export class GoText {
  constructor(readonly text: string) {}
}

export function goValue(text: string): GoText {
  return new GoText(text);
}

function detailed(head: string, detail: string): string {
  return detail === "" ? head : `${head}: ${detail}`;
}

export function required(field: string, detail = ""): FieldError {
  return { type: "FieldValueRequired", field, text: detailed("Required value", detail) };
}

export function invalidValue(field: string, value: unknown, detail: string): FieldError {
  return { type: "FieldValueInvalid", field, text: detailed(`Invalid value: ${badValue(value)}`, detail) };
}

export function forbidden(field: string, detail: string): FieldError {
  return { type: "FieldValueForbidden", field, text: detailed("Forbidden", detail) };
}

export function duplicate(field: string, value: unknown, detail = ""): FieldError {
  return { type: "FieldValueDuplicate", field, text: detailed(`Duplicate value: ${badValue(value)}`, detail) };
}

export function notFound(field: string, value: unknown): FieldError {
  return { type: "FieldValueNotFound", field, text: `Not found: ${badValue(value)}` };
}

export function notSupported(field: string, value: unknown, supported: readonly string[]): FieldError {
  const list = supported.map((one) => JSON.stringify(one)).join(", ");
  return {
    type: "FieldValueNotSupported",
    field,
    text: `Unsupported value: ${badValue(value)}: supported values: ${list}`,
  };
}

export function tooLong(field: string, maxLength: number): FieldError {
  return { type: "FieldValueTooLong", field, text: `Too long: must have at most ${maxLength} bytes` };
}

export function tooMany(field: string, count: number, maxCount: number): FieldError {
  return { type: "FieldValueTooMany", field, text: `Too many: ${count}: must have at most ${maxCount} items` };
}

export const IMMUTABLE = "field is immutable";

/** Mirrors ValidateNonnegativeField in k8s.io/apimachinery/pkg/api/validation/objectmeta.go. */
export function nonNegative(field: string, value: number | null | undefined): FieldError[] {
  return isSet(value) && value < 0 ? [invalidValue(field, value, "must be greater than or equal to 0")] : [];
}
