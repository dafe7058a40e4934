import type { RoleRow } from "./notation.js";

const EVENTS = "create,patch,update core,events.k8s.io events";
const READ = "get,list,watch";
const WRITE = "create,delete,deletecollection,patch,update";
const ALL = "create,delete,deletecollection,get,list,patch,update,watch";

/** The rules of `system:node`, which the Node authorizer applies to every kubelet. Nobody is bound to the role itself. */
export const NODE_RULES: RoleRow = [
  "system:node",
  "create authentication.k8s.io tokenreviews",
  "create authorization.k8s.io localsubjectaccessreviews,subjectaccessreviews",
  `${READ} core services`,
  "create,get,list,watch core nodes",
  "patch,update core nodes/status",
  "patch,update core nodes",
  "create,patch,update core events",
  `${READ} core pods`,
  "create,delete core pods",
  "patch,update core pods/status",
  "create core pods/eviction",
  `${READ} core configmaps,secrets`,
  "get core persistentvolumeclaims,persistentvolumes",
  "get core endpoints",
  "create,get,list,watch certificates.k8s.io certificatesigningrequests",
  "create,delete,get,patch,update coordination.k8s.io leases",
  "get storage.k8s.io volumeattachments",
  "create core serviceaccounts/token",
  "get,patch,update core persistentvolumeclaims/status",
  `${READ} storage.k8s.io csidrivers`,
  "create,delete,get,patch,update storage.k8s.io csinodes",
  `${READ} node.k8s.io runtimeclasses`,
];

/** What `view` is made of: reading, but nothing that would let one become somebody else (no secrets). */
export const VIEW_RULES: RoleRow = [
  "system:aggregate-to-view",
  `${READ} core configmaps,endpoints,persistentvolumeclaims,persistentvolumeclaims/status,pods,replicationcontrollers,replicationcontrollers/scale,serviceaccounts,services,services/status`,
  `${READ} core bindings,events,limitranges,namespaces/status,pods/log,pods/status,replicationcontrollers/status,resourcequotas,resourcequotas/status`,
  `${READ} core namespaces`,
  `${READ} discovery.k8s.io endpointslices`,
  `${READ} apps controllerrevisions,daemonsets,daemonsets/status,deployments,deployments/scale,deployments/status,replicasets,replicasets/scale,replicasets/status,statefulsets,statefulsets/scale,statefulsets/status`,
  `${READ} autoscaling horizontalpodautoscalers,horizontalpodautoscalers/status`,
  `${READ} batch cronjobs,cronjobs/status,jobs,jobs/status`,
  `${READ} extensions daemonsets,daemonsets/status,deployments,deployments/scale,deployments/status,ingresses,ingresses/status,networkpolicies,replicasets,replicasets/scale,replicasets/status,replicationcontrollers/scale`,
  `${READ} policy poddisruptionbudgets,poddisruptionbudgets/status`,
  `${READ} networking.k8s.io ingresses,ingresses/status,networkpolicies`,
];

export const EDIT_RULES: RoleRow = [
  "system:aggregate-to-edit",
  `${READ} core pods/attach,pods/exec,pods/portforward,pods/proxy,secrets,services/proxy`,
  "impersonate core serviceaccounts",
  `${WRITE} core pods,pods/attach,pods/exec,pods/portforward,pods/proxy`,
  "create core pods/eviction",
  `${WRITE} core configmaps,events,persistentvolumeclaims,replicationcontrollers,replicationcontrollers/scale,secrets,serviceaccounts,services,services/proxy`,
  "create core serviceaccounts/token",
  `${WRITE} apps daemonsets,deployments,deployments/rollback,deployments/scale,replicasets,replicasets/scale,statefulsets,statefulsets/scale`,
  `${WRITE} autoscaling horizontalpodautoscalers`,
  `${WRITE} batch cronjobs,jobs`,
  `${WRITE} extensions daemonsets,deployments,deployments/rollback,deployments/scale,ingresses,networkpolicies,replicasets,replicasets/scale,replicationcontrollers/scale`,
  `${WRITE} policy poddisruptionbudgets`,
  `${WRITE} networking.k8s.io ingresses,networkpolicies`,
  `${ALL} coordination.k8s.io leases`,
];

export const ADMIN_RULES: RoleRow = [
  "system:aggregate-to-admin",
  "create authorization.k8s.io localsubjectaccessreviews",
  `${ALL} rbac.authorization.k8s.io rolebindings,roles`,
];

/** Everybody who is known may ask what they may do. */
export const BASIC_USER: RoleRow = [
  "system:basic-user",
  "create authorization.k8s.io selfsubjectaccessreviews,selfsubjectrulesreviews",
];

/**
 * The default cluster roles, in upstream's order, but for `admin`, `edit` and `view`, which are put together of the
 * rows above.
 *
 * Mirrors plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go (ClusterRoles).
 * Differs: roles of parts that are not here (kube-dns, heapster, volume provisioning) stay, so that a list looks right.
 */
export const CLUSTER_ROLES: readonly RoleRow[] = [
  ["cluster-admin", "* * *", "* path *"],
  [
    "system:discovery",
    "get path /api,/api/*,/apis,/apis/*,/healthz,/livez,/openapi,/openapi/*,/readyz,/version,/version/",
  ],
  ["system:monitoring", "get path /healthz,/healthz/*,/livez,/livez/*,/metrics,/metrics/slis,/readyz,/readyz/*"],
  BASIC_USER,
  ["system:public-info-viewer", "get path /healthz,/livez,/readyz,/version,/version/"],
  ["system:heapster", `${READ} core events,namespaces,nodes,pods`, `${READ} extensions deployments`],
  NODE_RULES,
  ["system:node-problem-detector", "get core nodes", "patch core nodes/status", EVENTS],
  [
    "system:kubelet-api-admin",
    `${READ} core nodes`,
    "proxy core nodes",
    "* core nodes/log,nodes/metrics,nodes/proxy,nodes/stats",
  ],
  ["system:node-bootstrapper", "create,get,list,watch certificates.k8s.io certificatesigningrequests"],
  [
    "system:auth-delegator",
    "create authentication.k8s.io tokenreviews",
    "create authorization.k8s.io subjectaccessreviews",
  ],
  ["system:kube-aggregator", `${READ} core endpoints,services`],
  [
    "system:kube-controller-manager",
    EVENTS,
    "create coordination.k8s.io leases",
    "get,update coordination.k8s.io leases =kube-controller-manager",
    "create core secrets,serviceaccounts",
    "delete core secrets",
    "get core configmaps,namespaces,secrets,serviceaccounts",
    "update core secrets,serviceaccounts",
    "create authentication.k8s.io tokenreviews",
    "create authorization.k8s.io subjectaccessreviews",
    "list,watch * *",
    "create core serviceaccounts/token",
  ],
  ["system:kube-dns", "list,watch core endpoints,services"],
  [
    "system:persistent-volume-provisioner",
    "create,delete,get,list,watch core persistentvolumes",
    "get,list,update,watch core persistentvolumeclaims",
    `${READ} storage.k8s.io storageclasses`,
    "watch core events",
    EVENTS,
  ],
  [
    "system:certificates.k8s.io:certificatesigningrequests:nodeclient",
    "create certificates.k8s.io certificatesigningrequests/nodeclient",
  ],
  [
    "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient",
    "create certificates.k8s.io certificatesigningrequests/selfnodeclient",
  ],
  [
    "system:volume-scheduler",
    "get,list,patch,update,watch core persistentvolumes",
    `${READ} storage.k8s.io storageclasses`,
    "get,list,patch,update,watch core persistentvolumeclaims",
  ],
  [
    "system:certificates.k8s.io:legacy-unknown-approver",
    "approve certificates.k8s.io signers =kubernetes.io/legacy-unknown",
  ],
  [
    "system:certificates.k8s.io:kubelet-serving-approver",
    "approve certificates.k8s.io signers =kubernetes.io/kubelet-serving",
  ],
  [
    "system:certificates.k8s.io:kube-apiserver-client-approver",
    "approve certificates.k8s.io signers =kubernetes.io/kube-apiserver-client",
  ],
  [
    "system:certificates.k8s.io:kube-apiserver-client-kubelet-approver",
    "approve certificates.k8s.io signers =kubernetes.io/kube-apiserver-client-kubelet",
  ],
  ["system:service-account-issuer-discovery", "get path /.well-known/openid-configuration,/openid/v1/jwks"],
  [
    "system:node-proxier",
    "list,watch core endpoints,services",
    `${READ} core nodes`,
    EVENTS,
    "list,watch discovery.k8s.io endpointslices",
  ],
  [
    "system:kube-scheduler",
    EVENTS,
    "create coordination.k8s.io leases",
    "get,update coordination.k8s.io leases =kube-scheduler",
    `${READ} core nodes`,
    "delete,get,list,watch core pods",
    "create core bindings,pods/binding",
    "patch,update core pods/status",
    `${READ} core replicationcontrollers,services`,
    `${READ} apps,extensions replicasets`,
    `${READ} apps statefulsets`,
    `${READ} policy poddisruptionbudgets`,
    `${READ} core persistentvolumeclaims,persistentvolumes`,
    "create authentication.k8s.io tokenreviews",
    "create authorization.k8s.io subjectaccessreviews",
    `${READ} storage.k8s.io csinodes`,
    `${READ} core namespaces`,
    `${READ} storage.k8s.io csidrivers`,
    `${READ} storage.k8s.io csistoragecapacities`,
  ],
];

/**
 * Roles of the controllers that run here, each bound to the service account of its name in kube-system.
 * Mirrors plugin/pkg/auth/authorizer/rbac/bootstrappolicy/controller_policy.go (buildControllerRoles).
 */
export const CONTROLLER_ROLES: readonly RoleRow[] = [
  ["generic-garbage-collector", "delete,get,list,patch,update,watch * *", EVENTS],
  [
    "namespace-controller",
    "delete,get,list,watch core namespaces",
    "update core namespaces/finalize,namespaces/status",
    "delete,deletecollection,get,list,watch * *",
  ],
  [
    "node-controller",
    "delete,get,list,patch,update,watch core nodes",
    "patch,update core nodes/status",
    "patch,update core pods/status",
    "delete,list,watch core pods",
    EVENTS,
  ],
  ["pod-garbage-collector", "delete,list,watch core pods", "get,list,watch core nodes"],
  ["service-account-controller", "create core serviceaccounts", EVENTS],
  ["ttl-controller", "list,patch,update,watch core nodes", EVENTS],
  [
    "certificate-controller",
    "delete,get,list,watch certificates.k8s.io certificatesigningrequests",
    "update certificates.k8s.io certificatesigningrequests/approval,certificatesigningrequests/status",
    "approve certificates.k8s.io signers =kubernetes.io/kube-apiserver-client-kubelet",
    "sign certificates.k8s.io signers =kubernetes.io/kube-apiserver-client,kubernetes.io/kube-apiserver-client-kubelet,kubernetes.io/kubelet-serving,kubernetes.io/legacy-unknown",
    "create authorization.k8s.io subjectaccessreviews",
    EVENTS,
  ],
  ["root-ca-cert-publisher", "create,update core configmaps", EVENTS],
];

/** Roles in one namespace. Mirrors plugin/pkg/auth/authorizer/rbac/bootstrappolicy/namespace_policy.go (init). */
export const NAMESPACE_ROLES: readonly (readonly [namespace: string, row: RoleRow])[] = [
  [
    "kube-system",
    ["extension-apiserver-authentication-reader", "get,list,watch core configmaps =extension-apiserver-authentication"],
  ],
  ["kube-system", ["system:controller:bootstrap-signer", "get,list,watch core secrets"]],
  ["kube-system", ["system:controller:token-cleaner", "delete,get,list,watch core secrets", EVENTS]],
  [
    "kube-public",
    [
      "system:controller:bootstrap-signer",
      "get,list,watch core configmaps",
      "update core configmaps =cluster-info",
      EVENTS,
    ],
  ],
];
