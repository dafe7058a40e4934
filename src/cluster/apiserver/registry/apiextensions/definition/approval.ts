import type { Definition } from "../types.js";

const ANNOTATION = "api-approved.kubernetes.io";
const SEE = "see https://github.com/kubernetes/enhancements/pull/1111";

export interface Approval {
  readonly state: "approved" | "bypassed" | "missing" | "invalid";
  readonly reason: string;
  /** of the annotation */
  readonly value: string;
}

/** Groups that the Kubernetes community owns. Mirrors IsProtectedCommunityGroup in .../pkg/apihelpers/helpers.go. */
export function isProtectedGroup(group: string): boolean {
  return ["k8s.io", "kubernetes.io"].some((one) => group === one || group.endsWith(`.${one}`));
}

/** Whether a definition in such a group is approved. Mirrors GetAPIApprovalState. */
export function approvalOf({ metadata }: Definition): Approval {
  const value = metadata.annotations?.[ANNOTATION] ?? "";
  const must = `protected groups must have approval annotation "${ANNOTATION}"`;
  if (value === "") return { state: "missing", reason: `${must}, ${SEE}`, value };
  if (value.startsWith("unapproved"))
    return { state: "bypassed", reason: `not approved: ${JSON.stringify(value)}`, value };
  if (/^[a-z][a-z0-9+.-]*:\/\/[^/]/i.test(value)) return { state: "approved", reason: `approved in ${value}`, value };
  const reason = `${must} with either a URL or a reason starting with "unapproved", ${SEE}`;
  return { state: "invalid", reason, value };
}
