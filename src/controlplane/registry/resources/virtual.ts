import type { ResourceDefinition } from "../definition.js";
import { fields, items, text } from "./access.js";
import { column, NAME_COLUMN, nameOf } from "./cells.js";
import { virtualRow } from "./rows.js";

/** Kinds that are posted and answered, but never stored. */

const AUTHENTICATION = "authentication.k8s.io/v1";
const AUTHORIZATION = "authorization.k8s.io/v1";

export const BINDINGS = virtualRow("v1", "Binding", "bindings", { namespaced: true });

/** Long deprecated, but still in frequent use. */
export const COMPONENT_STATUSES = virtualRow("v1", "ComponentStatus", "componentstatuses", {
  verbs: ["get", "list"],
  shortNames: ["cs"],
  table: {
    columns: [
      NAME_COLUMN,
      column("Status", "Status of the component conditions"),
      column("Message", "Message of the component conditions"),
      column("Error", "Error of the component conditions"),
    ],
    cells(component) {
      const healthy = items(component.conditions)
        .map(fields)
        .find((one) => one.type === "Healthy");
      const status = healthy === undefined ? "Unknown" : healthy.status === "True" ? "Healthy" : "Unhealthy";
      return [nameOf(component), status, text(healthy?.message), text(healthy?.error)];
    },
  },
});

export const REVIEWS: readonly ResourceDefinition[] = [
  virtualRow(AUTHENTICATION, "SelfSubjectReview", "selfsubjectreviews", { since: "1.28" }),
  virtualRow(AUTHENTICATION, "TokenReview", "tokenreviews"),
  virtualRow(AUTHORIZATION, "LocalSubjectAccessReview", "localsubjectaccessreviews", { namespaced: true }),
  virtualRow(AUTHORIZATION, "SelfSubjectAccessReview", "selfsubjectaccessreviews"),
  virtualRow(AUTHORIZATION, "SelfSubjectRulesReview", "selfsubjectrulesreviews"),
  virtualRow(AUTHORIZATION, "SubjectAccessReview", "subjectaccessreviews"),
];
