import type { KubeObject } from "../../../apimachinery/api/meta.js";
import { binding, role } from "../../auth/policy/notation.js";
import { clusterIpService } from "./system-objects.js";

/** kubeadm's address of the name server. */
const DNS_IP = "10.96.0.10";
const NAMESPACE = "kube-system";
const NAME = "kube-dns";
const ACCOUNT = "coredns";
const ROLE = "system:coredns";

/** Whom the API server takes the cluster's name server for. */
export const COREDNS_USER = {
  commonName: `system:serviceaccount:${NAMESPACE}:${ACCOUNT}`,
  organization: ["system:serviceaccounts", `system:serviceaccounts:${NAMESPACE}`],
} as const;

/** Where the name server listens on 127.0.0.1. */
export interface DnsPorts {
  readonly udpPort: number;
  readonly tcpPort: number;
}

/** The name server's account and its rights. Mirrors cmd/kubeadm/app/phases/addons/dns/manifests.go. */
export function dnsIdentityObjects(): KubeObject[] {
  const rules = ["list,watch core endpoints,services,pods,namespaces", "list,watch discovery.k8s.io endpointslices"];
  return [
    { kind: "ServiceAccount", apiVersion: "v1", metadata: { name: ACCOUNT, namespace: NAMESPACE } },
    role([ROLE, ...rules], { isKubeadm: true }),
    binding(ROLE, ROLE, [`ServiceAccount ${NAMESPACE}/${ACCOUNT}`], { isKubeadm: true }),
  ];
}

/**
 * The service that pods get as their name server.
 * Mirrors cmd/kubeadm/app/phases/addons/dns/manifests.go (DNSService). Differs: it has no selector and no metrics, because no pod
 * answers but a server of the cluster itself.
 */
export function dnsService(): KubeObject {
  return {
    kind: "Service",
    apiVersion: "v1",
    metadata: {
      name: NAME,
      namespace: NAMESPACE,
      labels: { "k8s-app": NAME, "kubernetes.io/cluster-service": "true", "kubernetes.io/name": "CoreDNS" },
    },
    ...clusterIpService(DNS_IP, [
      { name: "dns", protocol: "UDP", port: 53, targetPort: 53 },
      { name: "dns-tcp", protocol: "TCP", port: 53, targetPort: 53 },
    ]),
  };
}

/** The real sockets behind the service: Endpoints, and their slice. */
export function dnsEndpoints(ip: string, { udpPort, tcpPort }: DnsPorts): readonly KubeObject[] {
  const ports = [
    { name: "dns", port: udpPort, protocol: "UDP" },
    { name: "dns-tcp", port: tcpPort, protocol: "TCP" },
  ];
  const base = { name: NAME, namespace: NAMESPACE };
  return [
    {
      kind: "Endpoints",
      apiVersion: "v1",
      metadata: { ...base, labels: { "endpointslice.kubernetes.io/skip-mirror": "true" } },
      subsets: [{ addresses: [{ ip }], ports }],
    },
    {
      kind: "EndpointSlice",
      apiVersion: "discovery.k8s.io/v1",
      metadata: { ...base, generation: 1, labels: { "kubernetes.io/service-name": NAME } },
      addressType: "IPv4",
      endpoints: [{ addresses: [ip], conditions: { ready: true } }],
      ports,
    },
  ];
}
