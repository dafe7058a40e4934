import { LabError } from "../../util/errors.js";
import { isRecord } from "../../util/records.js";
import { nearest } from "../../util/text/nearest.js";

/** @returns the expected form; undefined for a valid value */
export type Rule = (value: unknown) => string | undefined;

/**
 * Checks the options that a program passes to a function of the package. An option that is undefined is absent.
 * @throws LabError USAGE that names the function and the option
 */
export function checkOptions(
  func: string,
  options: unknown,
  rules: Readonly<Record<string, Rule>>,
  required: readonly string[] = [],
): void {
  const names = Object.keys(rules);
  if (!isRecord(options)) throw usage(`${func}: expected an object of options`, `Its options: ${names.join(", ")}.`);
  for (const [name, value] of Object.entries(options)) {
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
    if (rule === undefined) {
      const meant = nearest(names, name);
      const hint = meant === undefined ? `Its options: ${names.join(", ")}.` : `Did you mean ${meant}?`;
      throw usage(`${func}: unknown option ${name}`, hint);
    }
    const expected = value === undefined ? undefined : rule(value);
    if (expected !== undefined) throw usage(`${func}: option ${name} is ${shown(value)}`, `Expected ${expected}.`);
  }
  const missing = required.find((name) => options[name] === undefined);
  if (missing !== undefined) throw usage(`${func}: option ${missing} is missing`, `Its options: ${names.join(", ")}.`);
}

export const text: Rule = (value) => (typeof value === "string" && value !== "" ? undefined : "a text");
export const flag: Rule = (value) => (typeof value === "boolean" ? undefined : "true or false");
export const texts: Rule = (value) =>
  Array.isArray(value) && value.every((one) => text(one) === undefined) ? undefined : "a list of texts";
/** As `kubelab --speed`. */
export const speed: Rule = (value) =>
  typeof value === "number" && value >= 0.01 && value <= 10_000 ? undefined : "a number from 0.01 to 10000";
export const milliseconds: Rule = (value) =>
  typeof value === "number" && value >= 0 && Number.isFinite(value) ? undefined : "a number of milliseconds";
export const nodeName: Rule = (value) =>
  typeof value === "string" && value.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(value)
    ? undefined
    : "up to 63 lower-case letters, digits and '-'";
export const labels: Rule = (value) =>
  isRecord(value) && Object.values(value).every((one) => typeof one === "string") ? undefined : "an object of texts";

const EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
export const taints: Rule = (value) =>
  Array.isArray(value) && value.every((one) => isRecord(one) && text(one["key"]) === undefined && isEffect(one))
    ? undefined
    : `a list of { key, value, effect } with an effect of ${EFFECTS.join(", ")}`;

function isEffect({ effect }: Readonly<Record<string, unknown>>): boolean {
  return EFFECTS.some((one) => one === effect);
}

export function oneOf(...words: readonly string[]): Rule {
  return (value) => (words.some((word) => word === value) ? undefined : words.join(", "));
}

export function wholeNumber(min: number, max: number): Rule {
  return (value) =>
    Number.isInteger(value) && Number(value) >= min && Number(value) <= max
      ? undefined
      : `a whole number from ${min} to ${max}`;
}

function usage(message: string, hint: string): LabError {
  return new LabError("USAGE", message, hint);
}

function shown(value: unknown): string {
  if (typeof value === "function") return "a function";
  return (JSON.stringify(value) ?? String(value)).slice(0, 100);
}
