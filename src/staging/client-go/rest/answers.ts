import { LabError, type LabErrorCode } from "../../../util/errors.js";
import { isStatus } from "../../apimachinery/api/meta.js";
import type { KubeResponse } from "./client.js";

/** The error message of a response: a Status's message, the plain text, or the status code. */
export function statusMessage(response: KubeResponse): string {
  const { body, status } = response;
  if (isStatus(body) && body.message !== undefined && body.message !== "") return body.message;
  if (typeof body === "string" && body.trim() !== "" && body.length < 300) return body.trim();
  return `HTTP status ${status}`;
}

/** The reason of a Status: `NotFound`, `Conflict`, … */
export function statusReason(response: KubeResponse): string | undefined {
  return isStatus(response.body) ? response.body.reason : undefined;
}

/** True for a 2xx. */
export function isSuccess(response: KubeResponse): boolean {
  return response.status >= 200 && response.status < 300;
}

/**
 * The LabError for an unsuccessful response; its cause is the Status, if there is one.
 * @param request `GET /api/v1/nodes/n1`
 */
export function refusal(response: KubeResponse, request: string, identity: string): LabError {
  const message = statusMessage(response);
  const [code, hint] = explanation(response, message, identity);
  const text =
    response.status === 401
      ? `the API server does not accept the credential (${identity}): 401 ${message}`
      : `${request} was refused: ${response.status} ${message}`;
  return new LabError(code, text, hint, isStatus(response.body) ? { cause: response.body } : {});
}

/** The API server's text for all authorizers (RBAC, Node, Webhook); admission uses other texts. */
const NOT_AUTHORIZED = / cannot [a-z]+ (resource|path) /;

function explanation(
  { status, body }: KubeResponse,
  message: string,
  identity: string,
): readonly [LabErrorCode, string] {
  if (status === 401 && identity.startsWith("token ")) {
    return [
      "UNAUTHORIZED",
      "A bootstrap token gets 401 when it is unknown, has expired, or its Secret lacks usage-bootstrap-authentication: " +
        "look with `kubelab token list`, make a new one with `kubelab token create`.",
    ];
  }
  if (status === 401) {
    return ["UNAUTHORIZED", "The credential is unknown, has expired, or belongs to another cluster: get a new one."];
  }
  if (status === 403 && !NOT_AUTHORIZED.test(message)) {
    return [
      "FORBIDDEN",
      "The authorizer allowed the request; the object was refused by admission. The server's message names the reason.",
    ];
  }
  if (status === 403) {
    return ["FORBIDDEN", `Ask what ${identity} may do: kubectl auth can-i --list, and look at the RBAC bindings.`];
  }
  if (status === 404 && !isStatus(body)) {
    return ["REFUSED", "An API server answers with a Status: check the server's address and path."];
  }
  return ["REFUSED", "The server's message names the fault; -v 4 shows what was sent."];
}
