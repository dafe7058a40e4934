import type { KubeObject } from "../../staging/apimachinery/api/meta.js";

export interface StaticPodsOptions {
  /** `1.25` */
  readonly kubeVersion: string;
  /** `https://127.0.0.1:PORT`: the API server */
  readonly url: string;
  /** the servers of the etcd that has the cluster's state; absent: it is in memory, and no other server shares it */
  readonly etcd?: readonly string[];
  /** where the components run: `process 123 of this machine` */
  readonly runsIn: string;
}

/** A static pod's requests for CPU. */
const CPU = { "kube-apiserver": "250m", "kube-controller-manager": "200m", "kube-scheduler": "100m" } as const;
type Component = keyof typeof CPU;

/**
 * The control plane's static pods, as kubeadm writes them, with the flags that hold for this cluster.
 *
 * Mirrors cmd/kubeadm/app/phases/controlplane/manifests.go (GetStaticPodSpecs). Differs: a container represents its component, which runs
 * in the process of the cluster. Only the API server has a port of its own, and therefore probes; the health of the other two is in
 * `kubectl get componentstatuses`. No certificates are mounted, because they are not files.
 */
export function controlPlanePods({ kubeVersion, url, etcd, runsIn }: StaticPodsOptions): readonly KubeObject[] {
  const port = Number(new URL(url).port);
  const flags: Readonly<Record<Component, readonly string[]>> = {
    "kube-apiserver": [
      "--advertise-address=127.0.0.1",
      "--authorization-mode=Node,RBAC",
      "--enable-admission-plugins=NodeRestriction",
      "--enable-bootstrap-token-auth=true",
      ...(etcd === undefined ? [] : [`--etcd-servers=${etcd.join(",")}`]),
      `--secure-port=${port}`,
      "--service-cluster-ip-range=10.96.0.0/12",
    ],
    "kube-controller-manager": [
      "--allocate-node-cidrs=true",
      "--cluster-cidr=10.244.0.0/16",
      "--cluster-name=kubernetes",
      "--controllers=*,bootstrapsigner,tokencleaner",
      ...(etcd === undefined ? [] : ["--leader-elect=true"]),
      "--service-cluster-ip-range=10.96.0.0/12",
      "--use-service-account-credentials=true",
    ],
    "kube-scheduler": [`--leader-elect=${etcd !== undefined}`],
  };
  return (Object.keys(CPU) as Component[]).map((name) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace: "kube-system",
      labels: { component: name, tier: "control-plane" },
      ...(name === "kube-apiserver"
        ? { annotations: { "kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint": `127.0.0.1:${port}` } }
        : {}),
    },
    spec: {
      containers: [
        {
          name,
          image: `registry.k8s.io/${name}:v${kubeVersion}.0`,
          imagePullPolicy: "IfNotPresent",
          command: [name, ...flags[name]],
          env: [{ name: "KUBELAB_RUNS_IN", value: runsIn }],
          resources: { requests: { cpu: CPU[name] } },
          ...(name === "kube-apiserver" ? probes(port) : {}),
        },
      ],
      hostNetwork: true,
      priority: 2_000_001_000,
      priorityClassName: "system-node-critical",
      securityContext: { seccompProfile: { type: "RuntimeDefault" } },
    },
  }));
}

/** Mirrors LivenessProbe, ReadinessProbe and StartupProbe in cmd/kubeadm/app/util/staticpod/utils.go. */
function probes(port: number) {
  const probe = (path: string, failureThreshold: number, periodSeconds: number) => ({
    failureThreshold,
    httpGet: { host: "127.0.0.1", path, port, scheme: "HTTPS" },
    periodSeconds,
    timeoutSeconds: 15,
  });
  return {
    livenessProbe: { ...probe("/livez", 8, 10), initialDelaySeconds: 10 },
    readinessProbe: probe("/readyz", 3, 1),
    startupProbe: { ...probe("/livez", 24, 10), initialDelaySeconds: 10 },
  };
}
