import type { V1ComponentStatus } from "@kubernetes/client-node";
import { nameOf } from "../../../../staging/apimachinery/api/objects.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { column, NAME_COLUMN } from "../rest/cells.js";
import type { ResourceDefinition } from "../rest/definition.js";
import { virtualRow } from "../rest/rows.js";

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
    cells(component: Wire<V1ComponentStatus>) {
      const healthy = component.conditions?.find(({ type }) => type === "Healthy");
      const status = healthy === undefined ? "Unknown" : healthy.status === "True" ? "Healthy" : "Unhealthy";
      return [nameOf(component), status, healthy?.message ?? "", healthy?.error ?? ""];
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
