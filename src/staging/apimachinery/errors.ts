import type { Status, StatusCause } from "./api/meta.js";

/**
 * An error response: code below the API server's handlers throws it, and it is sent as a `Status`. Texts mirror
 * k8s.io/apimachinery/pkg/api/errors/errors.go; the recordings contain them.
 */
export class StatusError extends Error {
  override readonly name = "StatusError";
  constructor(readonly status: Status & { readonly code: number }) {
    super(status.message);
  }
  get code(): number {
    return this.status.code;
  }
  get reason(): string | undefined {
    return this.status.reason;
  }
}

/** Group and plural of a resource, for error texts: `pods`, `leases.coordination.k8s.io`. */
export interface GroupResource {
  readonly group: string;
  readonly resource: string;
}

export interface GroupKind {
  readonly group: string;
  readonly kind: string;
}

/** A message shows parts of the request. Differs: upstream returns them whole. */
const MAX_MESSAGE_LENGTH = 512 * 1024;

function failure(code: number, reason: string | undefined, message: string, details?: Status["details"]): StatusError {
  return new StatusError({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: message.length > MAX_MESSAGE_LENGTH ? `${message.slice(0, MAX_MESSAGE_LENGTH)}...` : message,
    ...(reason === undefined ? {} : { reason }),
    ...(details === undefined ? {} : { details }),
    code,
  });
}

/** `pods`, or `leases.coordination.k8s.io` for a named group. */
export function qualifiedResource({ group, resource }: GroupResource): string {
  return group === "" ? resource : `${resource}.${group}`;
}

function qualifiedKind({ group, kind }: GroupKind): string {
  return group === "" ? kind : `${kind}.${group}`;
}

/** In most errors details.kind contains the plural resource (an upstream quirk). */
function resourceDetails({ group, resource }: GroupResource, name: string): NonNullable<Status["details"]> {
  return { ...(name === "" ? {} : { name }), ...(group === "" ? {} : { group }), kind: resource };
}

export function notFound(resource: GroupResource, name: string): StatusError {
  return failure(
    404,
    "NotFound",
    `${qualifiedResource(resource)} "${name}" not found`,
    resourceDetails(resource, name),
  );
}

/** 404 for a path in a served group that names no resource: empty details, one fixed message. */
export function resourceNotServed(): StatusError {
  return failure(404, "NotFound", "the server could not find the requested resource", {});
}

export function alreadyExists(resource: GroupResource, name: string): StatusError {
  return failure(
    409,
    "AlreadyExists",
    `${qualifiedResource(resource)} "${name}" already exists`,
    resourceDetails(resource, name),
  );
}

export function conflict(resource: GroupResource, name: string, why: string): StatusError {
  return failure(
    409,
    "Conflict",
    `Operation cannot be fulfilled on ${qualifiedResource(resource)} "${name}": ${why}`,
    resourceDetails(resource, name),
  );
}

export function forbidden(resource: GroupResource, name: string, why: string): StatusError {
  const subject = name === "" ? qualifiedResource(resource) : `${qualifiedResource(resource)} "${name}"`;
  return failure(403, "Forbidden", `${subject} is forbidden: ${why}`, resourceDetails(resource, name));
}

export function unauthorized(message = "Unauthorized"): StatusError {
  return failure(401, "Unauthorized", message);
}

export function badRequest(message: string): StatusError {
  return failure(400, "BadRequest", message);
}

/** The most errors that a message shows. Differs: upstream shows each of a million. */
export const MAX_CAUSES = 100;

/** 422 with one cause per error: `Node "x" is invalid: metadata.name: Invalid value: ...`; duplicates once. */
export function invalid(kind: GroupKind, name: string, errors: readonly FieldError[]): StatusError {
  const causes = errors.slice(0, MAX_CAUSES);
  const lines = [...new Set(causes.map(fieldErrorText))];
  if (errors.length > MAX_CAUSES) lines.push(`and ${errors.length - MAX_CAUSES} more`);
  const text = lines.length === 1 ? lines[0] : `[${lines.join(", ")}]`;
  return failure(422, "Invalid", `${qualifiedKind(kind)} "${cut(name)}" is invalid: ${text}`, {
    ...(name === "" ? {} : { name: cut(name) }),
    ...(kind.group === "" ? {} : { group: kind.group }),
    kind: kind.kind,
    causes: causes.map(
      (cause): StatusCause => ({ reason: cause.type, message: fieldErrorBody(cause), field: cut(cause.field) }),
    ),
  });
}

/** Mirrors field.Error in k8s.io/apimachinery/pkg/util/validation/field. `type` is the cause's reason on the wire. */
export interface FieldError {
  readonly type:
    | "FieldValueRequired"
    | "FieldValueInvalid"
    | "FieldValueNotSupported"
    | "FieldValueDuplicate"
    | "FieldValueForbidden"
    | "FieldValueTooLong"
    | "FieldValueTooMany"
    | "FieldValueNotFound"
    | "FieldValueTypeInvalid"
    | "InternalError";
  /** `spec.containers[0].name` */
  readonly field: string;
  /** the text after `<field>: `, for example `Invalid value: "x": must be ...` */
  readonly text: string;
}

function fieldErrorBody(error: FieldError): string {
  return error.text;
}

function fieldErrorText(error: FieldError): string {
  return `${cut(error.field)}: ${error.text}`;
}

/** Values and fields of errors longer than this lose their end. Differs: upstream shows them whole. */
const MAX_VALUE_LENGTH = 8 * 1024;

/** The beginning of a long text from a request, for an error. */
export function cut(text: string): string {
  return text.length > MAX_VALUE_LENGTH ? `${text.slice(0, MAX_VALUE_LENGTH)}...` : text;
}

export function methodNotAllowed(): StatusError {
  return failure(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {});
}

export function internalError(message: string, reason?: string): StatusError {
  return failure(500, reason, message);
}

/** Any other combination; `errors.ts` contains the common ones. */
export function statusError(
  code: number,
  reason: string | undefined,
  message: string,
  details?: Status["details"],
): StatusError {
  return failure(code, reason, message, details);
}
