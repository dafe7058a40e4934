import type { IncomingMessage } from "node:http";
import type { Status } from "../../../staging/apimachinery/api/meta.js";
import { type StatusError, statusError } from "../../../staging/apimachinery/errors.js";
import { readBounded } from "../../../staging/streaming/read-bounded.js";
import { internalErrorStatus } from "../../../staging/streaming/remote-command/status-text.js";

/** Mirrors maxReadLength in k8s.io/apiserver/pkg/registry/generic/rest/response_checker.go. */
const MAX_BODY_BYTES = 50_000;

/**
 * Converts a kubelet's refusal of a log to the API server's own error.
 *
 * Mirrors k8s.io/apiserver/pkg/registry/generic/rest/response_checker.go (GenericHttpResponseChecker) and
 * NewGenericServerResponse in k8s.io/apimachinery/pkg/api/errors/errors.go.
 *
 * @param resource `pods/log`
 */
export async function responseError(response: IncomingMessage, resource: string, name: string): Promise<StatusError> {
  const { statusCode = 500 } = response;
  const said = await beginningOf(response);
  if (statusCode === 500) {
    const { message, details } = internalErrorStatus(said);
    return statusError(500, "InternalError", message ?? "", details);
  }
  if (statusCode === 400) return statusError(400, "BadRequest", said);
  const [reason, message] = genericReason(statusCode, said);
  return statusError(statusCode, reason, `${message} ( ${resource} ${name})`, { name, kind: resource });
}

function genericReason(code: number, said: string): readonly [reason: string, message: string] {
  switch (code) {
    case 401:
      return ["Unauthorized", said === "" ? "the server has asked for the client to provide credentials" : said];
    case 403:
      return ["Forbidden", said];
    case 404:
      return ["NotFound", "the server could not find the requested resource"];
    case 405:
      return ["MethodNotAllowed", "the server does not allow this method on the requested resource"];
    case 429:
      return ["TooManyRequests", "the server has received too many requests and has asked us to try again later"];
    case 503:
      return ["ServiceUnavailable", "the server is currently unable to handle the request"];
    case 504:
      return [
        "Timeout",
        "the server was unable to return a response in the time allotted, but may still be processing the request",
      ];
    default: {
      if (code < 500) return ["Unknown", `the server responded with the status code ${code}`];
      const quoted = JSON.stringify(said);
      return ["InternalError", `an error on the server (${quoted}) has prevented the request from succeeding`];
    }
  }
}

/** The error for a client whose upgrade the kubelet refused. Mirrors NewConnection in httpstream/spdy/roundtripper.go. */
export async function refusalStatus(response: IncomingMessage): Promise<Status> {
  const said = await beginningOf(response);
  return parsedStatus(said) ?? internalErrorStatus(`unable to upgrade connection: ${said}`);
}

function parsedStatus(text: string): Status | undefined {
  try {
    const value = JSON.parse(text) as Partial<Status> | null;
    return value?.kind === "Status" && value.status === "Failure" ? (value as Status) : undefined;
  } catch {
    return undefined; // not JSON: use the text as the message
  }
}

async function beginningOf(response: IncomingMessage): Promise<string> {
  const { bytes } = await readBounded(response, MAX_BODY_BYTES, "leave");
  response.destroy();
  return bytes.toString();
}
