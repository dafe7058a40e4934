import type { KubeObject } from "../../../apimachinery/api/meta.js";
import { SYSTEM_PRIORITIES } from "./policies.js";

/** Mirrors pkg/controlplane/controller/systemnamespaces. */
const SYSTEM_NAMESPACES = ["kube-system", "kube-public", "kube-node-lease"];

/** The first address of the default service range. */
const SERVICE_IP = "10.96.0.1";
const SERVICE_NAME = "kubernetes";
const SERVICE_PORT_NAME = "https";

/*
 * What a new API server creates by itself, but for roles and bindings. Objects are complete as they are stored, except for
 * uid and creationTimestamp; a namespace comes before what is in it.
 */

/**
 * Namespaces and priority classes of the cluster's own parts.
 * Mirrors the post-start hooks of pkg/controlplane/instance.go and pkg/registry/scheduling/rest/storage_scheduling.go.
 */
export function systemObjects(): KubeObject[] {
  return [...SYSTEM_NAMESPACES.map(namespaceObject), ...Object.entries(SYSTEM_PRIORITIES).map(priorityClass)];
}

/**
 * The CA whose client certificates the API server takes, for other servers that ask it who somebody is.
 * Mirrors pkg/controlplane/controller/clusterauthenticationtrust/cluster_authentication_trust_controller.go.
 */
export function authenticationConfigMap(clientCaPem: string): KubeObject {
  return {
    kind: "ConfigMap",
    apiVersion: "v1",
    metadata: { name: "extension-apiserver-authentication", namespace: "kube-system" },
    data: { "client-ca-file": clientCaPem },
  };
}

/** The users' namespace, and in it the API server's service. Mirrors pkg/controlplane/controller.go. */
export function defaultNamespaceObjects(): KubeObject[] {
  return [namespaceObject("default"), service()];
}

function namespaceObject(name: string): KubeObject {
  return {
    kind: "Namespace",
    apiVersion: "v1",
    metadata: { name, labels: { "kubernetes.io/metadata.name": name } },
    spec: { finalizers: ["kubernetes"] },
    status: { phase: "Active" },
  };
}

const PRIORITY_DESCRIPTIONS: Readonly<Record<string, string>> = {
  "system-cluster-critical": "For pods that the cluster cannot do without, on whichever node.",
  "system-node-critical": "For pods that their node cannot do without.",
};

function priorityClass([name, value]: [name: string, value: number]): KubeObject {
  return {
    kind: "PriorityClass",
    apiVersion: "scheduling.k8s.io/v1",
    metadata: { name, generation: 1 },
    value,
    description: PRIORITY_DESCRIPTIONS[name] ?? "",
    preemptionPolicy: "PreemptLowerPriority",
  };
}

const OWN_LABELS = { component: "apiserver", provider: "kubernetes" };

/** Pods find the API server by it; nothing in the lab routes its address. */
function service(): KubeObject {
  return {
    kind: "Service",
    apiVersion: "v1",
    metadata: { name: SERVICE_NAME, namespace: "default", labels: OWN_LABELS },
    spec: {
      ports: [{ name: SERVICE_PORT_NAME, protocol: "TCP", port: 443, targetPort: 6443 }],
      clusterIP: SERVICE_IP,
      clusterIPs: [SERVICE_IP],
      type: "ClusterIP",
      sessionAffinity: "None",
      ipFamilies: ["IPv4"],
      ipFamilyPolicy: "SingleStack",
      internalTrafficPolicy: "Cluster",
    },
    status: { loadBalancer: {} },
  };
}

/**
 * Where the service `kubernetes` leads, once the server listens.
 *
 * Mirrors pkg/controlplane/reconcilers/instancecount.go (ReconcileEndpoints). Differs: upstream refuses loopback
 * addresses and then has no endpoints; in a lab the loopback address is the true one.
 */
export function apiServerEndpoints(ip: string, port: number): KubeObject {
  return {
    kind: "Endpoints",
    apiVersion: "v1",
    metadata: {
      name: SERVICE_NAME,
      namespace: "default",
      labels: { "endpointslice.kubernetes.io/skip-mirror": "true" },
    },
    subsets: [{ addresses: [{ ip }], ports: [{ name: SERVICE_PORT_NAME, port, protocol: "TCP" }] }],
  };
}
