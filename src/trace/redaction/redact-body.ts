import { isRecord } from "../../util/records.js";
import { MASK, redactArguments, redactText } from "./redact-text.js";
import {
  FIELDS_OF_SECRETS,
  isSecretName,
  KINDS_BY_PATH,
  OBJECT_ANNOTATIONS,
  SECRET_FIELDS,
  SECRET_KEYS,
} from "./secret-fields.js";

/** Called for each value that was masked because of its field; `object` is the object of a known kind around it. */
export type OnSecret = (value: string, key: string, object: unknown) => void;

/** A field path of a kind that is still to be matched: `["data", "*"]`. */
type Steps = readonly string[];

interface Place {
  /** secret paths below this value */
  readonly paths: readonly Steps[];
  /** the innermost object of a known kind */
  readonly object: unknown;
  readonly onSecret: OnSecret;
}

const PATHS_BY_KIND = new Map(
  Object.entries(SECRET_FIELDS).map(([kind, paths]) => [kind, paths.map((path) => splitPath(path))] as const),
);

/** The keys of a field path; `auth-provider` and the like contain no dot. */
function splitPath(path: string): Steps {
  return path.split(".");
}

/** The kind of the objects at a request's path, if they contain secrets. */
export function secretKindOf(requestPath: string): string | undefined {
  return KINDS_BY_PATH.find(([pattern]) => pattern.test(requestPath))?.[1];
}

/**
 * A copy of a request or response body without secrets: objects, lists, tables, watch events, patches.
 * @param requestPath tells the kind of patches and of other bodies that do not name it
 */
export function redactBody(value: unknown, requestPath = "", onSecret: OnSecret = () => {}): unknown {
  const kind = secretKindOf(requestPath);
  const paths = kind === undefined ? [] : (PATHS_BY_KIND.get(kind) ?? []);
  const place: Place = { paths, object: value, onSecret };
  if (typeof value === "string" && kind !== undefined) return redactDocument(value, place);
  if (Array.isArray(value) && value.some(isJsonPatchOperation)) return value.map((one) => redactOperation(one, place));
  return redactValue(value, place);
}

function redactValue(value: unknown, place: Place): unknown {
  if (typeof value === "string") return redactText(value);
  if (Array.isArray(value) && value.every((item) => typeof item === "string")) return redactArguments(value);
  if (Array.isArray(value)) return value.map((item, i) => redactValue(item, below(place, String(i))));
  if (!isRecord(value)) return value;
  const inside = enter(value, place);
  const out: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) out[key] = redactField(key, item, inside);
  // A variable of a container, or a header of a probe.
  const { name, value: named } = value;
  if (typeof name === "string" && typeof named === "string" && isSecretName(name))
    out["value"] = maskKnownKey(named, name, inside);
  return out;
}

/** An object that names its kind brings its own secret paths, wherever it is: in a list, a table row, a watch event. */
function enter(value: Readonly<Record<string, unknown>>, place: Place): Place {
  const kind = typeof value["kind"] === "string" ? value["kind"] : "";
  const own = PATHS_BY_KIND.get(kind);
  if (own !== undefined)
    return { ...place, paths: kind === "Secret" ? [...own, ...unknownFields(value)] : own, object: value };
  // Items of a typed list name no kind.
  const items = PATHS_BY_KIND.get(kind.replace(/List$/, ""));
  if (items !== undefined) return { ...place, paths: items.map((path) => ["items", "*", ...path]) };
  return place.paths.some(([first]) => first === "data") ? { ...place, object: value } : place;
}

/** Fields that a Secret does not have are masked as well: a misspelt field can hold a secret. */
function unknownFields(secret: Readonly<Record<string, unknown>>): readonly Steps[] {
  return Object.keys(secret)
    .filter((key) => !FIELDS_OF_SECRETS.has(key))
    .map((key) => [key]);
}

function below(place: Place, key: string): Place {
  if (place.paths.length === 0) return place;
  return { ...place, paths: place.paths.filter(([step]) => step === key || step === "*").map((path) => path.slice(1)) };
}

function redactField(key: string, item: unknown, place: Place): unknown {
  if (key === "annotations" && isRecord(item)) return redactAnnotations(item, place);
  const inside = below(place, key);
  if (inside.paths.some((path) => path.length === 0)) return maskAll(item, key, place);
  // `data` of a Secret that is no object, as in an invalid patch.
  if (inside.paths.some((path) => path.length === 1 && path[0] === "*") && !isRecord(item))
    return maskAll(item, key, place);
  if (typeof item === "string" && (SECRET_KEYS.has(key) || isSecretName(key))) return maskKnownKey(item, key, place);
  return redactValue(item, inside);
}

/** A bootstrap token keeps its public half. */
function maskKnownKey(item: string, key: string, place: Place): string {
  const redacted = redactText(item);
  if (redacted !== item) return redacted;
  if (item !== "") place.onSecret(item, key, place.object);
  return MASK;
}

function maskAll(item: unknown, key: string, place: Place): unknown {
  if (typeof item === "string") {
    if (item !== "") place.onSecret(item, key, place.object);
    return MASK;
  }
  if (Array.isArray(item)) return item.map((one) => maskAll(one, key, place));
  if (isRecord(item))
    return Object.fromEntries(Object.entries(item).map(([name, one]) => [name, maskAll(one, name, place)]));
  return item === null ? null : MASK;
}

/** A patch can set an annotation to null. */
function redactAnnotations(annotations: Readonly<Record<string, unknown>>, place: Place): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(annotations).map(([name, text]) => [name, redactAnnotation(name, text, place)]),
  );
}

/** The object that `kubectl apply` stored, itself without secrets. */
function redactAnnotation(name: string, text: unknown, { onSecret }: Place): unknown {
  if (typeof text !== "string") return text;
  if (!OBJECT_ANNOTATIONS.has(name)) return redactText(text);
  try {
    return JSON.stringify(redactBody(JSON.parse(text), "", onSecret));
  } catch {
    return MASK;
  }
}

interface JsonPatchOperation {
  readonly op: string;
  readonly path: string;
  readonly value?: unknown;
}

function isJsonPatchOperation(value: unknown): value is JsonPatchOperation {
  return isRecord(value) && typeof value["op"] === "string" && typeof value["path"] === "string";
}

function redactOperation(operation: unknown, place: Place): unknown {
  if (!isJsonPatchOperation(operation)) return redactValue(operation, place);
  const keys = operation.path.split("/").slice(1).map(unescapePointer);
  if (!("value" in operation)) return { ...operation };
  const whole = keys.reduceRight<unknown>((inner, key) => ({ [key]: inner }), operation.value);
  let value = redactValue(whole, place);
  for (const key of keys) value = isRecord(value) ? value[key] : MASK;
  return { ...operation, value };
}

/** RFC 6901 */
function unescapePointer(key: string): string {
  return key.replaceAll("~1", "/").replaceAll("~0", "~");
}

/** A text in place of an object of a kind with secrets: JSON is redacted as such, anything else is hidden. */
function redactDocument(text: string, place: Place): unknown {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object") return redactValue(value, place);
  } catch {
    // not JSON: YAML, protobuf or an error page
  }
  return `${text.length} characters`;
}
