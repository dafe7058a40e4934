/**
 * Query parameters of reads and writes, validated like upstream. The store validates combinations of list parameters.
 *
 * Mirrors k8s.io/apimachinery/pkg/apis/meta/v1 (conversion.go) and .../meta/v1/validation/validation.go.
 */

import type { ListOptions, WatchOptions } from "../../../staging/apimachinery/api/options.js";
import { badRequest, type FieldError, invalid } from "../../../staging/apimachinery/errors.js";
import type { FieldValidation } from "../../../staging/apimachinery/scheme/schema.js";
import { MAX_REQUEST_MS } from "./exchange.js";
import { isTrue, type RequestInfo } from "./request-info.js";

const EMPTY_LIST: ListOptions = {};

/** @throws StatusError 400 */
export function listOptions(query: URLSearchParams): ListOptions {
  if (query.size === 0) return EMPTY_LIST;
  const limit = integer(query, "limit");
  integer(query, "timeoutSeconds");
  return {
    ...text(query, "labelSelector"),
    ...text(query, "fieldSelector"),
    ...text(query, "continue"),
    ...text(query, "resourceVersion"),
    ...text(query, "resourceVersionMatch"),
    ...(limit === undefined ? {} : { limit }),
  };
}

/** @throws StatusError 400 */
export function watchOptions(query: URLSearchParams, name: string | undefined): WatchOptions {
  const timeoutSeconds = integer(query, "timeoutSeconds");
  integer(query, "limit");
  return {
    ...text(query, "labelSelector"),
    ...text(query, "fieldSelector"),
    ...text(query, "resourceVersion"),
    ...text(query, "resourceVersionMatch"),
    ...(name === undefined ? {} : { fieldSelector: `metadata.name=${name}` }),
    ...(isTrue(query, "allowWatchBookmarks") ? { allowWatchBookmarks: true } : {}),
    ...(query.has("sendInitialEvents") ? { sendInitialEvents: isTrue(query, "sendInitialEvents") } : {}),
    ...(timeoutSeconds === undefined || timeoutSeconds === 0 ? {} : { timeoutSeconds }),
  };
}

export interface WriteOptions {
  readonly dryRun: boolean;
  readonly fieldValidation: FieldValidation;
  readonly fieldManager: string | undefined;
  readonly force: boolean;
}

const DEFAULT_WRITE: WriteOptions = { dryRun: false, fieldValidation: "Warn", fieldManager: undefined, force: false };
const FIELD_VALIDATIONS = ["", "Ignore", "Strict", "Warn"];
const MAX_FIELD_MANAGER_LENGTH = 128;

/** @param kind the options kind, for messages: `CreateOptions` @throws StatusError 422 */
export function writeOptions(query: URLSearchParams, kind: string, isApply = false): WriteOptions {
  if (query.size === 0 && !isApply) return DEFAULT_WRITE;
  const dryRun = query.getAll("dryRun").filter((one) => one !== "");
  const fieldValidation = query.get("fieldValidation") ?? "";
  const fieldManager = query.get("fieldManager") ?? "";
  const problems: FieldError[] = dryRunProblems(dryRun);
  if (!FIELD_VALIDATIONS.includes(fieldValidation)) {
    const text = `Unsupported value: ${quoted(fieldValidation)}: ${supported(FIELD_VALIDATIONS)}`;
    problems.push({ type: "FieldValueNotSupported", field: "fieldValidation", text });
  }
  if (isApply && fieldManager === "") {
    const text = "Required value: is required for apply patch";
    problems.push({ type: "FieldValueRequired", field: "fieldManager", text });
  }
  if (query.has("force") && kind === "PatchOptions" && !isApply) {
    const text = "Forbidden: may not be specified for non-apply patch";
    problems.push({ type: "FieldValueForbidden", field: "force", text });
  }
  if (fieldManager.length > MAX_FIELD_MANAGER_LENGTH) {
    const text = `Too long: may not be longer than ${MAX_FIELD_MANAGER_LENGTH}`;
    problems.push({ type: "FieldValueTooLong", field: "fieldManager", text });
  }
  check(kind, problems);
  return {
    dryRun: dryRun.length > 0,
    fieldValidation: fieldValidation === "" ? "Warn" : (fieldValidation as FieldValidation),
    fieldManager: fieldManager === "" ? undefined : fieldManager,
    force: isTrue(query, "force"),
  };
}

/** Used for the body of a DELETE, too. */
export function dryRunProblems(dryRun: readonly string[]): FieldError[] {
  if (dryRun.every((one) => one === "All")) return [];
  const value = `[]string{${dryRun.map(quoted).join(", ")}}`;
  const text = `Unsupported value: ${value}: ${supported(["All"])}`;
  return [{ type: "FieldValueNotSupported", field: "dryRun", text }];
}

/** @throws StatusError 422 */
export function check(kind: string, problems: readonly FieldError[]): void {
  if (problems.length > 0) throw invalid({ group: "meta.k8s.io", kind }, "", problems);
}

const DURATION = /^[+-]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/;
const UNITS_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};
const LONG_RUNNING_VERBS = ["watch", "proxy"];
const LONG_RUNNING_SUBRESOURCES = ["attach", "exec", "log", "portforward", "proxy"];

/** Long-running requests have no time limit. Mirrors BasicLongRunningRequestCheck in k8s.io/apiserver/pkg/server/filters/longrunning.go. */
export function isLongRunning({ verb, subresource }: RequestInfo): boolean {
  return LONG_RUNNING_VERBS.includes(verb) || LONG_RUNNING_SUBRESOURCES.includes(subresource);
}

/**
 * The time limit of a request: `?timeout=5s` shortens it.
 * Mirrors k8s.io/apiserver/pkg/endpoints/filters/request_deadline.go (WithRequestDeadline). @throws StatusError 400
 */
export function requestTimeoutMs(info: RequestInfo, query: URLSearchParams): number {
  const asked = query.get("timeout") ?? "";
  if (asked === "" || isLongRunning(info)) return MAX_REQUEST_MS;
  if (!DURATION.test(asked)) {
    const why = /^[+-]?[\d.]*\d$/.test(asked) ? "missing unit in" : "invalid";
    throw badRequest(`invalid timeout specified in the request URL - time: ${why} duration ${quoted(asked)}`);
  }
  let askedMs = 0;
  for (const [, count, unit] of asked.matchAll(/(?<![\d.])([\d.]+)([a-zµμ]+)/g))
    askedMs += Number(count) * (UNITS_MS[unit ?? ""] ?? 0);
  return asked.startsWith("-") || askedMs === 0 ? MAX_REQUEST_MS : Math.min(askedMs, MAX_REQUEST_MS);
}

export function integer(query: URLSearchParams, parameter: string): number | undefined {
  const value = query.get(parameter);
  if (value === null || value === "") return undefined;
  if (!/^[+-]?\d+$/.test(value)) {
    throw badRequest(`strconv.ParseInt: parsing ${quoted(value)}: invalid syntax`);
  }
  return Number(value);
}

function text<K extends string>(query: URLSearchParams, parameter: K): { readonly [P in K]?: string } {
  const value = query.get(parameter);
  return value === null || value === "" ? {} : ({ [parameter]: value } as { [P in K]: string });
}

function quoted(text: string): string {
  return JSON.stringify(text);
}

function supported(values: readonly string[]): string {
  return `supported values: ${values.map(quoted).join(", ")}`;
}
