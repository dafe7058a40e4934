import type { AdmissionPlugin } from "../../../staging/server/admission/interfaces.js";
import type { Ctx } from "../../../trace/ctx.js";
import type { Auth } from "../auth/create-auth.js";
import type { Registry } from "../registry/rest/registry.js";
import { certificateApproval, certificateSigning, certificateSubjectRestriction } from "./certificates.js";
import { LimitRanger } from "./limitranger/limit-ranger.js";
import { NamespaceLifecycle } from "./namespace-lifecycle.js";
import { NodeRestriction } from "./noderestriction/node-restriction.js";
import { PodSecurity } from "./podsecurity/pod-security.js";
import { Priority } from "./priority.js";
import { rbacEscalationCheck } from "./rbac-escalation.js";
import { ResourceQuota } from "./resourcequota/resource-quota.js";
import { RuntimeClass } from "./runtime-class.js";
import { ServiceAccount } from "./service-account.js";
import { DefaultStorageClass, PersistentVolumeClaimResize, storageObjectInUseProtection } from "./storage.js";
import { defaultTolerationSeconds, taintNodesByCondition } from "./tolerations.js";

export interface AdmissionDeps extends Ctx {
  readonly registry: Registry;
  readonly auth: Pick<Auth, "authorizer" | "rbac">;
  readonly kubeVersion: string;
}

/**
 * The plugins that are enabled by default, in upstream's order.
 *
 * Mirrors pkg/kubeapiserver/options/plugins.go (AllOrderedPlugins). Differs: omits the webhooks.
 */
export function createAdmission(deps: AdmissionDeps): AdmissionPlugin[] {
  const { registry, clock, random, trace, auth, kubeVersion } = deps;
  return [
    rbacEscalationCheck(auth),
    new NamespaceLifecycle(registry),
    new LimitRanger(registry),
    new ServiceAccount({ registry, clock, random }),
    new NodeRestriction(registry),
    taintNodesByCondition,
    new PodSecurity({ registry, trace, kubeVersion }),
    new Priority(registry),
    defaultTolerationSeconds,
    new DefaultStorageClass(registry),
    storageObjectInUseProtection,
    new PersistentVolumeClaimResize(registry),
    new RuntimeClass(registry),
    certificateApproval(auth.authorizer),
    certificateSigning(auth.authorizer),
    certificateSubjectRestriction(),
    new ResourceQuota({ registry, clock, trace }),
  ];
}
