import { forbidden, type StatusError, statusError } from "../../../../staging/apimachinery/errors.js";
import { goQuote } from "../../../../staging/apimachinery/scheme/go-text.js";
import type { AuthorizationAttributes } from "../../../../staging/server/authorization/authorizer.js";

/**
 * The 403 for a request that no authorizer allowed, with the API server's message.
 *
 * Mirrors k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/errors.go (Forbidden, forbiddenMessage).
 *
 * @param reason of the authorizers, usually ""
 */
export function forbiddenRequest(attributes: AuthorizationAttributes, reason: string): StatusError {
  const message = reason === "" ? forbiddenMessage(attributes) : `${forbiddenMessage(attributes)}: ${reason}`;
  if (!attributes.isResourceRequest) return statusError(403, "Forbidden", `forbidden: ${message}`, {});
  return forbidden({ group: attributes.apiGroup, resource: attributes.resource }, attributes.name, message);
}

function forbiddenMessage(attributes: AuthorizationAttributes): string {
  const user = goQuote(attributes.user.username);
  if (!attributes.isResourceRequest) return `User ${user} cannot ${attributes.verb} path ${goQuote(attributes.path)}`;
  const resource =
    attributes.subresource === "" ? attributes.resource : `${attributes.resource}/${attributes.subresource}`;
  const where =
    attributes.namespace === "" ? "at the cluster scope" : `in the namespace ${goQuote(attributes.namespace)}`;
  const group = goQuote(attributes.apiGroup);
  return `User ${user} cannot ${attributes.verb} resource ${goQuote(resource)} in API group ${group} ${where}`;
}
