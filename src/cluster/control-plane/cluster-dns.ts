import type { KubeObject } from "../../staging/apimachinery/api/meta.js";
import { binding, role } from "../apiserver/auth/policy/notation.js";
import type { OwnService, ServerEndpoint } from "./own-endpoints.js";
import { clusterIpService } from "./system-objects.js";

/** kubeadm's address of the name server. */
const DNS_IP = "10.96.0.10";
/** where the name server listens */
const HOST = "127.0.0.1";
const NAMESPACE = "kube-system";
const NAME = "kube-dns";
const ACCOUNT = "coredns";
const ROLE = "system:coredns";
const DNS_PORTS = [
  { name: "dns", protocol: "UDP", port: 53, targetPort: 53 },
  { name: "dns-tcp", protocol: "TCP", port: 53, targetPort: 53 },
];

/** Whom the API server takes the cluster's name server for. */
export const COREDNS_USER = {
  commonName: `system:serviceaccount:${NAMESPACE}:${ACCOUNT}`,
  organization: ["system:serviceaccounts", `system:serviceaccounts:${NAMESPACE}`],
} as const;

/** The cluster's name server. */
export interface DnsPorts {
  /** on 127.0.0.1 */
  readonly udpPort: number;
  readonly tcpPort: number;
  /** pods answer as `kube-dns`, and ask it */
  readonly behindPods?: boolean;
}

/** The service through which the name server is reached, with its endpoint; and `kube-dns`, which may be the same. */
export function dnsServices(ports: DnsPorts): readonly OwnService[] {
  const endpoint = dnsEndpoint(ports);
  if (ports.behindPods !== true) return [{ service: dnsService(false), endpoint }];
  return [{ service: nameServerService(), endpoint }, { service: dnsService(true) }];
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
 * Mirrors cmd/kubeadm/app/phases/addons/dns/manifests.go (DNSService). Differs: no port of metrics, which no server has here.
 * @param inPods pods with kubeadm's label answer; else a server of the cluster itself does, and the service has no selector
 */
function dnsService(inPods: boolean): KubeObject {
  const { spec, ...rest } = clusterIpService(DNS_IP, DNS_PORTS);
  const labels = { "k8s-app": NAME, "kubernetes.io/cluster-service": "true", "kubernetes.io/name": "CoreDNS" };
  return {
    kind: "Service",
    apiVersion: "v1",
    metadata: { name: NAME, namespace: NAMESPACE, labels },
    spec: inPods ? { ...spec, selector: { "k8s-app": NAME } } : spec,
    ...rest,
  };
}

/** Where pods that answer as `kube-dns` find the server that knows the names. */
const NAME_SERVER = { name: "kubelab-name-server", ip: "10.96.0.11" } as const;

/** The service of the cluster's own name server, beside `kube-dns` of pods. */
function nameServerService(): KubeObject {
  return {
    kind: "Service",
    apiVersion: "v1",
    metadata: { name: NAME_SERVER.name, namespace: NAMESPACE },
    ...clusterIpService(NAME_SERVER.ip, DNS_PORTS),
  };
}

/** The name server's sockets. */
function dnsEndpoint({ udpPort, tcpPort }: DnsPorts): ServerEndpoint {
  return {
    ip: HOST,
    ports: [
      { name: "dns", port: udpPort, protocol: "UDP" },
      { name: "dns-tcp", port: tcpPort, protocol: "TCP" },
    ],
  };
}
