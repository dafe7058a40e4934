import type { V1LimitRange, V1LimitRangeItem } from "@kubernetes/client-node";
import { isQualifiedName } from "../../../../staging/apimachinery/api/names.js";
import { nameOf } from "../../../../staging/apimachinery/api/objects.js";
import { isOvercommitAllowed } from "../../../../staging/apimachinery/corev1/resource-names.js";
import type { FieldError } from "../../../../staging/apimachinery/errors.js";
import { compareQuantities, nanoValue, type ResourceList } from "../../../../staging/apimachinery/quantity.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { column, NAME_COLUMN } from "../rest/cells.js";
import { duplicate, forbidden, invalidValue, required } from "../rest/field-errors.js";
import { row } from "../rest/rows.js";
import { validateContainerResourceName, validateResourceName } from "./resource-list-validation.js";

type Range = Wire<V1LimitRange>;
type Item = Wire<V1LimitRangeItem>;

const TYPES = ["Pod", "Container", "PersistentVolumeClaim"];

/** Mirrors ValidateLimitRange in pkg/apis/core/validation/validation.go. Differs: an error shows an amount as text, not as Go's struct. */
function validate({ spec }: Range): FieldError[] {
  const limits = spec?.limits ?? [];
  return limits.flatMap((item, index) => {
    const field = `spec.limits[${index}]`;
    const isRepeated = limits.slice(0, index).some(({ type }) => type === item.type);
    return [
      ...validateType(item.type, `${field}.type`),
      ...(isRepeated ? [duplicate(`${field}.type`, item.type)] : []),
      ...validateItem(item, field),
    ];
  });
}

/** Mirrors validateLimitRangeTypeName. */
function validateType(type: string, field: string): FieldError[] {
  const problems = isQualifiedName(type);
  if (problems.length > 0) return problems.map((one) => invalidValue(field, type, one));
  if (type.includes("/") || TYPES.includes(type)) return [];
  return [invalidValue(field, type, "must be a standard limit type or fully qualified")];
}

function validateItem(item: Item, field: string): FieldError[] {
  const { type, min = {}, max = {}, maxLimitRequestRatio: ratio = {} } = item;
  const errors: FieldError[] = [];
  const isOfPod = type === "Pod";
  const checkName = isOfPod || type === "Container" ? validateContainerResourceName : validateResourceName;
  const checkNames = (list: ResourceList, name: string) =>
    Object.keys(list).flatMap((resource) => checkName(resource, `${field}.${name}[${resource}]`));
  errors.push(...checkNames(max, "max"), ...checkNames(min, "min"));
  for (const name of ["default", "defaultRequest"] as const) {
    const list = item[name] ?? {};
    if (!isOfPod) errors.push(...checkNames(list, name));
    else if (Object.keys(list).length > 0) {
      errors.push(forbidden(`${field}.${name}`, "may not be specified when `type` is 'Pod'"));
    }
  }
  if (type === "PersistentVolumeClaim" && min["storage"] === undefined && max["storage"] === undefined) {
    const why = "either minimum or maximum storage value is required, but neither was provided";
    errors.push(required(`${field}.limits`, why));
  }
  errors.push(...checkNames(ratio, "maxLimitRequestRatio"));
  const defaults = isOfPod ? {} : (item.default ?? {});
  const defaultRequests = isOfPod ? {} : (item.defaultRequest ?? {});
  const names = new Set([max, min, defaults, defaultRequests, ratio].flatMap(Object.keys));
  for (const name of [...names].sort()) {
    const amounts = {
      min: min[name],
      max: max[name],
      limit: defaults[name],
      request: defaultRequests[name],
      ratio: ratio[name],
    };
    errors.push(...validateAmounts(name, amounts, field));
  }
  return errors;
}

/** The amounts of one resource in an item; `limit` and `request` are the defaults. */
interface Amounts {
  readonly min: string | undefined;
  readonly max: string | undefined;
  readonly limit: string | undefined;
  readonly request: string | undefined;
  readonly ratio: string | undefined;
}

function validateAmounts(name: string, amounts: Amounts, field: string): FieldError[] {
  const { min, max, limit, request, ratio } = amounts;
  const errors: FieldError[] = [];
  const refuse = (list: string, value: string | undefined, why: string) =>
    errors.push(invalidValue(`${field}.${list}[${name}]`, value, why));
  if (exceeds(min, max)) refuse("min", min, `min value ${min} is greater than max value ${max}`);
  if (exceeds(min, request)) {
    refuse("defaultRequest", request, `min value ${min} is greater than default request value ${request}`);
  }
  if (exceeds(request, max)) {
    refuse("defaultRequest", request, `default request value ${request} is greater than max value ${max}`);
  }
  if (exceeds(request, limit)) {
    refuse("defaultRequest", request, `default request value ${request} is greater than default limit value ${limit}`);
  }
  if (exceeds(min, limit)) refuse("default", min, `min value ${min} is greater than default value ${limit}`);
  if (exceeds(limit, max)) refuse("default", max, `default value ${limit} is greater than max value ${max}`);
  if (exceeds("1", ratio)) refuse("maxLimitRequestRatio", ratio, `ratio ${ratio} is less than 1`);
  if (ratio !== undefined && min !== undefined && max !== undefined) {
    const highest = amountOf(max) / amountOf(min);
    if (amountOf(ratio) > highest) {
      refuse("maxLimitRequestRatio", ratio, `ratio ${ratio} is greater than max/min = ${goFloat(highest)}`);
    }
  }
  const isEqual = limit === undefined || request === undefined || compareQuantities(limit, request) === 0;
  if (!isOvercommitAllowed(name) && !isEqual) {
    refuse(
      "defaultRequest",
      request,
      `default value ${limit} must equal to defaultRequest value ${request} in ${name}`,
    );
  }
  return errors;
}

/** Reports whether both amounts are given and the first is the larger. */
function exceeds(a: string | undefined, b: string | undefined): boolean {
  return a !== undefined && b !== undefined && compareQuantities(a, b) > 0;
}

function amountOf(quantity: string): number {
  return Number(nanoValue(quantity) ?? 0n) / 1e9;
}

/** Mirrors the verb %f of Go's fmt. */
function goFloat(value: number): string {
  return Number.isFinite(value) ? value.toFixed(6) : "+Inf";
}

/** The least and most that single objects of a namespace may request, and what they request by default. */
export const LIMIT_RANGES = row(
  "v1",
  "LimitRange",
  "limitranges",
  { allowUnconditionalUpdate: true, validate, validateUpdate: validate },
  {
    shortNames: ["limits"],
    table: {
      columns: [NAME_COLUMN, column("Created At", "When the server created the object.", { type: "date" })],
      cells: (range) => [nameOf(range), range.metadata.creationTimestamp ?? null],
    },
  },
);
