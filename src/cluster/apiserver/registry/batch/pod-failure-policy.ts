import type {
  V1JobSpec,
  V1PodFailurePolicyOnExitCodesRequirement,
  V1PodFailurePolicyOnPodConditionsPattern,
  V1PodFailurePolicyRule,
} from "@kubernetes/client-node";
import { isQualifiedName } from "../../../../staging/apimachinery/api/names.js";
import type { FieldError } from "../../../../staging/apimachinery/errors.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { isSet } from "../../../../util/records.js";
import { duplicate, goValue, invalidValue, notSupported, required, tooMany } from "../rest/field-errors.js";

/** Mirrors validatePodFailurePolicy and what it calls in pkg/apis/batch/validation/validation.go. */

const MAX_RULES = 20;
const MAX_EXIT_CODES = 255;
const MAX_PATTERNS = 20;
// Sorted, because Go prints sets sorted.
const ACTIONS = ["Count", "FailJob", "Ignore"];
const OPERATORS = ["In", "NotIn"];
const STATUSES = ["False", "True", "Unknown"];

export function validatePodFailurePolicy({ podFailurePolicy, template }: Wire<V1JobSpec>, field: string): FieldError[] {
  if (!podFailurePolicy) return [];
  const rules = podFailurePolicy.rules ?? [];
  const { containers = [], initContainers } = template?.spec ?? {};
  const names = new Set([...containers, ...(initContainers ?? [])].map(({ name }) => name));
  return [
    ...(rules.length > MAX_RULES ? [tooMany(`${field}.rules`, rules.length, MAX_RULES)] : []),
    ...rules.flatMap((rule, index) => validateRule(rule, `${field}.rules[${index}]`, names)),
  ];
}

function validateRule(rule: Wire<V1PodFailurePolicyRule>, field: string, names: ReadonlySet<string>): FieldError[] {
  const { onExitCodes } = rule;
  const patterns = rule.onPodConditions ?? [];
  const errors = oneOf(`${field}.action`, rule.action, ACTIONS);
  if (onExitCodes) errors.push(...validateExitCodes(onExitCodes, `${field}.onExitCodes`, names));
  if (patterns.length > 0) errors.push(...validatePatterns(patterns, `${field}.onPodConditions`));
  if (onExitCodes && patterns.length > 0) {
    errors.push(invalidRule(field, "specifying both OnExitCodes and OnPodConditions is not supported"));
  }
  if (!onExitCodes && patterns.length === 0) {
    errors.push(invalidRule(field, "specifying one of OnExitCodes and OnPodConditions is required"));
  }
  return errors;
}

/** Without the value, which is a whole rule. */
function invalidRule(field: string, detail: string): FieldError {
  return { type: "FieldValueInvalid", field, text: `Invalid value: ${detail}` };
}

function oneOf(field: string, value: string | undefined, valid: readonly string[]): FieldError[] {
  if (!value) return [required(field, `valid values: [${valid.map((one) => JSON.stringify(one)).join(" ")}]`)];
  return valid.includes(value) ? [] : [notSupported(field, value, valid)];
}

function validatePatterns(
  patterns: readonly Wire<V1PodFailurePolicyOnPodConditionsPattern>[],
  field: string,
): FieldError[] {
  return [
    ...(patterns.length > MAX_PATTERNS ? [tooMany(field, patterns.length, MAX_PATTERNS)] : []),
    ...patterns.flatMap(({ type = "", status }, index) => [
      ...isQualifiedName(type).map((one) => invalidValue(`${field}[${index}].type`, type, one)),
      ...oneOf(`${field}[${index}].status`, status, STATUSES),
    ]),
  ];
}

function validateExitCodes(
  { containerName, operator, values }: Wire<V1PodFailurePolicyOnExitCodesRequirement>,
  field: string,
  names: ReadonlySet<string>,
): FieldError[] {
  const errors = oneOf(`${field}.operator`, operator, OPERATORS);
  if (isSet(containerName) && !names.has(containerName)) {
    const why = "must be one of the container or initContainer names in the pod template";
    errors.push(invalidValue(`${field}.containerName`, containerName, why));
  }
  const codes = values ?? [];
  const shown = goValue(values ? `[]int32{${codes.join(", ")}}` : "[]int32(nil)");
  if (codes.length === 0) errors.push(invalidValue(`${field}.values`, shown, "at least one value is required"));
  else if (codes.length > MAX_EXIT_CODES) errors.push(tooMany(`${field}.values`, codes.length, MAX_EXIT_CODES));
  codes.forEach((code, index) => {
    const at = `${field}.values[${index}]`;
    if (operator === "In" && code === 0) errors.push(invalidValue(at, code, "must not be 0 for the In operator"));
    if (codes.indexOf(code) < index) errors.push(duplicate(at, code));
  });
  if (codes.some((code, index) => index > 0 && (codes[index - 1] ?? code) > code)) {
    errors.push(invalidValue(`${field}.values`, shown, "must be ordered"));
  }
  return errors;
}
