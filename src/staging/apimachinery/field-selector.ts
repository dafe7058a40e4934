import { badRequest } from "./errors.js";

/**
 * Parses field selectors such as `spec.nodeName=n1,status.phase!=Running`, with upstream's messages.
 * Mirrors k8s.io/apimachinery/pkg/fields/selector.go (ParseSelector, EscapeValue, UnescapeValue).
 */
export interface FieldTerm {
  readonly field: string;
  readonly operator: "=" | "!=";
  readonly value: string;
}

const OPERATORS = ["!=", "==", "="] as const;

/** @throws StatusError 400 */
export function parseFieldSelector(text: string): FieldTerm[] {
  return splitTerms(text)
    .filter((term) => term !== "")
    .map((term) => parseTerm(text, term));
}

/** Splits at commas that are not escaped by a backslash. */
function splitTerms(text: string): string[] {
  const terms: string[] = [];
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === ",") {
      terms.push(text.slice(start, at));
      start = at + 1;
    }
  }
  return [...terms, text.slice(start)];
}

function parseTerm(selector: string, term: string): FieldTerm {
  for (let at = 0; at < term.length; at++) {
    const operator = OPERATORS.find((one) => term.startsWith(one, at));
    if (operator === undefined) continue;
    const value = unescapeValue(term.slice(at + operator.length));
    return { field: term.slice(0, at), operator: operator === "!=" ? "!=" : "=", value };
  }
  throw badRequest(`invalid selector: '${selector}'; can't understand '${term}'`);
}

function unescapeValue(value: string): string {
  let out = "";
  for (let at = 0; at < value.length; at++) {
    const character = value[at] as string;
    if (character === "\\") {
      const escaped = value[++at];
      if (escaped !== "\\" && escaped !== "," && escaped !== "=") {
        throw badRequest(`invalid field selector: invalid escape sequence: \\${escaped ?? ""}`);
      }
      out += escaped;
    } else if (character === "," || character === "=") {
      throw badRequest(`invalid field selector: unescaped character in value: ${character.charCodeAt(0)}`);
    } else out += character;
  }
  return out;
}

/** Mirrors EscapeValue. */
export function escapeFieldValue(value: string): string {
  return value.replace(/[\\,=]/g, "\\$&");
}
