/** How Go formats values in texts: upstream's messages quote them, and clients compare messages. */

const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  "\u0007": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
  '"': '\\"',
  "\\": "\\\\",
};

/** Characters that strconv.IsPrint rejects or that a quoted text must escape. */
const NEEDS_ESCAPE = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]|["\\]/gu;

/** Mirrors strconv.Quote, which is also %q. */
export function goQuote(text: string): string {
  const escaped = text.replace(NEEDS_ESCAPE, (char) => {
    const code = char.codePointAt(0) ?? 0;
    if (code > 0xffff) return `\\U${hex(code, 8)}`;
    return SHORT_ESCAPES[char] ?? (code < 0x80 ? `\\x${hex(code, 2)}` : `\\u${hex(code, 4)}`);
  });
  return `"${escaped}"`;
}

/** A list in Go's %q: `["a" "b"]`. */
export function goQuoteList(texts: readonly string[]): string {
  return `[${texts.map(goQuote).join(" ")}]`;
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, "0");
}

/** Mirrors %v of a document decoded by encoding/json: maps sorted by key, strings without quotes. */
export function goFormat(value: unknown): string {
  if (value === null || value === undefined) return "<nil>";
  if (Array.isArray(value)) return `[${value.map(goFormat).join(" ")}]`;
  if (typeof value === "object") {
    const entries = Object.entries(value).sort(([left], [right]) => compareBytes(left, right));
    return `map[${entries.map(([key, item]) => `${key}:${goFormat(item)}`).join(" ")}]`;
  }
  return String(value);
}

/** Go compares strings byte by byte. */
export function compareBytes(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Go's name for the kind of a JSON value in decoding errors. */
export function goKind(value: unknown): "string" | "number" | "bool" | "array" | "object" | "null" {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  const kind = typeof value;
  if (kind === "string" || kind === "number" || kind === "object") return kind;
  return "bool";
}

/** reflect.TypeOf of a decoded JSON value. */
export function goInterfaceType(value: unknown): string {
  if (value === null || value === undefined) return "%!s(<nil>)";
  if (Array.isArray(value)) return "[]interface {}";
  switch (typeof value) {
    case "string":
      return "string";
    case "boolean":
      return "bool";
    case "number":
      return Number.isInteger(value) ? "int64" : "float64";
    default:
      return "map[string]interface {}";
  }
}
