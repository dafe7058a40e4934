import type { Status, StatusCause } from "../../apimachinery/api/meta.js";

/** Mirrors NonZeroExitCodeReason and ExitCodeCauseType in k8s.io/apimachinery/pkg/util/remotecommand/constants.go. */
export const NON_ZERO_EXIT_CODE = "NonZeroExitCode";
export const EXIT_CODE_CAUSE = "ExitCode";

export const SUCCESS: Status = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success" };

/** A Status for what went wrong. Mirrors NewInternalError in k8s.io/apimachinery/pkg/api/errors/errors.go. */
export function internalErrorStatus(message: string): Status {
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: `Internal error occurred: ${message}`,
    reason: "InternalError",
    details: { causes: [{ message }] },
    code: 500,
  };
}

/** The exit code of a command; undefined if the Status is about something else. */
export function exitCodeOf({ status, reason, details }: Status): number | undefined {
  if (status === "Success") return 0;
  if (reason !== NON_ZERO_EXIT_CODE) return undefined;
  const cause = details?.causes?.find((one) => one.reason === EXIT_CODE_CAUSE);
  return cause?.message !== undefined && /^\d+$/.test(cause.message) ? Number(cause.message) : undefined;
}

/** The text on the error stream since v4: JSON without kind and apiVersion, as upstream marshals it. */
export function statusJson({ kind: _kind, apiVersion: _apiVersion, ...rest }: Status): string {
  return JSON.stringify(rest);
}

/** The text on the error stream before v4: nothing on success. */
export function statusMessage({ status, message }: Status): string {
  return status === "Success" ? "" : (message ?? "");
}

/**
 * Parses the text of an error stream.
 * @param hasStatus since v4; before, any text is a failure without an exit code
 * @returns undefined if it is not a Status
 */
export function parseErrorStream(text: string, hasStatus: boolean): Status | undefined {
  if (!hasStatus) return text === "" ? SUCCESS : failureStatus(text);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined; // the caller reports the text
  }
  if (typeof value !== "object" || value === null) return undefined;
  const { status, message, reason, details, code } = value as Record<string, unknown>;
  if (status === "Success") return SUCCESS;
  if (status !== "Failure") return undefined;
  const causes = causesOf(details);
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status,
    ...(typeof message === "string" ? { message } : {}),
    ...(typeof reason === "string" ? { reason } : {}),
    ...(causes.length === 0 ? {} : { details: { causes } }),
    ...(typeof code === "number" ? { code } : {}),
  };
}

function failureStatus(message: string): Status {
  return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message };
}

function causesOf(details: unknown): StatusCause[] {
  const causes = (details as { causes?: unknown } | null | undefined)?.causes;
  if (!Array.isArray(causes)) return [];
  return causes.flatMap((cause: unknown) => {
    if (typeof cause !== "object" || cause === null) return [];
    const { reason, message, field } = cause as Record<string, unknown>;
    return [
      {
        ...(typeof reason === "string" ? { reason } : {}),
        ...(typeof message === "string" ? { message } : {}),
        ...(typeof field === "string" ? { field } : {}),
      },
    ];
  });
}
