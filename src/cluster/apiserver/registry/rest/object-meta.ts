import type { KubeObject, ObjectMeta } from "../../../../staging/apimachinery/api/meta.js";
import { badRequest } from "../../../../staging/apimachinery/errors.js";
import { rfc3339 } from "../../../../staging/apimachinery/time.js";
import type { Draft } from "../../../../util/draft.js";
import { orderedMeta } from "../../storage/resource-version.js";
import type { ResourceDefinition } from "./definition.js";

/** `undefined` removes a field. */
export type MetaChanges = { readonly [K in keyof ObjectMeta]?: ObjectMeta[K] | undefined };

/** The object with changed metadata, whose fields stay in Go's order. */
export function withMeta(object: KubeObject, changes: MetaChanges): KubeObject {
  const metadata: Record<string, unknown> = { ...object.metadata };
  for (const field in changes) metadata[field] = changes[field as keyof ObjectMeta];
  const copy: Draft<KubeObject> = { ...object };
  copy.metadata = orderedMeta(metadata as ObjectMeta);
  return copy;
}

/** The last result of `timestamp`, which runs thousands of times a second: formatting a date is expensive. */
let last = { seconds: Number.NaN, text: "" };

/** RFC 3339 in UTC with whole seconds, as metav1.Time is written. */
export function timestamp(atMs: number): string {
  const seconds = Math.floor(atMs / 1000);
  if (seconds !== last.seconds) last = { seconds, text: rfc3339(seconds * 1000) };
  return last.text;
}

/**
 * Makes the body's namespace that of the path: sets an absent one, removes it from a cluster-scoped object.
 *
 * Mirrors k8s.io/apiserver/pkg/registry/rest/meta.go (EnsureObjectNamespaceMatchesRequestNamespace).
 * @throws StatusError 400
 */
export function matchNamespace(
  definition: Pick<ResourceDefinition, "namespaced">,
  namespace: string | undefined,
  object: KubeObject,
): KubeObject {
  const wanted = definition.namespaced && namespace !== "" ? namespace : undefined;
  const sent = object.metadata.namespace === "" ? undefined : object.metadata.namespace;
  if (sent === wanted) return object;
  if (sent === undefined || wanted === undefined) return withMeta(object, { namespace: wanted });
  throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
}

/**
 * Checks that the body of a PUT, or the result of a PATCH, has the name in the URL.
 *
 * Mirrors k8s.io/apiserver/pkg/endpoints/handlers/rest.go (checkName).
 * @throws StatusError 400
 */
export function checkName(object: KubeObject, name: string): void {
  const sent = object.metadata.name ?? "";
  if (sent === "") {
    throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);
  }
  if (sent !== name) throw badRequest(`the name of the object (${sent}) does not match the name on the URL (${name})`);
}
