import { MASK, redactArguments, redactText } from "../../trace/redaction/redact-text.js";
import { CRI_ARGUMENTS, OBJECT_ANNOTATIONS, SECRET_CRI_FIELDS } from "../../trace/redaction/secret-fields.js";
import { Encoded, type Field, type FieldTable, type MessageType } from "../apimachinery/protobuf/fields.js";

/**
 * A message as plain JSON for the trace, without secrets. Zero values are left out, as on the wire; 64 bit integers are
 * strings, as in protobuf's JSON; bytes (a command's output) are replaced by their length.
 */
export function redactMessage<F extends FieldTable>(
  message: MessageType<F>,
  value: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(message.fields)) {
    const item = value[name];
    if (isAbsent(item) || (field.kind.type === "map" && Object.keys(item as object).length === 0)) continue;
    const path = `${message.name}.${name}`;
    const shown = CRI_ARGUMENTS.has(path) && Array.isArray(item) ? redactArguments(item) : item;
    out[name] = SECRET_CRI_FIELDS.has(path) ? masked(shown) : plain(field, shown);
  }
  return out;
}

function isAbsent(item: unknown): boolean {
  if (item === undefined || item === "" || item === 0 || item === 0n || item === false) return true;
  if (Array.isArray(item) || item instanceof Uint8Array) return item.length === 0;
  return false;
}

/** Longer lists are cut off. */
const MAX_SHOWN = 50;

function plainList(field: Field, items: readonly unknown[]): unknown[] {
  const shown = items.slice(0, MAX_SHOWN).map((item) => plain({ ...field, isRepeated: false }, item));
  return items.length > MAX_SHOWN ? [...shown, `and ${items.length - MAX_SHOWN} more`] : shown;
}

function masked(item: unknown): unknown {
  if (typeof item !== "object" || item === null) return MASK;
  return Object.fromEntries(Object.keys(item).map((key) => [key, MASK]));
}

function plain(field: Field, item: unknown): unknown {
  const { kind } = field;
  if (Array.isArray(item)) return plainList(field, item);
  if (item instanceof Encoded)
    return kind.type === "message" ? plain(field, kind.of.decode(Buffer.from(item.bytes))) : MASK;
  if (item instanceof Uint8Array) return `${item.length} bytes`;
  if (typeof item === "bigint") return item.toString();
  if (typeof item === "string") return redactText(item);
  if (typeof item !== "object" || item === null) return item;
  if (kind.type === "message") return redactMessage(kind.of, item as Readonly<Record<string, unknown>>);
  return Object.fromEntries(
    Object.entries(item).map(([key, text]) => [key, OBJECT_ANNOTATIONS.has(key) ? MASK : redactText(String(text))]),
  );
}
