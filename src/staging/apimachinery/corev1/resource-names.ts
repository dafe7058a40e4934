import { isQualifiedName } from "../api/names.js";

/**
 * Classifies resources by their names: `cpu`, `limits.memory`, `example.com/gpu`, `count/pods`. Mirrors pkg/apis/core/helper/helpers.go.
 */

const DEFAULT_NAMESPACE = "kubernetes.io/";
const HUGE_PAGES = "hugepages-";
/** In a quota, the prefix of what pods request. */
export const REQUESTS = "requests.";

const CONTAINER_RESOURCES = ["cpu", "memory", "ephemeral-storage"];

const POD_COMPUTE = ["cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"];

const COUNTED = [
  "pods",
  "resourcequotas",
  "services",
  "replicationcontrollers",
  "secrets",
  "configmaps",
  "persistentvolumeclaims",
  "services.nodeports",
  "services.loadbalancers",
];

const QUOTA_RESOURCES: ReadonlySet<string> = new Set([
  ...CONTAINER_RESOURCES,
  ...POD_COMPUTE,
  "requests.storage",
  "requests.ephemeral-storage",
  "limits.ephemeral-storage",
  ...COUNTED,
]);

/** Whether it is in the namespace kubernetes.io, as are names without a prefix. Mirrors IsNativeResource. */
export function isNativeResource(name: string): boolean {
  return !name.includes("/") || name.includes(DEFAULT_NAMESPACE);
}

/** `example.com/gpu`, but not the name that it has in a quota, `requests.example.com/gpu`. Mirrors IsExtendedResourceName. */
export function isExtendedResource(name: string): boolean {
  if (isNativeResource(name) || name.startsWith(REQUESTS)) return false;
  return isQualifiedName(REQUESTS + name).length === 0;
}

/** Mirrors IsHugePageResourceName. */
export function isHugePageResource(name: string): boolean {
  return name.startsWith(HUGE_PAGES);
}

/** Mirrors IsQuotaHugePageResourceName. */
export function isQuotaHugePageResource(name: string): boolean {
  return isHugePageResource(name) || name.startsWith(REQUESTS + HUGE_PAGES);
}

/** Only the node's own resources, without hugepages, can be overcommitted. Mirrors IsOvercommitAllowed. */
export function isOvercommitAllowed(name: string): boolean {
  return isNativeResource(name) && !isHugePageResource(name);
}

/** Mirrors IsStandardContainerResourceName. */
export function isStandardContainerResource(name: string): boolean {
  return CONTAINER_RESOURCES.includes(name) || isHugePageResource(name);
}

/** Mirrors IsStandardResourceName. */
export function isStandardResource(name: string): boolean {
  return isStandardQuotaResource(name) || name === "storage";
}

/** Mirrors IsStandardQuotaResourceName. */
export function isStandardQuotaResource(name: string): boolean {
  return QUOTA_RESOURCES.has(name) || isQuotaHugePageResource(name);
}

/** Mirrors IsIntegerResourceName. */
export function isIntegerResource(name: string): boolean {
  return COUNTED.includes(name) || isExtendedResource(name);
}

/** Mirrors standardResourceQuotaScopes. */
const POD_SCOPES = [
  "Terminating",
  "NotTerminating",
  "BestEffort",
  "NotBestEffort",
  "PriorityClass",
  "CrossNamespacePodAffinity",
];

/** Mirrors IsStandardResourceQuotaScope. */
export function isStandardScope(scope: string): boolean {
  return POD_SCOPES.includes(scope);
}

/** Reports whether a quota with the scope can limit the resource: all scopes are of pods. Mirrors IsResourceQuotaScopeValidForResource. */
export function isScopeValidForResource(scope: string, name: string): boolean {
  if (!isStandardScope(scope) || name === "pods") return true;
  return scope !== "BestEffort" && POD_COMPUTE.includes(name);
}
