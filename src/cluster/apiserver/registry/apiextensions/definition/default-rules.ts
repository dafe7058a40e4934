import type { FieldError } from "../../../../../staging/apimachinery/errors.js";
import { sameJson } from "../../../../../staging/apimachinery/same-json.js";
import { isDecodingError } from "../../../../../staging/apimachinery/scheme/decode.js";
import { invalidValue } from "../../rest/field-errors.js";
import { goLiteral } from "../schema/go-literal.js";
import { decodeEmbedded, validateEmbedded } from "../schema/object-meta.js";
import { prune } from "../schema/prune.js";
import { itemsOf } from "../schema/structural.js";
import { validateValue } from "../schema/value-validation.js";
import type { JsonSchema } from "../types.js";

/**
 * Checks that the defaults of a schema are valid, and that nothing of them would be pruned.
 *
 * Mirrors k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting/validation.go (ValidateDefaults).
 * Differs: a default inside the metadata of an embedded resource is checked as any other.
 */
export function validateDefaults(schema: JsonSchema, path: string): FieldError[] {
  const items = itemsOf(schema);
  return [
    ...(schema.default === undefined ? [] : validateDefault(schema.default, schema, `${path}.default`)),
    ...(items === undefined ? [] : validateDefaults(items, `${path}.items`)),
    // Maps have no defaults below them: those are forbidden.
    ...Object.entries(schema.properties ?? {}).flatMap(([name, one]) =>
      validateDefaults(one, `${path}.properties[${name}]`),
    ),
  ];
}

function validateDefault(value: unknown, schema: JsonSchema, path: string): FieldError[] {
  const isResource = schema["x-kubernetes-embedded-resource"] === true;
  const isPruned = sameJson(prune(value, schema, isResource), value);
  const unknown = isPruned ? [] : [invalidValue(path, goLiteral(value), "must not have unknown fields")];
  try {
    decodeEmbedded(value, schema);
  } catch (error) {
    if (!isDecodingError(error)) throw error;
    return [...unknown, invalidValue(path, goLiteral(value), error.message)];
  }
  const embedded = validateEmbedded(value, schema, path);
  return [...unknown, ...(embedded.length > 0 ? embedded : validateValue(value, schema, path))];
}
