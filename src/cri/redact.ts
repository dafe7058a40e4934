import { Encoded, type Field, type FieldTable, type MessageType } from "../apimachinery/protobuf/fields.js";
import { redactText } from "../trace/redact.js";

const MASK = "****";

/**
 * Fields that may hold secrets, as `Message.field`. Values of environment variables; credentials; the verbose `info`, in
 * which runtimes repeat the whole environment; URLs of streams, which grant access to anyone who has them.
 */
const SECRETS = new Set([
  "KeyValue.value",
  "AuthConfig.password",
  "AuthConfig.auth",
  "AuthConfig.identityToken",
  "AuthConfig.registryToken",
  "WindowsContainerSecurityContext.credentialSpec",
  "WindowsSandboxSecurityContext.credentialSpec",
  "PodSandboxStatusResponse.info",
  "ContainerStatusResponse.info",
  "ImageStatusResponse.info",
  "StatusResponse.info",
  "ExecResponse.url",
  "AttachResponse.url",
  "PortForwardResponse.url",
]);

/** kubectl keeps the whole pod in this annotation, environment included. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

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
    out[name] = SECRETS.has(`${message.name}.${name}`) ? masked(item) : plain(field, item);
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
    Object.entries(item).map(([key, text]) => [key, key === LAST_APPLIED ? MASK : redactText(String(text))]),
  );
}
