import { isRecord } from "../../../util/records.js";
import type { CustomKind } from "../api/custom-kind.js";
import type { KubeObject } from "../api/meta.js";
import { badRequest, internalError } from "../errors.js";
import { countKeys, decodeWalking, isDecodingError } from "./decode.js";
import { goKind } from "./go-text.js";
import { duplicateFields, endOfString, parseJson } from "./json-syntax.js";
import { problemsOf } from "./problems.js";
import type { DecodedBody, FieldValidation, KindRef } from "./schema.js";
import { checkGroupVersion, checkGroupVersionKind, checkMetaKind, type GroupVersionKind } from "./scheme.js";

/**
 * Decodes the body of a create or an update.
 *
 * Mirrors k8s.io/apiserver/pkg/endpoints/handlers (createHandler, transformDecodeError in rest.go) and
 * k8s.io/apimachinery/pkg/runtime/serializer/json/json.go (Decode).
 * @param text JSON; a YAML body is converted first
 * @param kind the kind that the path accepts; a body may omit kind and apiVersion
 * @param yamlErrors strict errors of the conversion from YAML
 * @throws StatusError 400
 */
export function decodeRequestBody(
  text: string,
  kind: KindRef,
  validation: FieldValidation = "Warn",
  yamlErrors: readonly string[] = [],
): DecodedBody {
  const value = parse(text, (problem) => unrecognized(kind, problem, text));
  const actual = interpret(value, kind, (problem) => unrecognized(kind, problem, text));
  const fail = (problem: string) => cannotBeHandled(actual, kind, problem);
  const wrongKind = kind.custom === undefined ? checkGroupVersionKind(actual, kind) : checkGroupVersion(actual, kind);
  if (wrongKind !== undefined) throw wrongKind;
  if (kind.custom !== undefined) return decodeCustom(text, value, kind.custom, validation, fail, yamlErrors);
  return decodeText(text, value, kind.schema, validation, fail, yamlErrors);
}

/**
 * Decodes a text of a kind that a CustomResourceDefinition describes, as `decodeText`.
 */
export function decodeCustom(
  text: string,
  value: unknown,
  kind: CustomKind,
  validation: FieldValidation,
  fail: (problem: string) => Error,
  yamlErrors: readonly string[] = [],
): DecodedBody {
  if (!isRecord(value) || typeof value["kind"] !== "string" || value["kind"] === "") {
    throw fail(`Object 'Kind' is missing in '${summary(text)}'`);
  }
  try {
    const isRepeated = validation !== "Ignore" && countKeysInText(text) !== countKeys(value);
    const { object, unknownFields } = kind.decode(value);
    if (validation === "Ignore") return { object, warnings: [] };
    const duplicates = isRepeated ? duplicateFields(text) : [];
    const strictErrors = [...yamlErrors, ...duplicates, ...unknownFields].slice(0, MAX_STRICT_ERRORS);
    if (validation === "Strict" && strictErrors.length > 0) throw fail(strictDecodingError(strictErrors));
    return { object, warnings: strictErrors };
  } catch (error) {
    if (!isDecodingError(error)) throw error;
    throw fail(error.message);
  }
}

/** `Node in version "v1" cannot be handled as a Node: ...` */
export function cannotBeHandled(actual: GroupVersionKind, kind: KindRef, problem: string) {
  return badRequest(`${actual.kind} in version "${actual.version}" cannot be handled as a ${kind.kind}: ${problem}`);
}

/** The error for a body whose kind cannot be read. @param data the body, or its beginning */
export function unrecognized(kind: KindRef, problem: string, data: string | Buffer) {
  return badRequest(
    `the object provided is unrecognized (must be of type ${kind.kind}): ${problem} (${summary(data)})`,
  );
}

/**
 * Decodes the body of a DELETE; an empty one means empty options.
 * Mirrors k8s.io/apiserver/pkg/endpoints/handlers/delete.go (DeleteResource).
 * @throws StatusError 500 for a body that is not DeleteOptions (upstream does not convert errors of this decoder to 400)
 */
export function decodeDeleteOptions(text: string, apiVersion = "v1"): KubeObject {
  if (text.trim() === "") return { kind: "DeleteOptions", apiVersion, metadata: {} };
  const value = parse(text, (problem) => internalError(problem));
  const kind = { group: "", version: "v1", kind: "DeleteOptions", schema: "DeleteOptions" };
  const actual = interpret(value, kind, (problem) => internalError(problem));
  const wrongKind = checkMetaKind(actual, "DeleteOptions");
  if (wrongKind !== undefined) throw wrongKind;
  return decodeText(text, value, "DeleteOptions", "Ignore", internalError).object;
}

export const MAX_STRICT_ERRORS = 100;

/**
 * Decodes a text of a known type, and reports unknown and duplicate fields.
 * @param fail creates the error from Go's message
 */
export function decodeText(
  text: string,
  value: unknown,
  type: string,
  validation: FieldValidation,
  fail: (problem: string) => Error,
  yamlErrors: readonly string[] = [],
): DecodedBody {
  const walk = { unknown: false, keys: 0 };
  let object: KubeObject;
  try {
    object = decodeWalking(type, value ?? {}, walk);
  } catch (error) {
    if (!isDecodingError(error)) throw error;
    throw fail(problemsOf(type, value).error ?? error.message);
  }
  if (validation === "Ignore") return { object, warnings: [], sent: value };
  const unknown = walk.unknown ? problemsOf(type, value).unknownFields : [];
  const duplicates = countKeysInText(text) === walk.keys ? [] : duplicateFields(text);
  const strictErrors = [...yamlErrors, ...unknown, ...duplicates].slice(0, MAX_STRICT_ERRORS);
  if (validation === "Strict" && strictErrors.length > 0) throw fail(strictDecodingError(strictErrors));
  return { object, warnings: strictErrors, sent: value };
}

export function strictDecodingError(strictErrors: readonly string[]): string {
  return `strict decoding error: ${strictErrors.join(", ")}`;
}

/** Outside of strings, each colon follows a key. More colons than keys in the value mean a duplicate key. */
export function countKeysInText(text: string): number {
  let count = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x3a) count++;
    else if (code === 0x22) i = endOfString(text, i);
  }
  return count;
}

function parse(text: string, fail: (problem: string) => Error): unknown {
  return parseJson(text, (problem) => fail(`couldn't get version/kind; json parse error: ${problem}`));
}

const GO_TYPE_META =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';

/** Mirrors SimpleMetaFactory.Interpret in k8s.io/apimachinery/pkg/runtime/serializer/json/meta.go. */
function interpret(value: unknown, kind: KindRef, fail: (problem: string) => Error): GroupVersionKind {
  const reason = "couldn't get version/kind; json parse error: json: cannot unmarshal";
  if (typeof value !== "object" || Array.isArray(value)) {
    throw fail(`${reason} ${goKind(value)} into Go value of type ${GO_TYPE_META}`);
  }
  const typeMeta = (value ?? {}) as { readonly apiVersion?: unknown; readonly kind?: unknown };
  for (const name of ["apiVersion", "kind"] as const) {
    const given = typeMeta[name] ?? "";
    if (typeof given !== "string")
      throw fail(`${reason} ${goKind(given)} into Go struct field .${name} of type string`);
  }
  const apiVersion = String(typeMeta.apiVersion ?? "");
  const slash = apiVersion.indexOf("/");
  if (slash !== apiVersion.lastIndexOf("/")) throw fail(`unexpected GroupVersion string: ${apiVersion}`);
  const group = apiVersion.slice(0, Math.max(slash, 0));
  const version = apiVersion.slice(slash + 1);
  const isVersionless = apiVersion === "";
  return {
    group: isVersionless ? kind.group : group,
    version: isVersionless ? kind.version : version,
    kind: String(typeMeta.kind || kind.kind),
  };
}

const SUMMARY_LENGTH = 30;

/** Mirrors summarizeData in k8s.io/apiserver/pkg/endpoints/handlers/rest.go. */
function summary(data: string | Buffer): string {
  const bytes = typeof data === "string" ? Buffer.from(data) : data;
  if (bytes.length === 0) return "<empty>";
  const start = bytes.subarray(0, SUMMARY_LENGTH);
  const shown = bytes[0] === 0x7b ? start.toString() : start.toString("hex");
  return bytes.length > SUMMARY_LENGTH ? `${shown} ...` : shown;
}
