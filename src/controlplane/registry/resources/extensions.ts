import { row } from "./rows.js";
import { PLAIN } from "./stored.js";

/**
 * An empty collection that takes nothing: kubectl looks into it for kinds that it does not find in the documents, and
 * without it says that it failed to look instead of what it did not find.
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
