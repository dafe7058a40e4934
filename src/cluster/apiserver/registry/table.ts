import { isAtLeast } from "../../../util/release/facts.js";
import { CUSTOM_RESOURCE_DEFINITIONS } from "./apiextensions/custom-resource-definitions.js";
import { POD_TEMPLATES, REPLICATION_CONTROLLERS, WORKLOADS } from "./apps/workloads.js";
import { AUTOSCALERS } from "./autoscaling/autoscalers.js";
import { CRON_JOBS } from "./batch/cron-jobs.js";
import { JOBS } from "./batch/jobs.js";
import { CERTIFICATE_SIGNING_REQUESTS } from "./certificates/csr.js";
import { LEASES } from "./coordination/leases.js";
import { CONFIG_MAPS, SECRETS } from "./core/config.js";
import { ENDPOINT_SLICES, ENDPOINTS } from "./core/endpoints.js";
import { EVENTS, EVENTS_V1 } from "./core/events.js";
import { LIMIT_RANGES } from "./core/limit-ranges.js";
import { NAMESPACES } from "./core/namespaces.js";
import { NODES } from "./core/nodes.js";
import { PODS } from "./core/pods/definition.js";
import { RESOURCE_QUOTAS } from "./core/resource-quotas.js";
import { SERVICE_ACCOUNTS } from "./core/serviceaccounts.js";
import { SERVICES } from "./core/services/definition.js";
import { BINDINGS, COMPONENT_STATUSES, REVIEWS } from "./core/virtual.js";
import { METRICS } from "./metrics/metrics.js";
import { INGRESS } from "./networking/ingresses.js";
import { NETWORK_POLICIES } from "./networking/network-policies.js";
import { POD_DISRUPTION_BUDGETS, PRIORITY_CLASSES, RUNTIME_CLASSES } from "./policy/policies.js";
import { RBAC } from "./rbac/rbac.js";
import type { ResourceDefinition } from "./rest/definition.js";
import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE } from "./storage/storage.js";

/** Every kind that the API server serves, one row each, by group and then by name as discovery lists them. */
export const RESOURCES: readonly ResourceDefinition[] = [
  BINDINGS,
  COMPONENT_STATUSES,
  CONFIG_MAPS,
  ENDPOINTS,
  EVENTS,
  LIMIT_RANGES,
  NAMESPACES,
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  PODS,
  POD_TEMPLATES,
  REPLICATION_CONTROLLERS,
  RESOURCE_QUOTAS,
  SECRETS,
  SERVICE_ACCOUNTS,
  SERVICES,
  ...WORKLOADS,
  EVENTS_V1,
  ...REVIEWS,
  ...AUTOSCALERS,
  CRON_JOBS,
  JOBS,
  CERTIFICATE_SIGNING_REQUESTS,
  ...INGRESS,
  NETWORK_POLICIES,
  POD_DISRUPTION_BUDGETS,
  ...RBAC,
  ...STORAGE,
  CUSTOM_RESOURCE_DEFINITIONS,
  PRIORITY_CLASSES,
  LEASES,
  RUNTIME_CLASSES,
  ENDPOINT_SLICES,
  ...METRICS,
];

/** The rows that a release serves. @param kubeVersion `1.25` */
export function resourcesFor(kubeVersion: string): readonly ResourceDefinition[] {
  return RESOURCES.filter(({ since }) => since === undefined || isAtLeast(kubeVersion, since));
}
