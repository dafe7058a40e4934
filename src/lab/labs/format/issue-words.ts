import { catalogueText } from "./catalogue-text.js";

/** The used properties of a zod issue; each kind has more. */
interface RawIssue {
  readonly code?: string | undefined;
  readonly input?: unknown;
  readonly expected?: unknown;
  readonly values?: unknown;
  readonly keys?: unknown;
  readonly minimum?: unknown;
  readonly maximum?: unknown;
}

/**
 * Converts zod's own issues to messages of the catalogue.
 * @returns undefined if the schema supplies a message
 */
export function issueWords(issue: RawIssue): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      if (issue.input === undefined) return catalogueText("issueMissing", { expected: String(issue.expected) });
      return catalogueText("issueType", { expected: String(issue.expected), found: typeOf(issue.input) });
    case "invalid_value": {
      const found = JSON.stringify(issue.input) ?? "-";
      const [only, ...others] = Array.isArray(issue.values) ? issue.values : [];
      if (others.length === 0) return catalogueText("issueOnly", { expected: String(only), found });
      return catalogueText("issueValue", { names: list(issue.values), found });
    }
    case "unrecognized_keys":
      return catalogueText("issueKeys", { names: list(issue.keys) });
    case "too_small":
      return catalogueText("issueTooSmall", { minimum: String(issue.minimum) });
    case "too_big":
      return catalogueText("issueTooBig", { maximum: String(issue.maximum) });
    case "custom":
      return undefined;
    default:
      return catalogueText("issueOther", { found: JSON.stringify(issue.input) ?? "-" });
  }
}

function list(names: unknown): string {
  return Array.isArray(names) ? names.join(", ") : String(names);
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}
