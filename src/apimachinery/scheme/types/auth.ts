import type { TypeTable } from "../schema.js";

/** Mirrors k8s.io/api/certificates/v1/types.go. */
export const certificates: TypeTable = {
  package: "io.k8s.api.certificates.v1",
  types: {
    CertificateSigningRequest: `
      -- Asks for an X.509 certificate: somebody approves, then a signer signs. How a new kubelet gets its identity.
      TypeMeta
      1 metadata ObjectMeta
      2 spec CertificateSigningRequestSpec! -- What is asked for, and by whom. Cannot be changed after creation.
      3 status CertificateSigningRequestStatus -- The answer: conditions by approver and signer, then the certificate.`,
    CertificateSigningRequestSpec: `
      -- What is asked for, and by whom.
      1 request bytes! -- The PKCS#10 request: PEM, then base64.
      7 signerName string! -- Who shall sign: kubernetes.io/kube-apiserver-client-kubelet for a kubelet's client certificate.
      8 expirationSeconds *int32 -- How long the certificate should be valid; at least 600. The signer may give less.
      5 usages []string:KeyUsage -- What the key is for: digital signature, key encipherment, client auth.
      2 username string -- Who asked. Filled in by the server from the credential, as the next three are.
      3 uid string -- Uid of who asked.
      4 groups []string -- Groups of who asked.
      6 extra map:[]string -- More about who asked.`,
    CertificateSigningRequestStatus: `
      -- What was decided, and the certificate.
      1 conditions []CertificateSigningRequestCondition -- Approved, Denied or Failed. None: still pending.
      2 certificate bytes -- The certificate: PEM, then base64. Set by the signer.`,
    CertificateSigningRequestCondition: `
      -- A decision about the request.
      1 type string:RequestConditionType! -- Approved, Denied or Failed. Approved and Denied exclude each other and cannot be taken back.
      6 status string:ConditionStatus! -- True, for Approved and Denied always.
      2 reason string -- Why, in one word.
      3 message string -- Why, in words.
      4 lastUpdateTime time -- When it was last written.
      5 lastTransitionTime time -- When the status last changed.`,
  },
};

/** Mirrors k8s.io/api/rbac/v1/types.go. */
export const rbac: TypeTable = {
  package: "io.k8s.api.rbac.v1",
  types: {
    Role: `
      -- Rights inside one namespace.
      TypeMeta
      1 metadata ObjectMeta
      2 rules []PolicyRule! -- What is allowed; rules only ever add.`,
    ClusterRole: `
      -- Rights in the whole cluster, or to be bound inside a namespace.
      TypeMeta
      1 metadata ObjectMeta
      2 rules []PolicyRule! -- What is allowed; rules only ever add.
      3 aggregationRule *AggregationRule -- Collects the rules of other cluster roles.`,
    PolicyRule: `
      1 verbs []string! -- get, list, watch, create, update, patch, delete; * is all.
      2 apiGroups []string -- "" is the core group; * is all.
      3 resources []string -- nodes, or nodes/status for a subresource; * is all.
      4 resourceNames []string -- Only these names; empty: every name.
      5 nonResourceURLs []string -- Paths outside the API's resources: /healthz.`,
    AggregationRule: `
      1 clusterRoleSelectors []LabelSelector`,
    RoleBinding: `
      -- Gives the rights of a role to users, groups or service accounts, inside one namespace.
      TypeMeta
      1 metadata ObjectMeta
      2 subjects []Subject
      3 roleRef RoleRef!`,
    ClusterRoleBinding: `
      -- Gives the rights of a cluster role to users, groups or service accounts, everywhere.
      TypeMeta
      1 metadata ObjectMeta
      2 subjects []Subject
      3 roleRef RoleRef!`,
    Subject: `
      1 kind string! -- User, Group or ServiceAccount.
      2 apiGroup string
      3 name string!
      4 namespace string -- Of a service account.`,
    RoleRef: `
      1 apiGroup string!
      2 kind string!
      3 name string!`,
  },
};

/** Mirrors k8s.io/api/authentication/v1/types.go; SelfSubjectReview is newer than v1.25. */
export const authentication: TypeTable = {
  package: "io.k8s.api.authentication.v1",
  types: {
    TokenReview: `
      -- Asks the server whose token this is. Never stored.
      TypeMeta
      1 metadata ObjectMeta
      2 spec TokenReviewSpec!
      3 status TokenReviewStatus`,
    TokenReviewSpec: `
      1 token string
      2 audiences []string`,
    TokenReviewStatus: `
      1 authenticated bool
      2 user UserInfo
      4 audiences []string
      3 error string`,
    UserInfo: `
      1 username string
      2 uid string
      3 groups []string
      4 extra map:[]string`,
    TokenRequest: `
      -- Asks for a token of a service account.
      TypeMeta
      1 metadata ObjectMeta
      2 spec TokenRequestSpec!
      3 status TokenRequestStatus`,
    TokenRequestSpec: `
      1 audiences []string!
      4 expirationSeconds *int64! optional default=3600
      3 boundObjectRef *BoundObjectReference! optional`,
    TokenRequestStatus: `
      1 token string!
      2 expirationTimestamp time!`,
    BoundObjectReference: `
      1 kind string
      2 apiVersion string
      3 name string
      4 uid string:types.UID`,
    SelfSubjectReview: `
      -- Asks the server who I am.
      TypeMeta
      1 metadata ObjectMeta
      2 status SelfSubjectReviewStatus`,
    SelfSubjectReviewStatus: `
      1 userInfo UserInfo`,
  },
};

/** Mirrors k8s.io/api/authorization/v1/types.go. */
export const authorization: TypeTable = {
  package: "io.k8s.api.authorization.v1",
  types: {
    SubjectAccessReview: `
      -- Asks whether somebody may do something. Never stored.
      TypeMeta
      1 metadata ObjectMeta
      2 spec SubjectAccessReviewSpec!
      3 status SubjectAccessReviewStatus`,
    LocalSubjectAccessReview: `
      TypeMeta
      1 metadata ObjectMeta
      2 spec SubjectAccessReviewSpec!
      3 status SubjectAccessReviewStatus`,
    SelfSubjectAccessReview: `
      -- Asks whether I may do something: kubectl auth can-i.
      TypeMeta
      1 metadata ObjectMeta
      2 spec SelfSubjectAccessReviewSpec!
      3 status SubjectAccessReviewStatus`,
    SelfSubjectRulesReview: `
      -- Asks for all I may do in a namespace: kubectl auth can-i --list.
      TypeMeta
      1 metadata ObjectMeta
      2 spec SelfSubjectRulesReviewSpec!
      3 status SubjectRulesReviewStatus`,
    SubjectAccessReviewSpec: `
      1 resourceAttributes *ResourceAttributes
      2 nonResourceAttributes *NonResourceAttributes
      3 user string
      4 groups []string
      5 extra map:[]string
      6 uid string`,
    SelfSubjectAccessReviewSpec: `
      1 resourceAttributes *ResourceAttributes
      2 nonResourceAttributes *NonResourceAttributes`,
    SelfSubjectRulesReviewSpec: `
      1 namespace string`,
    ResourceAttributes: `
      1 namespace string
      2 verb string
      3 group string
      4 version string
      5 resource string
      6 subresource string
      7 name string`,
    NonResourceAttributes: `
      1 path string
      2 verb string`,
    SubjectAccessReviewStatus: `
      1 allowed bool!
      4 denied bool
      2 reason string
      3 evaluationError string`,
    SubjectRulesReviewStatus: `
      1 resourceRules []ResourceRule!
      2 nonResourceRules []NonResourceRule!
      3 incomplete bool!
      4 evaluationError string`,
    ResourceRule: `
      1 verbs []string!
      2 apiGroups []string
      3 resources []string
      4 resourceNames []string`,
    NonResourceRule: `
      1 verbs []string!
      2 nonResourceURLs []string`,
  },
};
