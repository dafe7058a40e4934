import type { ObjectMeta } from "../../../../../staging/apimachinery/api/meta.js";
import { isDns1035Label, isPathSegmentName } from "../../../../../staging/apimachinery/api/names.js";
import type { FieldError } from "../../../../../staging/apimachinery/errors.js";
import { setOwnValue } from "../../../../../staging/apimachinery/own.js";
import { decodeWalking, isDecodingError, ShapeError } from "../../../../../staging/apimachinery/scheme/decode.js";
import { goQuote } from "../../../../../staging/apimachinery/scheme/go-text.js";
import { problemsOf } from "../../../../../staging/apimachinery/scheme/problems.js";
import { isRecord, isSet } from "../../../../../util/records.js";
import { invalidValue, required } from "../../rest/field-errors.js";
import { validateMeta } from "../../rest/validate-meta.js";
import type { JsonSchema } from "../types.js";
import { goLiteral } from "./go-literal.js";
import { fieldOf, itemsOf, someSchema } from "./structural.js";

const TYPE = "ObjectMeta";

/**
 * The metadata of an object as the server keeps it: known fields only.
 *
 * Mirrors k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta/coerce.go (GetObjectMetaWithOptions).
 * @param unknown gets `metadata.x` for each unknown field
 * @throws ShapeError with Go's message
 */
export function decodeMeta(value: unknown, unknown?: (path: string) => void, path = "metadata"): ObjectMeta {
  const walk = { unknown: false, keys: 0 };
  try {
    const { creationTimestamp, ...meta } = decodeWalking(TYPE, value ?? {}, walk) as unknown as ObjectMeta;
    if (walk.unknown && unknown !== undefined) {
      for (const one of problemsOf(TYPE, value).unknownFields) {
        unknown(`${path}.${JSON.parse(one.slice("unknown field ".length))}`);
      }
    }
    // Go leaves out a time that is not set.
    return isSet(creationTimestamp) ? { ...meta, creationTimestamp } : meta;
  } catch (error) {
    if (!isDecodingError(error)) throw error;
    throw new ShapeError(problemsOf(TYPE, value).error ?? error.message);
  }
}

/** Reports whether a schema has embedded resources, beside the object itself. */
export function hasEmbedded(schema: JsonSchema): boolean {
  return someSchema(schema, (one) => one["x-kubernetes-embedded-resource"] === true);
}

/** Decodes the metadata of embedded resources. Neither the value nor a part of it is changed. Mirrors Coerce. */
export function decodeEmbedded(
  value: unknown,
  schema: JsonSchema | undefined,
  unknown?: (path: string) => void,
  path = "",
): unknown {
  if (schema === undefined) return value;
  if (Array.isArray(value)) {
    const items = value.map((item, i) => decodeEmbedded(item, itemsOf(schema), unknown, `${path}[${i}]`));
    return items.every((item, i) => item === value[i]) ? value : items;
  }
  if (!isRecord(value)) return value;
  const isResource = schema["x-kubernetes-embedded-resource"] === true;
  let changed: Record<string, unknown> | undefined;
  for (const [key, item] of Object.entries(value)) {
    const at = path === "" ? key : `${path}.${key}`;
    const below = () => decodeEmbedded(item, fieldOf(schema, key), unknown, at);
    const decoded = isResource && key === "metadata" ? embeddedMeta(item, unknown, at) : below();
    if (decoded === item) continue;
    changed ??= { ...value };
    setOwnValue(changed, key, decoded);
  }
  return changed ?? value;
}

function embeddedMeta(value: unknown, unknown: ((path: string) => void) | undefined, path: string): unknown {
  try {
    return decodeMeta(value, unknown, path);
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error;
    const shown = typeof value === "string" ? goQuote(value) : JSON.stringify(value);
    throw new ShapeError(`${path}: Invalid value: ${shown}: ${error.message}`);
  }
}

/** Checks kind, apiVersion and metadata of embedded resources. Mirrors .../schema/objectmeta/validation.go (Validate). */
export function validateEmbedded(value: unknown, schema: JsonSchema | undefined, path = ""): FieldError[] {
  if (schema === undefined) return [];
  if (Array.isArray(value)) return value.flatMap((item, i) => validateEmbedded(item, itemsOf(schema), `${path}[${i}]`));
  if (!isRecord(value)) return [];
  const own = schema["x-kubernetes-embedded-resource"] === true && path !== "" ? validateResource(value, path) : [];
  const { properties = {} } = schema;
  const below = Object.entries(value).flatMap(([key, item]) => {
    const isProperty = Object.hasOwn(properties, key);
    const at = isProperty ? (path === "" ? key : `${path}.${key}`) : `${path}[${key}]`;
    return validateEmbedded(item, fieldOf(schema, key), at);
  });
  return [...own, ...below];
}

function validateResource({ apiVersion, kind, metadata }: Record<string, unknown>, path: string): FieldError[] {
  return [
    ...validateText(apiVersion, `${path}.apiVersion`, (text) =>
      text.split("/").length > 2 ? [`unexpected GroupVersion string: ${text}`] : [],
    ),
    ...validateText(kind, `${path}.kind`, (text) => {
      const messages = isDns1035Label(text.toLowerCase());
      return messages.length === 0 ? [] : [`may have mixed case, but should otherwise match: ${messages.join(",")}`];
    }),
    ...(isRecord(metadata) ? validateEmbeddedMeta(metadata as ObjectMeta, `${path}.metadata`) : []),
  ];
}

function validateText(value: unknown, path: string, check: (text: string) => readonly string[]): FieldError[] {
  if (value === undefined) return [required(path, "must not be empty")];
  if (typeof value !== "string") return [invalidValue(path, goLiteral(value), "must be a string")];
  if (value === "") return [invalidValue(path, value, "must not be empty")];
  return check(value).map((message) => invalidValue(path, value, message));
}

function validateEmbeddedMeta(meta: ObjectMeta, path: string): FieldError[] {
  const isNamespaced = meta.namespace !== undefined && meta.namespace !== "";
  const named = meta.name === undefined || meta.name === "" ? { ...meta, name: "fakename" } : meta;
  const errors = validateMeta(named, isNamespaced, isPathSegmentName);
  return errors.map((error) => ({ ...error, field: error.field.replace(/^metadata/, path) }));
}
