import type { KubeObject, Status } from "../../../../staging/apimachinery/api/meta.js";
import type { Registry, RequestContext } from "./registry.js";

/** A request other than a read or write of a stored object: a review, a binding, an eviction, a token request. */
export interface ActionRequest {
  readonly context: RequestContext;
  readonly registry: Registry;
  readonly namespace: string | undefined;
  /** undefined for a collection (reviews) */
  readonly name: string | undefined;
  /** decoded with the schema of the kind in the body; undefined for GET */
  readonly body: KubeObject | undefined;
  readonly query: URLSearchParams;
}

/** @throws StatusError */
export type ActionHandler = (
  request: ActionRequest,
) => Promise<{ readonly code: number; readonly body: KubeObject | Status }>;

/**
 * By method, resource and subresource: `POST pods/binding`, `POST tokenreviews.authentication.k8s.io`.
 * The resource table defines the path, this map its behaviour.
 */
export type ActionHandlers = ReadonlyMap<string, ActionHandler>;
