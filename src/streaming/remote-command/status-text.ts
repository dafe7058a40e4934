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

/** The code that a command ended with; undefined when the Status tells of something else. */
export function exitCodeOf({ status, reason, details }: Status): number | undefined {
  if (status === "Success") return 0;
  if (reason !== NON_ZERO_EXIT_CODE) return undefined;
  const cause = details?.causes?.find((one) => one.reason === EXIT_CODE_CAUSE);
  return cause?.message !== undefined && /^\d+$/.test(cause.message) ? Number(cause.message) : undefined;
}

/** What the error stream carries from v4 on: JSON without kind and apiVersion, as upstream marshals it. */
export function statusJson({ kind: _kind, apiVersion: _apiVersion, ...rest }: Status): string {
  return JSON.stringify(rest);
}

/** What it carried before v4: nothing on success. */
export function statusMessage({ status, message }: Status): string {
  return status === "Success" ? "" : (message ?? "");
}

/**
 * What an error stream said, from its first byte to its last.
 * @param hasStatus from v4 on; before, a text tells of a failure without an exit code
 * @returns undefined when it is no Status
 */
export function parseErrorStream(text: string, hasStatus: boolean): Status | undefined {
  if (!hasStatus) return text === "" ? SUCCESS : failureStatus(text);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined; // whoever asked says what came instead
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
