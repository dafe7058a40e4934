/** Paths of API objects, with every segment encoded. `coreV1` is the legacy group, which has no name. */

export interface ResourceRef {
  /** `v1`, `coordination.k8s.io/v1` */
  readonly apiVersion: string;
  /** plural: `nodes`, `leases` */
  readonly resource: string;
  readonly namespace?: string;
}

/** `/api/v1/namespaces/default/pods` */
export function collectionPath(ref: ResourceRef): string {
  const root = ref.apiVersion.includes("/") ? "/apis" : "/api";
  const scope = ref.namespace === undefined ? "" : `/namespaces/${encodeURIComponent(ref.namespace)}`;
  return `${root}/${ref.apiVersion}${scope}/${ref.resource}`;
}

/** `/api/v1/nodes/n1/status` */
export function objectPath(ref: ResourceRef, name: string, subresource?: string): string {
  const path = `${collectionPath(ref)}/${encodeURIComponent(name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

export const NODES: ResourceRef = { apiVersion: "v1", resource: "nodes" };
export const PODS: ResourceRef = { apiVersion: "v1", resource: "pods" };
export const DEPLOYMENTS: ResourceRef = { apiVersion: "apps/v1", resource: "deployments" };
export const SERVICES: ResourceRef = { apiVersion: "v1", resource: "services" };
export const EVENTS: ResourceRef = { apiVersion: "v1", resource: "events" };
export const CSRS: ResourceRef = { apiVersion: "certificates.k8s.io/v1", resource: "certificatesigningrequests" };
/** The namespace of node leases: corev1.NamespaceNodeLease. */
export const NODE_LEASES: ResourceRef = {
  apiVersion: "coordination.k8s.io/v1",
  resource: "leases",
  namespace: "kube-node-lease",
};
export const PUBLIC_CONFIG_MAPS: ResourceRef = { apiVersion: "v1", resource: "configmaps", namespace: "kube-public" };

/** Path and query for a request, without undefined values. */
export function withQuery(
  path: string,
  query: Readonly<Record<string, string | number | boolean | undefined>> = {},
): string {
  let text = "";
  for (const [key, value] of Object.entries(query)) {
    if (value === undefined) continue;
    text += `${text === "" ? "?" : "&"}${encodeURIComponent(key)}=${encodeURIComponent(String(value))}`;
  }
  return path + text;
}
