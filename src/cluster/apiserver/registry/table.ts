import { isAtLeast } from "../../../util/release/facts.js";
import type { ResourceDefinition } from "./definition.js";
import { AUTOSCALERS } from "./resources/autoscaling/autoscalers.js";
import { CRON_JOBS } from "./resources/batch/cron-jobs.js";
import { JOBS } from "./resources/batch/jobs.js";
import { CONFIG_MAPS, SECRETS } from "./resources/config.js";
import { CERTIFICATE_SIGNING_REQUESTS } from "./resources/csr.js";
import { EVENTS, EVENTS_V1 } from "./resources/events.js";
import { CUSTOM_RESOURCE_DEFINITIONS } from "./resources/extensions.js";
import { LEASES } from "./resources/leases.js";
import { LIMIT_RANGES } from "./resources/limit-ranges.js";
import { METRICS } from "./resources/metrics.js";
import { NAMESPACES } from "./resources/namespaces.js";
import { ENDPOINT_SLICES, ENDPOINTS } from "./resources/network.js";
import { INGRESS } from "./resources/networking/ingresses.js";
import { NETWORK_POLICIES } from "./resources/networking/network-policies.js";
import { NODES } from "./resources/nodes.js";
import { PODS } from "./resources/pods/definition.js";
import { POD_DISRUPTION_BUDGETS, PRIORITY_CLASSES, RUNTIME_CLASSES } from "./resources/policies.js";
import { RBAC } from "./resources/rbac.js";
import { RESOURCE_QUOTAS } from "./resources/resource-quotas.js";
import { SERVICE_ACCOUNTS } from "./resources/serviceaccounts.js";
import { SERVICES } from "./resources/services/definition.js";
import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE } from "./resources/storage.js";
import { BINDINGS, COMPONENT_STATUSES, REVIEWS } from "./resources/virtual.js";
import { POD_TEMPLATES, REPLICATION_CONTROLLERS, WORKLOADS } from "./resources/workloads.js";

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
