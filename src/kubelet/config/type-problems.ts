import { typeProblems, type Wording } from "../../staging/apimachinery/scheme/problems.js";
import type { FieldType } from "../../staging/apimachinery/scheme/schema.js";

const WANTED: Readonly<Record<FieldType["type"], string>> = {
  array: "a list",
  object: "an object",
  map: "an object",
  string: "a string",
  int32: "a whole number",
  int64: "a whole number",
  boolean: "true or false",
  intOrString: "a whole number or a string",
  quantity: "a quantity such as 500m or 1Gi",
  resourceQuantity: "a quantity such as 500m or 1Gi",
  time: "a time such as 2024-01-31T10:00:00Z",
  microtime: "a time such as 2024-01-31T10:00:00.000000Z",
  double: "a number",
  bytes: "text in base64",
  any: "a value",
};
/** The number of characters of a wrong value that a message quotes. */
const MAX_SHOWN_CHARS = 40;

/**
 * One line for each field of a Pod with a value of the wrong type. Ignores unknown fields and null.
 *
 * Mirrors what Go's decoder refuses: `cannot unmarshal number into Go struct field EnvVar.value of type string`.
 * Differs: reports every problem, each with its whole path.
 */
export function podTypeProblems(pod: unknown): string[] {
  return typeProblems("Pod", pod, wrong);
}

const wrong: Wording = ({ type }, value, { path }) => {
  const isBareWord = type === "string" && (typeof value === "number" || typeof value === "boolean");
  return `${path}: must be ${WANTED[type]}, not ${inWords(value)}${isBareWord ? " (put it in quotes)" : ""}`;
};

function inWords(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  const text = JSON.stringify(value) ?? String(value);
  const shown = text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS)}…` : text;
  return typeof value === "string" ? `the string ${shown}` : shown;
}
