import { isStatus, type Status } from "../../staging/apimachinery/api/meta.js";
import { LabError } from "../../util/errors.js";
import { MessageError } from "../../util/i18n/message-error.js";
import type { Session } from "./session.js";

/**
 * Prints a refusal as kubectl does, which then exits with 1.
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/util/helpers.go (StandardErrorMessage, checkErr, statusCausesToAggrError).
 * @returns false for any other failure
 */
export function reportRefusal({ context, warn }: Pick<Session, "context" | "warn">, error: unknown): boolean {
  if (!(error instanceof LabError) || error instanceof MessageError) return false;
  if (error.code === "UNAUTHORIZED") warn("error: You must be logged in to the server (Unauthorized)");
  else if (error.code !== "FORBIDDEN" && error.code !== "REFUSED") return false;
  else warn(isStatus(error.cause) ? statusText(error.cause) : `Error from server: ${error.message}`);
  context.exitWith(1);
  return true;
}

function statusText({ reason, message = "", details }: Status): string {
  if (reason !== "Invalid" || details?.kind === undefined || details.kind === "") {
    return `Error from server${reason === undefined || reason === "" ? "" : ` (${reason})`}: ${message}`;
  }
  const all = (details.causes ?? []).map(({ field, message }) => (field ? `${field}: ${message}` : `${message}`));
  // The API server may check a field twice.
  const causes = [...new Set(all)];
  const said = `The ${details.kind} ${JSON.stringify(details.name ?? "")} is invalid`;
  if (causes.length === 0) return said;
  return causes.length === 1 ? `${said}: ${causes[0]}` : `${said}: \n${causes.map((one) => `* ${one}`).join("\n")}`;
}

/** Whether the server has no such object. */
export function isNotFound(error: unknown): boolean {
  return error instanceof LabError && isStatus(error.cause) && error.cause.code === 404;
}
