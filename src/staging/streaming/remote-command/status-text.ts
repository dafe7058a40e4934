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

/** Whether the error stream carries a Status as JSON; before v4 it carried text. */
function carriesStatus(subprotocol: string): boolean {
  return /^v[45]\./.test(subprotocol);
}

/** The text on the error stream: JSON without kind and apiVersion, as upstream marshals it; before v4 only a failure. */
export function errorStreamText(
  { kind: _kind, apiVersion: _apiVersion, ...rest }: Status,
  subprotocol: string,
): string {
  if (carriesStatus(subprotocol)) return JSON.stringify(rest);
  return rest.status === "Success" ? "" : (rest.message ?? "");
}

/**
 * Parses the text of an error stream. Before v4, any text is a failure without an exit code.
 * @returns undefined if it is not a Status
 */
export function parseErrorStream(text: string, subprotocol: string): Status | undefined {
  if (!carriesStatus(subprotocol)) return text === "" ? SUCCESS : failureStatus(text);
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
