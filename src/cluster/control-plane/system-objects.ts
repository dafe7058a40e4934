import type { V1ServicePort } from "@kubernetes/client-node";
import type { KubeObject } from "../../staging/apimachinery/api/meta.js";
import { SYSTEM_PRIORITIES } from "../apiserver/registry/policy/policies.js";
import type { ServerEndpoint } from "./own-endpoints.js";

/** Mirrors pkg/controlplane/controller/systemnamespaces. */
const SYSTEM_NAMESPACES = ["kube-system", "kube-public", "kube-node-lease"];

/** The first address of the default service range. */
const SERVICE_IP = "10.96.0.1";
const SERVICE_NAME = "kubernetes";
const SERVICE_PORT_NAME = "https";

/*
 * The objects that a new API server creates itself, except roles and bindings. They are complete, except for uid and
 * creationTimestamp. A namespace comes before its objects.
 */

/**
 * Namespaces and priority classes of the cluster's components.
 * Mirrors the post-start hooks of pkg/controlplane/instance.go and pkg/registry/scheduling/rest/storage_scheduling.go.
 */
export function systemObjects(): KubeObject[] {
  return [...SYSTEM_NAMESPACES.map(namespaceObject), ...Object.entries(SYSTEM_PRIORITIES).map(priorityClass)];
}

/**
 * The API server's CA for client certificates, published for other servers that use it for authentication.
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

/** The namespace `default`, and the API server's service in it. Mirrors pkg/controlplane/controller.go. */
export function defaultNamespaceObjects(): KubeObject[] {
  return [namespaceObject("default"), kubernetesService()];
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
  "system-cluster-critical": "For pods that the cluster cannot run without, on any node.",
  "system-node-critical": "For pods that their node cannot run without.",
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

/** Pods find the API server by this address. */
export function kubernetesService(): KubeObject {
  return {
    kind: "Service",
    apiVersion: "v1",
    metadata: { name: SERVICE_NAME, namespace: "default", labels: OWN_LABELS },
    ...clusterIpService(SERVICE_IP, [{ name: SERVICE_PORT_NAME, protocol: "TCP", port: 443, targetPort: 6443 }]),
  };
}

/** The rest of a service with a fixed address, as the API server stores one. */
export function clusterIpService(clusterIP: string, ports: readonly V1ServicePort[]) {
  return {
    spec: {
      ports,
      clusterIP,
      clusterIPs: [clusterIP],
      type: "ClusterIP",
      sessionAffinity: "None",
      ipFamilies: ["IPv4"],
      ipFamilyPolicy: "SingleStack",
      internalTrafficPolicy: "Cluster",
    },
    status: { loadBalancer: {} },
  };
}

/** Where a server listens, as the service `kubernetes` names it. */
export function apiServerEndpoint(ip: string, port: number): ServerEndpoint {
  return { ip, ports: [{ name: SERVICE_PORT_NAME, port, protocol: "TCP" }] };
}
