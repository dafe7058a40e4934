import policy from "../../../../../fixtures/rbac/policy.json" with { type: "json" };
import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { DEFAULT_NODE_TOKEN_GROUP } from "../../../../staging/cluster-bootstrap/secret.js";
import { factFor, isAtLeast } from "../../../../util/release/facts.js";
import { type PolicyRule, rulesOf } from "../authorization/rbac-types.js";
import { binding, type RuleLine, role } from "./notation.js";

export interface BootstrapPolicyOptions {
  /** `1.25` */
  readonly kubeVersion: string;
  /**
   * Also create what `kubeadm init` adds for `kubeadm join`: tokens can read nodes, and anonymous users can read
   * cluster-info. Also what metrics-server adds for its readers. Default true; false for the recorded cluster.
   */
  readonly withKubeadmJoin?: boolean;
}

/** The rules that the Node authorizer applies to every kubelet. No binding refers to this role. */
export function nodeRules(): PolicyRule[] {
  return rulesOf(role(["system:node", ...policy.clusterRoles["system:node"]]));
}

/**
 * Every role and binding of a new cluster in order of creation, because bindings are tried oldest first.
 *
 * Mirrors plugin/pkg/auth/authorizer/rbac/bootstrappolicy (policy.go, controller_policy.go, namespace_policy.go) and
 * cmd/kubeadm/app/phases/bootstraptoken/node (AllowBootstrapTokensToPostCSRs and its neighbours).
 * Differs: keeps roles of missing components (kube-dns, heapster, CSI provisioners), so that lists match upstream's;
 * `admin`, `edit` and `view` contain their aggregated rules from the start; no controller aggregates later ones.
 */
export function bootstrapPolicy({ kubeVersion, withKubeadmJoin = true }: BootstrapPolicyOptions): KubeObject[] {
  const controllerRoles = Object.entries(policy.controllerRoles);
  // The controllers of some releases write a condition before they delete a pod.
  const marksPods = (name: string) =>
    POD_MARKERS.has(name) && factFor("podDisruptionConditions", kubeVersion) ? [MARK_PODS] : [];
  const deletesClaims = (name: string) =>
    name === "statefulset-controller" && factFor("statefulSetAutoDeletePvc", kubeVersion) ? [OWN_CLAIMS] : [];
  return [
    ...clusterRoles(kubeVersion, withKubeadmJoin ? [READ_METRICS] : []),
    ...(withKubeadmJoin ? [metricsReader()] : []),
    ...controllerRoles.map(([name, rules]) =>
      role([`system:controller:${name}`, ...rules, ...marksPods(name), ...deletesClaims(name)]),
    ),
    ...Object.entries(policy.clusterRoleBindings).map(([name, subjects]) => binding(name, name, subjects)),
    ...controllerRoles.map(([name]) => {
      const roleName = `system:controller:${name}`;
      return binding(roleName, roleName, [`ServiceAccount kube-system/${name}`]);
    }),
    ...inNamespaces(policy.namespaceRoles, (namespace, name, rules) => role([name, ...rules], { namespace })),
    ...inNamespaces(policy.namespaceRoleBindings, (namespace, name, bound) =>
      binding(name, bound.role, bound.subjects, { namespace }),
    ),
    ...KUBEADM_BINDINGS.map(([name, roleName, group]) =>
      binding(name, roleName, [`Group ${group}`], { isKubeadm: true }),
    ),
    ...(withKubeadmJoin ? kubeadmJoin() : []),
  ];
}

const POD_MARKERS: ReadonlySet<string> = new Set(["pod-garbage-collector", "disruption-controller"]);

function inNamespaces<T>(
  namespaces: Readonly<Record<string, Readonly<Record<string, T>>>>,
  make: (namespace: string, name: string, row: T) => KubeObject,
): KubeObject[] {
  return Object.entries(namespaces).flatMap(([namespace, rows]) =>
    Object.entries(rows).map(([name, row]) => make(namespace, name, row)),
  );
}

const MARK_PODS = "patch core pods/status";
const OWN_CLAIMS = "delete,list,update,watch core persistentvolumeclaims";
const SELF_REVIEW = "create authentication.k8s.io selfsubjectreviews";

const READ_METRICS = "get,list,watch metrics.k8s.io nodes,pods";

/** Mirrors manifests/base/rbac.yaml of metrics-server. */
function metricsReader(): KubeObject {
  const labels = Object.fromEntries(["admin", "edit", "view"].map((to) => [aggregationLabel(to), "true"]));
  return role(["system:aggregated-metrics-reader", READ_METRICS], {
    labels: { "k8s-app": "metrics-server", ...labels },
  });
}

/** @param further rules of other roles that are aggregated into `view`, `edit` and `admin` */
function clusterRoles(kubeVersion: string, further: readonly RuleLine[]): KubeObject[] {
  // SelfSubjectReview became stable in v1.28.
  const reviewsSelf = (name: string) => name === "system:basic-user" && isAtLeast(kubeVersion, "1.28");
  const { admin, edit, view } = policy.aggregatedRoles;
  return [
    ...Object.entries(policy.clusterRoles).map(([name, rules]) =>
      role([name, ...rules, ...(reviewsSelf(name) ? [SELF_REVIEW] : [])]),
    ),
    ...Object.entries(policy.aggregatedRoles).map(([to, rules]) =>
      role([`system:aggregate-to-${to}`, ...rules], { labels: { [aggregationLabel(to)]: "true" } }),
    ),
    aggregated("view", [...view, ...further], "edit"),
    aggregated("edit", [...edit, ...view, ...further], "admin"),
    aggregated("admin", [...edit, ...view, ...admin, ...further]),
  ];
}

function aggregationLabel(to: string): string {
  return `rbac.authorization.k8s.io/aggregate-to-${to}`;
}

/** @param partOf the role into which this one is aggregated */
function aggregated(name: string, rules: readonly RuleLine[], partOf?: string): KubeObject {
  return role([name, ...rules], {
    ...(partOf === undefined ? {} : { labels: { [aggregationLabel(partOf)]: "true" } }),
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [aggregationLabel(name)]: "true" } }] },
  });
}

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
