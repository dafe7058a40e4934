import type { TypeTable } from "../schema.js";

/** Mirrors k8s.io/api/core/v1/types.go: secrets, config maps, service accounts, limits and quotas. */
export const coreConfig: TypeTable = {
  package: "io.k8s.api.core.v1",
  types: {
    Secret: `
      -- Small confidential values: tokens, keys, passwords. Base64 hides nothing, who may read it decides RBAC.
      TypeMeta
      1 metadata ObjectMeta
      5 immutable *bool -- The content may never change again.
      2 data map:bytes -- The values, in base64.
      4 stringData map:string -- The values as plain text: write only, the server moves them to data.
      3 type string:SecretType default=Opaque -- What it is for: bootstrap.kubernetes.io/token, kubernetes.io/tls. Cannot be changed.`,
    ConfigMap: `
      -- Small values that are not confidential.
      TypeMeta
      1 metadata ObjectMeta
      4 immutable *bool -- The content may never change again.
      2 data map:string -- The values, as text.
      3 binaryData map:bytes -- Values that are not UTF-8, in base64.`,
    ServiceAccount: `
      -- Who a pod is towards the API server.
      TypeMeta
      1 metadata ObjectMeta
      2 secrets []ObjectReference merge=name
      3 imagePullSecrets []LocalObjectReference
      4 automountServiceAccountToken *bool`,
    LimitRange: `
      TypeMeta
      1 metadata ObjectMeta
      2 spec LimitRangeSpec`,
    LimitRangeSpec: `
      1 limits []LimitRangeItem!`,
    LimitRangeItem: `
      1 type string:LimitType!
      2 max ResourceList
      3 min ResourceList
      4 default ResourceList
      5 defaultRequest ResourceList
      6 maxLimitRequestRatio ResourceList`,
    ResourceQuota: `
      TypeMeta
      1 metadata ObjectMeta
      2 spec ResourceQuotaSpec
      3 status ResourceQuotaStatus`,
    ResourceQuotaSpec: `
      1 hard ResourceList
      2 scopes []string:ResourceQuotaScope
      3 scopeSelector *ScopeSelector`,
    ScopeSelector: `
      1 matchExpressions []ScopedResourceSelectorRequirement`,
    ScopedResourceSelectorRequirement: `
      1 scopeName string!
      2 operator string!
      3 values []string`,
    ResourceQuotaStatus: `
      1 hard ResourceList
      2 used ResourceList`,
  },
};
