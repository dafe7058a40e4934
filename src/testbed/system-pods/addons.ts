import type { KubeObject } from "../../staging/apimachinery/api/meta.js";
import { factFor } from "../../util/release/facts.js";

export interface AddonOptions {
  /** `1.25` */
  readonly kubeVersion: string;
  /** the address of the name server that resolves the names */
  readonly nameServer: string;
  /** what runs the nodes' proxies */
  readonly runsIn: string;
}

/** An object, and the collection that it is created in. */
export interface Addon {
  readonly resource: string;
  readonly object: KubeObject;
}

const NAMESPACE = "kube-system";
const DNS_LABELS = { "k8s-app": "kube-dns" };
const PROXY_LABELS = { "k8s-app": "kube-proxy" };
const LINUX = { "kubernetes.io/os": "linux" };

/**
 * CoreDNS and kube-proxy as workloads.
 * Mirrors cmd/kubeadm/app/phases/addons (dns/manifests.go, proxy/manifests.go).
 */
export function addons(options: AddonOptions): readonly Addon[] {
  const object = (apiVersion: string, kind: string, name: string, rest: object, labels?: object): KubeObject =>
    ({ apiVersion, kind, metadata: { name, namespace: NAMESPACE, ...(labels && { labels }) }, ...rest }) as KubeObject;
  return [
    { resource: "configmaps", object: object("v1", "ConfigMap", "coredns", { data: { Corefile: corefile(options) } }) },
    { resource: "deployments", object: object("apps/v1", "Deployment", "coredns", coreDns(options), DNS_LABELS) },
    { resource: "serviceaccounts", object: object("v1", "ServiceAccount", "kube-proxy", {}) },
    { resource: "daemonsets", object: object("apps/v1", "DaemonSet", "kube-proxy", kubeProxy(options), PROXY_LABELS) },
  ];
}

/** Differs: the pods do not resolve names; the name server runs in the process of the cluster. */
function corefile({ nameServer }: AddonOptions): string {
  return `.:53 {
    health
    ready
    forward . ${nameServer}
}
`;
}

/** Differs: no port for metrics, because nothing serves it here. */
function coreDns({ kubeVersion }: AddonOptions) {
  const port = (name: string, containerPort: number, protocol = "TCP") => ({ name, containerPort, protocol });
  const httpGet = (path: string, name: string) => ({ httpGet: { path, port: name, scheme: "HTTP" } });
  const container = {
    name: "coredns",
    image: `registry.k8s.io/coredns/coredns:${factFor("coreDnsVersion", kubeVersion)}`,
    imagePullPolicy: "IfNotPresent",
    resources: { limits: { memory: "170Mi" }, requests: { cpu: "100m", memory: "70Mi" } },
    args: ["-conf", "/etc/coredns/Corefile"],
    volumeMounts: [{ name: "config-volume", mountPath: "/etc/coredns", readOnly: true }],
    ports: [port("dns", 53, "UDP"), port("dns-tcp", 53), port("liveness-probe", 8080), port("readiness-probe", 8181)],
    livenessProbe: {
      ...httpGet("/health", "liveness-probe"),
      initialDelaySeconds: 60,
      timeoutSeconds: 5,
      successThreshold: 1,
      failureThreshold: 5,
    },
    readinessProbe: httpGet("/ready", "readiness-probe"),
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { add: ["NET_BIND_SERVICE"], drop: ["ALL"] },
      readOnlyRootFilesystem: true,
    },
  };
  const podAffinityTerm = {
    labelSelector: { matchExpressions: [{ key: "k8s-app", operator: "In", values: ["kube-dns"] }] },
    topologyKey: "kubernetes.io/hostname",
  };
  return {
    spec: {
      replicas: 2,
      strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 1 } },
      selector: { matchLabels: DNS_LABELS },
      template: {
        metadata: { labels: DNS_LABELS },
        spec: {
          priorityClassName: "system-cluster-critical",
          serviceAccountName: "coredns",
          affinity: {
            podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, podAffinityTerm }] },
          },
          tolerations: [
            { key: "CriticalAddonsOnly", operator: "Exists" },
            { key: "node-role.kubernetes.io/control-plane", effect: "NoSchedule" },
          ],
          nodeSelector: LINUX,
          containers: [container],
          dnsPolicy: "Default",
          volumes: [
            { name: "config-volume", configMap: { name: "coredns", items: [{ key: "Corefile", path: "Corefile" }] } },
          ],
        },
      },
    },
  };
}

/** Differs: a container represents its node's proxy, which runs in the node's process; it mounts nothing. */
function kubeProxy({ kubeVersion, runsIn }: AddonOptions) {
  const container = {
    name: "kube-proxy",
    image: `registry.k8s.io/kube-proxy:v${kubeVersion}.0`,
    imagePullPolicy: "IfNotPresent",
    command: ["/usr/local/bin/kube-proxy", "--hostname-override=$(NODE_NAME)"],
    env: [
      { name: "NODE_NAME", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } },
      { name: "KUBELAB_RUNS_IN", value: runsIn },
    ],
  };
  return {
    spec: {
      selector: { matchLabels: PROXY_LABELS },
      updateStrategy: { type: "RollingUpdate" },
      template: {
        metadata: { labels: PROXY_LABELS },
        spec: {
          priorityClassName: "system-node-critical",
          containers: [container],
          hostNetwork: true,
          serviceAccountName: "kube-proxy",
          tolerations: [{ key: "CriticalAddonsOnly", operator: "Exists" }, { operator: "Exists" }],
          nodeSelector: LINUX,
        },
      },
    },
  };
}
