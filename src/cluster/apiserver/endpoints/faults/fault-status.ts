import {
  badRequest,
  conflict,
  forbidden,
  notFound,
  type StatusError,
  statusError,
  unauthorized,
} from "../../../../staging/apimachinery/errors.js";
import type { RequestInfo } from "../request-info.js";

/** Why the API server itself refuses an update, see k8s.io/apiserver/pkg/registry/generic/registry/store.go. */
const OPTIMISTIC_LOCK = "the object has been modified; please apply your changes to the latest version and try again";

/**
 * The Status that upstream sends with a code.
 * Mirrors k8s.io/apimachinery/pkg/api/errors/errors.go (NewConflict, NewResourceExpired, NewTooManyRequests, NewInternalError,
 * NewServiceUnavailable, NewTimeoutError, NewGenericServerResponse).
 */
export function statusOfFault(code: number, info: RequestInfo, retryAfterSeconds?: number): StatusError {
  const { apiGroup: group, resource, name } = info;
  const retry = retryAfterSeconds === undefined ? undefined : { retryAfterSeconds };
  switch (code) {
    case 400:
      return badRequest("the server rejected our request for an unknown reason");
    case 401:
      return unauthorized();
    case 403:
      return forbidden({ group, resource }, name, "chaos");
    case 404:
      return notFound({ group, resource }, name);
    case 409:
      return conflict({ group, resource }, name, OPTIMISTIC_LOCK);
    case 410:
      return statusError(410, "Expired", "The resourceVersion for the provided list is too old.");
    case 429:
      return statusError(429, "TooManyRequests", "Too many requests, please try again later.", retry);
    case 500: {
      const message = "chaos";
      return statusError(500, "InternalError", `Internal error occurred: ${message}`, { causes: [{ message }] });
    }
    case 503:
      return statusError(503, "ServiceUnavailable", "the server is currently unable to handle the request", retry);
    case 504:
      return statusError(504, "Timeout", "Timeout: request did not complete within the allotted timeout", retry ?? {});
    default: {
      const message = `the server responded with the status code ${code} but did not return more information`;
      return statusError(code, undefined, message, retry);
    }
  }
}

/**
 * The object of the ERROR event of a watch whose resourceVersion is too old.
 * Mirrors getAllEventsSinceLocked in k8s.io/apiserver/pkg/storage/cacher/watch_cache.go.
 */
export function expiredInWatch(query: URLSearchParams): StatusError {
  const asked = query.get("resourceVersion") ?? "0";
  return statusError(410, "Expired", `too old resource version: ${asked} (${Number(asked) + 1})`);
}
