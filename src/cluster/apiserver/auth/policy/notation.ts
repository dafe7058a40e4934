import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { RBAC_GROUP } from "../authorization/rbac-types.js";

/**
 * A rule in one line: verbs, API groups, resources, and after `=` resource names. Lists are separated by commas; `core`
 * is the group "". Rules for paths consist of the verb, the word `path`, and the URLs.
 *
 *     get,list,watch core pods,services
 *     approve certificates.k8s.io signers =kubernetes.io/kubelet-serving
 *     get path /healthz,/version
 */
export type RuleLine = string;

/** A role and its rules. The lists are sorted, like those of the API server. */
export type RoleRow = readonly [name: string, ...rules: RuleLine[]];

const DEFAULTS_METADATA = {
  labels: { "kubernetes.io/bootstrapping": "rbac-defaults" },
  annotations: { "rbac.authorization.kubernetes.io/autoupdate": "true" },
} as const;

export interface SeedRule {
  readonly verbs: string[];
  readonly apiGroups?: string[];
  readonly resources?: string[];
  readonly resourceNames?: string[];
  readonly nonResourceURLs?: string[];
}

export function parseRule(line: RuleLine): SeedRule {
  const [verbs = "", groups = "", resources = "", names] = line.split(" ");
  if (groups === "path") return { verbs: verbs.split(","), nonResourceURLs: resources.split(",") };
  return {
    verbs: verbs.split(","),
    apiGroups: groups.split(",").map((group) => (group === "core" ? "" : group)),
    resources: resources.split(","),
    ...(names === undefined ? {} : { resourceNames: names.slice(1).split(",") }),
  };
}

export interface RoleOptions {
  /** absent: a ClusterRole */
  readonly namespace?: string;
  /** labels in addition to the default ones, for aggregation */
  readonly labels?: Readonly<Record<string, string>>;
  readonly aggregationRule?: unknown;
  /** created by kubeadm, so without the labels and annotations of the API server's own defaults */
  readonly isKubeadm?: boolean;
}

export function role([name, ...lines]: RoleRow, options: RoleOptions = {}): KubeObject {
  const { namespace, labels, aggregationRule, isKubeadm } = options;
  return {
    apiVersion: `${RBAC_GROUP}/v1`,
    kind: namespace === undefined ? "ClusterRole" : "Role",
    metadata: metadata(name, namespace, isKubeadm, labels),
    rules: lines.map(parseRule),
    ...(aggregationRule === undefined ? {} : { aggregationRule }),
  };
}

/** `Group system:masters`, `User system:kube-proxy`, `ServiceAccount kube-system/kube-dns` */
export type SubjectText = string;

export interface BindingOptions {
  /** absent: a ClusterRoleBinding */
  readonly namespace?: string;
  readonly roleKind?: "ClusterRole" | "Role";
  readonly isKubeadm?: boolean;
}

export function binding(
  name: string,
  roleName: string,
  subjects: readonly SubjectText[],
  options: BindingOptions = {},
): KubeObject {
  const { namespace, roleKind = namespace === undefined ? "ClusterRole" : "Role", isKubeadm } = options;
  return {
    apiVersion: `${RBAC_GROUP}/v1`,
    kind: namespace === undefined ? "ClusterRoleBinding" : "RoleBinding",
    metadata: metadata(name, namespace, isKubeadm),
    ...(subjects.length === 0 ? {} : { subjects: subjects.map(subject) }),
    roleRef: { apiGroup: RBAC_GROUP, kind: roleKind, name: roleName },
  };
}

function subject(text: SubjectText): Record<string, string> {
  const [kind = "", name = ""] = text.split(" ");
  if (kind !== "ServiceAccount") return { kind, apiGroup: RBAC_GROUP, name };
  const [namespace = "", account = ""] = name.split("/");
  return { kind, name: account, namespace };
}

function metadata(
  name: string,
  namespace: string | undefined,
  isKubeadm = false,
  labels: Readonly<Record<string, string>> = {},
): KubeObject["metadata"] {
  return {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(isKubeadm
      ? {}
      : {
          labels: { ...DEFAULTS_METADATA.labels, ...labels },
          annotations: DEFAULTS_METADATA.annotations,
        }),
  };
}
