import type { KubeObject } from "../../../apimachinery/api/meta.js";
import { DEFAULT_NODE_TOKEN_GROUP } from "../../../cluster-bootstrap/secret.js";
import { isAtLeast } from "../../../release/facts.js";
import { type PolicyRule, rulesOf } from "../authorization/rbac-types.js";
import {
  ADMIN_RULES,
  BASIC_USER,
  CLUSTER_ROLES,
  CONTROLLER_ROLES,
  EDIT_RULES,
  NAMESPACE_ROLES,
  NODE_RULES,
  VIEW_RULES,
} from "./cluster-roles.js";
import { binding, type RoleRow, role, type SubjectText } from "./notation.js";

export interface RbacSeedOptions {
  /** `1.25` */
  readonly kubeVersion: string;
  /**
   * What `kubeadm init` adds for `kubeadm join` beside the three bindings for kubelets: tokens may read nodes, and
   * everybody may read cluster-info. Default true; the recorded cluster was without.
   */
  readonly withKubeadmJoin?: boolean;
}

/** The rules that every kubelet has. */
export function nodeRules(): PolicyRule[] {
  return rulesOf(role(NODE_RULES));
}

/**
 * Every role and binding of a new cluster, in the order in which they are to be created: bindings are tried oldest first.
 *
 * Mirrors plugin/pkg/auth/authorizer/rbac/bootstrappolicy (policy.go, controller_policy.go, namespace_policy.go) and
 * cmd/kubeadm/app/phases/bootstraptoken/node (AllowBootstrapTokensToPostCSRs and its neighbours).
 * Differs: `admin`, `edit` and `view` hold their aggregated rules from the start; no controller aggregates later ones.
 */
export function rbacSeed({ kubeVersion, withKubeadmJoin = true }: RbacSeedOptions): KubeObject[] {
  return [
    ...clusterRoles(kubeVersion),
    ...CONTROLLER_ROLES.map(([name, ...rules]) => role([`system:controller:${name}`, ...rules])),
    ...CLUSTER_ROLE_BINDINGS.map(([name, ...subjects]) => binding(name, name, subjects)),
    ...CONTROLLER_ROLES.map(([name]) => {
      const roleName = `system:controller:${name}`;
      return binding(roleName, roleName, [`ServiceAccount kube-system/${name}`]);
    }),
    ...NAMESPACE_ROLES.map(([namespace, row]) => role(row, { namespace })),
    ...NAMESPACE_ROLE_BINDINGS.map(([namespace, name, roleName, ...subjects]) =>
      binding(name, roleName, subjects, { namespace }),
    ),
    ...KUBEADM_BINDINGS.map(([name, roleName, group]) =>
      binding(name, roleName, [`Group ${group}`], { isKubeadm: true }),
    ),
    ...(withKubeadmJoin ? kubeadmJoin() : []),
  ];
}

function clusterRoles(kubeVersion: string): KubeObject[] {
  // SelfSubjectReview became stable in v1.28.
  const basicUser: RoleRow = [...BASIC_USER, "create authentication.k8s.io selfsubjectreviews"];
  const rows = isAtLeast(kubeVersion, "1.28")
    ? CLUSTER_ROLES.map((row) => (row === BASIC_USER ? basicUser : row))
    : CLUSTER_ROLES;
  return [
    ...rows.map((row) => role(row)),
    role(ADMIN_RULES, { labels: { [aggregationLabel("admin")]: "true" } }),
    role(EDIT_RULES, { labels: { [aggregationLabel("edit")]: "true" } }),
    role(VIEW_RULES, { labels: { [aggregationLabel("view")]: "true" } }),
    aggregated("view", [VIEW_RULES], "edit"),
    aggregated("edit", [EDIT_RULES, VIEW_RULES], "admin"),
    aggregated("admin", [EDIT_RULES, VIEW_RULES, ADMIN_RULES]),
  ];
}

function aggregationLabel(to: string): string {
  return `rbac.authorization.k8s.io/aggregate-to-${to}`;
}

/** @param partOf the role that this one is aggregated into in turn */
function aggregated(name: string, rows: readonly RoleRow[], partOf?: string): KubeObject {
  return role([name, ...rows.flatMap(([, ...rules]) => rules)], {
    ...(partOf === undefined ? {} : { labels: { [aggregationLabel(partOf)]: "true" } }),
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [aggregationLabel(name)]: "true" } }] },
  });
}

/** Bindings of the same name as their role. `system:node` has nobody: kubelets are the Node authorizer's. */
const CLUSTER_ROLE_BINDINGS: readonly (readonly [name: string, ...subjects: SubjectText[]])[] = [
  ["cluster-admin", "Group system:masters"],
  ["system:monitoring", "Group system:monitoring"],
  ["system:discovery", "Group system:authenticated"],
  ["system:basic-user", "Group system:authenticated"],
  ["system:public-info-viewer", "Group system:authenticated", "Group system:unauthenticated"],
  ["system:node-proxier", "User system:kube-proxy"],
  ["system:kube-controller-manager", "User system:kube-controller-manager"],
  ["system:kube-dns", "ServiceAccount kube-system/kube-dns"],
  ["system:kube-scheduler", "User system:kube-scheduler"],
  ["system:volume-scheduler", "User system:kube-scheduler"],
  ["system:node"],
  ["system:service-account-issuer-discovery", "Group system:serviceaccounts"],
];

const NAMESPACE_ROLE_BINDINGS: readonly (readonly [
  namespace: string,
  name: string,
  role: string,
  ...subjects: SubjectText[],
])[] = [
  [
    "kube-system",
    "system::extension-apiserver-authentication-reader",
    "extension-apiserver-authentication-reader",
    "User system:kube-controller-manager",
    "User system:kube-scheduler",
  ],
  [
    "kube-system",
    "system:controller:bootstrap-signer",
    "system:controller:bootstrap-signer",
    "ServiceAccount kube-system/bootstrap-signer",
  ],
  [
    "kube-system",
    "system:controller:token-cleaner",
    "system:controller:token-cleaner",
    "ServiceAccount kube-system/token-cleaner",
  ],
  [
    "kube-public",
    "system:controller:bootstrap-signer",
    "system:controller:bootstrap-signer",
    "ServiceAccount kube-system/bootstrap-signer",
  ],
];

const CSR_ROLE_PREFIX = "system:certificates.k8s.io:certificatesigningrequests";

const KUBEADM_BINDINGS: readonly (readonly [name: string, role: string, group: string])[] = [
  ["kubeadm:kubelet-bootstrap", "system:node-bootstrapper", DEFAULT_NODE_TOKEN_GROUP],
  ["kubeadm:node-autoapprove-bootstrap", `${CSR_ROLE_PREFIX}:nodeclient`, DEFAULT_NODE_TOKEN_GROUP],
  ["kubeadm:node-autoapprove-certificate-rotation", `${CSR_ROLE_PREFIX}:selfnodeclient`, "system:nodes"],
];

/** Mirrors cmd/kubeadm/app/phases/bootstraptoken: node (AllowBoostrapTokensToGetNodes), clusterinfo (CreateClusterInfoRBACRules). */
function kubeadmJoin(): KubeObject[] {
  const getNodes = "kubeadm:get-nodes";
  const clusterInfo = "kubeadm:bootstrap-signer-clusterinfo";
  const inKubePublic = { namespace: "kube-public", isKubeadm: true };
  return [
    role([getNodes, "get core nodes"], { isKubeadm: true }),
    binding(getNodes, getNodes, [`Group ${DEFAULT_NODE_TOKEN_GROUP}`], { isKubeadm: true }),
    role([clusterInfo, "get core configmaps =cluster-info"], inKubePublic),
    binding(clusterInfo, clusterInfo, ["User system:anonymous"], inKubePublic),
  ];
}
