import { row } from "../rest/rows.js";
import { PLAIN } from "../rest/stored.js";

/**
 * An empty, read-only collection. kubectl lists it for kinds that are not in the OpenAPI documents; without it, kubectl
 * would report that request's failure instead of the unknown kind.
 *
 * Mirrors k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition. Differs: read only.
 */
export const CUSTOM_RESOURCE_DEFINITIONS = row(
  "apiextensions.k8s.io/v1",
  "CustomResourceDefinition",
  "customresourcedefinitions",
  PLAIN,
  { namespaced: false, shortNames: ["crd", "crds"], categories: ["api-extensions"], verbs: ["get", "list", "watch"] },
);
