import { goQuote } from "../../../../../staging/apimachinery/scheme/go-text.js";
import { type GoText, goValue } from "../../rest/field-errors.js";

/** A JSON value as errors show it: strings quoted, numbers plain, lists and maps in Go's `%#v`. */
export function goLiteral(value: unknown): GoText | string | number | boolean | null {
  if (typeof value !== "object" || value === null) return value as string | number | boolean | null;
  return goValue(literal(value));
}

function literal(value: unknown): string {
  if (Array.isArray(value)) return `[]interface {}{${value.map(literal).join(", ")}}`;
  if (typeof value === "string") return goQuote(value);
  if (value === null || value === undefined) return "interface {}(nil)";
  if (typeof value !== "object") return String(value);
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `map[string]interface {}{${fields.map(([key, item]) => `${goQuote(key)}:${literal(item)}`).join(", ")}}`;
}
