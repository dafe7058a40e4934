import { isStatus } from "../../apimachinery/api/meta.js";
import { LabError, type LabErrorCode } from "../../util/errors.js";
import type { KubeResponse } from "./client.js";

/** What the server says in an answer that is not a success: a Status's message, or the text as it is, or the number. */
export function statusMessage(response: KubeResponse): string {
  const { body, status } = response;
  if (isStatus(body) && body.message !== undefined && body.message !== "") return body.message;
  if (typeof body === "string" && body.trim() !== "" && body.length < 300) return body.trim();
  return `HTTP status ${status}`;
}

/** `NotFound`, `Conflict`, ...: the machine readable half of a Status. */
export function statusReason(response: KubeResponse): string | undefined {
  return isStatus(response.body) ? response.body.reason : undefined;
}

/** Whether it is a 2xx. */
export function isSuccess(response: KubeResponse): boolean {
  return response.status >= 200 && response.status < 300;
}

/**
 * The LabError for an answer that is not a success.
 * @param request `GET /api/v1/nodes/n1`
 */
export function refusal(response: KubeResponse, request: string, identity: string): LabError {
  const message = statusMessage(response);
  const [code, hint] = explanation(response, message, identity);
  const text =
    response.status === 401
      ? `the API server does not know who is asking (${identity}): 401 ${message}`
      : `${request} was refused: ${response.status} ${message}`;
  return new LabError(code, text, hint);
}

/** RBAC, Node and Webhook authorizers all end in these words of the API server; what admission refuses has others. */
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
      "The authorizer had let it pass: what was written is refused, by admission. The server's message says what must differ.",
    ];
  }
  if (status === 403) {
    return ["FORBIDDEN", `Ask what ${identity} may do: kubectl auth can-i --list, and look at the RBAC bindings.`];
  }
  if (status === 404 && !isStatus(body)) {
    return ["REFUSED", "An API server would have answered with a Status: check the server's address, its path too."];
  }
  return ["REFUSED", "The server's message says what it did not like; -v 4 shows what was sent."];
}
