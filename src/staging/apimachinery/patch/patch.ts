import type { KubeObject } from "../api/meta.js";
import { badRequest, type StatusError, statusError } from "../errors.js";
import { countKeys, decodeWalking, isDecodingError } from "../scheme/decode.js";
import { goFormat, goKind, goQuote } from "../scheme/go-text.js";
import { duplicateFields, parseJson } from "../scheme/json-syntax.js";
import { problemsOf, unstructuredTypeError } from "../scheme/problems.js";
import {
  countKeysInText,
  decodeCustom,
  decodeText,
  MAX_STRICT_ERRORS,
  strictDecodingError,
} from "../scheme/request.js";
import type { DecodedBody, FieldValidation, KindRef } from "../scheme/schema.js";
import { applyJsonPatch, JsonPatchError, type JsonPatchOperation } from "./json-patch.js";
import { applyMergePatch } from "./merge-patch.js";
import { StrategicPatchError } from "./strategic-errors.js";
import { applyStrategicMergePatch } from "./strategic-merge-patch.js";
import type { Json } from "./strategic-order.js";

export type PatchType =
  | "application/json-patch+json"
  | "application/merge-patch+json"
  | "application/strategic-merge-patch+json";

/**
 * Applies the body of a PATCH to the current object, and decodes and defaults the result like any body.
 *
 * Mirrors jsonPatcher and smpPatcher in k8s.io/apiserver/pkg/endpoints/handlers/patch.go.
 *
 * @param kind of the object; its schema contains the merge keys
 * @param current is not changed
 * @param patch the request's body
 * @returns the object, and the warnings under fieldValidation=Warn
 * @throws StatusError 400 for an invalid patch, 422 (500 for some, like upstream) for one that does not apply
 */
export function applyPatch(
  kind: KindRef,
  current: KubeObject,
  type: PatchType,
  patch: string | Buffer,
  validation: FieldValidation = "Warn",
): DecodedBody {
  const text = patch.toString();
  switch (type) {
    case "application/json-patch+json":
      return jsonPatch(kind, current, text, validation);
    case "application/merge-patch+json": {
      const { value, duplicates } = readMap(text, validation, (problem) =>
        badRequest(`error decoding patch: ${problem}`),
      );
      return decodePatched(kind, applyMergePatch(current, value), duplicates, validation);
    }
    case "application/strategic-merge-patch+json":
      return strategicPatch(kind, current, text, validation);
  }
}

const MAX_JSON_PATCH_OPERATIONS = 10_000;
/** An error shows a longer patch without its end. Differs: upstream shows all of it. */
const MAX_SHOWN_LENGTH = 64 * 1024;
const JSON_PATCH_KEYS = new Set(["op", "path", "from", "value"]);

function jsonPatch(kind: KindRef, current: KubeObject, text: string, validation: FieldValidation): DecodedBody {
  const { operations, strictErrors } = readOperations(text);
  if (operations.length > MAX_JSON_PATCH_OPERATIONS) {
    const limit = `The allowed maximum operations in a JSON patch is ${MAX_JSON_PATCH_OPERATIONS}`;
    throw statusError(413, "RequestEntityTooLarge", `${limit}, got ${operations.length}`);
  }
  try {
    return decodePatched(kind, applyJsonPatch(current, operations), strictErrors, validation);
  } catch (error) {
    if (error instanceof JsonPatchError) throw unprocessable();
    throw error;
  }
}

function readOperations(text: string): { operations: JsonPatchOperation[]; strictErrors: string[] } {
  const fail = (problem: string) => badRequest(`error decoding patch: ${problem}`);
  const operations = parseJson(text, fail);
  if (operations === null) return { operations: [], strictErrors: [] };
  if (!Array.isArray(operations)) throw fail(cannotUnmarshal(operations, "[]handlers.jsonPatchOp"));
  const strictErrors = duplicateFields(text).map((error) => `json patch ${error}`);
  operations.forEach((operation: unknown, index) => {
    if (goKind(operation) !== "object") throw fail(cannotUnmarshal(operation, "handlers.jsonPatchOp"));
    for (const [key, value] of Object.entries(operation as object)) {
      if (!JSON_PATCH_KEYS.has(key)) strictErrors.push(`json patch unknown field "[${index}].${key}"`);
      else if (key !== "value" && value !== null && typeof value !== "string") {
        throw fail(`json: cannot unmarshal ${goKind(value)} into Go struct field jsonPatchOp.${key} of type string`);
      }
    }
  });
  return { operations: operations as JsonPatchOperation[], strictErrors };
}

/** The patch did not apply. Upstream's message does not contain the reason. */
function unprocessable(message = "the server rejected our request due to an error in our request"): StatusError {
  return statusError(422, "Invalid", message, {});
}

/** Decodes the result of a JSON or merge patch like a request body. */
function decodePatched(
  kind: KindRef,
  patched: unknown,
  strictErrors: readonly string[],
  validation: FieldValidation,
): DecodedBody {
  // Go escapes these characters in JSON, and messages show the text.
  const text = JSON.stringify(patched ?? {}).replace(/[<>&]/g, (char) => `\\u00${char.charCodeAt(0).toString(16)}`);
  const fail = (problem: string) => invalidPatch(text, problem);
  const { object, warnings } =
    kind.custom === undefined
      ? decodeText(text, patched ?? {}, kind.schema, lenient(validation), fail)
      : decodeCustom(text, patched ?? {}, kind.custom, lenient(validation), fail);
  return judge(object, [...strictErrors, ...warnings], validation, text);
}

function strategicPatch(kind: KindRef, current: KubeObject, text: string, validation: FieldValidation): DecodedBody {
  const { value: patch, duplicates } = readMap(text, validation, badRequest);
  let patched: Json;
  try {
    patched = applyStrategicMergePatch(current, patch, kind.schema);
  } catch (error) {
    if (!(error instanceof StrategicPatchError)) throw error;
    if (error.code === 422) throw unprocessable();
    throw statusError(error.code, error.code === 400 ? "BadRequest" : undefined, error.message);
  }
  const walk = { unknown: false, keys: 0 };
  try {
    const object = decodeWalking(kind.schema, patched, walk);
    const unknown = walk.unknown ? [...problemsOf(kind.schema, patched).unknownFields].sort() : [];
    return judge(object, [...duplicates, ...unknown], validation, () => goFormat(patch));
  } catch (error) {
    if (!isDecodingError(error)) throw error;
    const { error: problem } = problemsOf(kind.schema, patched, unstructuredTypeError);
    throw invalidPatch(goFormat(patch), problem ?? error.message);
  }
}

/** Strict errors of the patch and of its result are reported together, so the decoder only collects them. */
function lenient(validation: FieldValidation): FieldValidation {
  return validation === "Strict" ? "Warn" : validation;
}

function judge(
  object: KubeObject,
  strictErrors: readonly string[],
  validation: FieldValidation,
  shown: string | (() => string),
): DecodedBody {
  if (validation === "Ignore" || strictErrors.length === 0) return { object, warnings: [] };
  if (validation === "Warn") return { object, warnings: strictErrors };
  const shownErrors = strictErrors.slice(0, MAX_STRICT_ERRORS);
  throw invalidPatch(typeof shown === "string" ? shown : shown(), strictDecodingError(shownErrors));
}

/** Mirrors errors.NewInvalid with an empty kind: the message begins with a space. */
function invalidPatch(patch: string, problem: string): StatusError {
  const shown = patch.length > MAX_SHOWN_LENGTH ? `${patch.slice(0, MAX_SHOWN_LENGTH)}...` : patch;
  const message = `Invalid value: ${goQuote(shown)}: ${problem}`;
  return statusError(422, "Invalid", ` "" is invalid: patch: ${message}`, {
    causes: [{ reason: "FieldValueInvalid", message, field: "patch" }],
  });
}

function readMap(
  text: string,
  validation: FieldValidation,
  fail: (problem: string) => StatusError,
): { value: Json; duplicates: readonly string[] } {
  const value = parseJson(text, fail) ?? {};
  if (goKind(value) !== "object") throw fail(cannotUnmarshal(value, "map[string]interface {}"));
  const hasDuplicates = validation !== "Ignore" && countKeysInText(text) !== countKeys(value);
  return { value: value as Json, duplicates: hasDuplicates ? duplicateFields(text) : [] };
}

function cannotUnmarshal(value: unknown, goType: string): string {
  return `json: cannot unmarshal ${goKind(value)} into Go value of type ${goType}`;
}
