import type { KubeObject } from "../../../../../src/staging/apimachinery/api/meta.js";

/** An object that both servers store. */
export interface Sample {
  readonly resource: string;
  readonly apiVersion: string;
  /** the version in which kube-apiserver 1.20 serves it, if that is another */
  readonly oldApiVersion?: string;
  readonly isClusterScoped?: boolean;
  readonly object: Omit<KubeObject, "apiVersion" | "metadata">;
}

const labels = { app: "web" };
const container = {
  name: "app",
  image: "nginx:1.25",
  ports: [{ containerPort: 80, name: "http" }],
  env: [
    { name: "A", value: "1" },
    { name: "POD", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
  ],
  resources: { requests: { cpu: "100m", memory: "64Mi" }, limits: { memory: "128Mi" } },
  livenessProbe: { httpGet: { path: "/", port: "http" }, periodSeconds: 7 },
  volumeMounts: [{ name: "data", mountPath: "/data" }],
};
const template = {
  metadata: { labels },
  spec: { containers: [container], volumes: [{ name: "data", emptyDir: {} }], nodeSelector: { disk: "ssd" } },
};
const jobTemplate = { metadata: { labels }, spec: { ...template.spec, restartPolicy: "OnFailure" } };
const workload = { replicas: 3, selector: { matchLabels: labels }, template };
const rules = [{ apiGroups: ["apps"], resources: ["deployments"], verbs: ["get", "list"], resourceNames: ["web"] }];
const subjects = [{ kind: "ServiceAccount", name: "robot", namespace: "default" }];
const roleRef = (kind: string) => ({ apiGroup: "rbac.authorization.k8s.io", kind, name: "sample" });
const TIME = "2026-01-02T03:04:05.678901Z";

/** One of each kind that can be stored by both, with values of many types. */
export const SAMPLES: readonly Sample[] = [
  {
    resource: "configmaps",
    apiVersion: "v1",
    object: { kind: "ConfigMap", data: { a: "ä\n" }, binaryData: { b: "AAEC" } },
  },
  { resource: "secrets", apiVersion: "v1", object: { kind: "Secret", type: "Opaque", data: { password: "c2VjcmV0" } } },
  {
    resource: "serviceaccounts",
    apiVersion: "v1",
    object: { kind: "ServiceAccount", imagePullSecrets: [{ name: "pull" }] },
  },
  {
    resource: "services",
    apiVersion: "v1",
    object: {
      kind: "Service",
      spec: { type: "NodePort", selector: labels, ports: [{ name: "http", port: 80, targetPort: "http" }] },
    },
  },
  {
    resource: "endpoints",
    apiVersion: "v1",
    object: {
      kind: "Endpoints",
      subsets: [{ addresses: [{ ip: "10.1.2.3", nodeName: "n" }], ports: [{ port: 8080 }] }],
    },
  },
  {
    resource: "pods",
    apiVersion: "v1",
    object: {
      kind: "Pod",
      spec: { ...template.spec, serviceAccountName: "sample", automountServiceAccountToken: false },
    },
  },
  { resource: "podtemplates", apiVersion: "v1", object: { kind: "PodTemplate", template } },
  {
    resource: "replicationcontrollers",
    apiVersion: "v1",
    object: { kind: "ReplicationController", spec: { replicas: 1, selector: labels, template } },
  },
  {
    resource: "limitranges",
    apiVersion: "v1",
    object: {
      kind: "LimitRange",
      spec: { limits: [{ type: "Container", max: { cpu: "2" }, default: { cpu: "500m" } }] },
    },
  },
  { resource: "resourcequotas", apiVersion: "v1", object: { kind: "ResourceQuota", spec: { hard: { pods: "10" } } } },
  {
    resource: "events",
    apiVersion: "v1",
    object: {
      kind: "Event",
      involvedObject: { kind: "Pod", namespace: "default", name: "web" },
      reason: "Test",
      message: "a message",
      type: "Normal",
      count: 3,
      firstTimestamp: "2026-01-02T03:04:05Z",
      eventTime: TIME,
      reportingComponent: "test",
      reportingInstance: "test-1",
      action: "Testing",
    },
  },
  { resource: "namespaces", apiVersion: "v1", isClusterScoped: true, object: { kind: "Namespace" } },
  {
    resource: "nodes",
    apiVersion: "v1",
    isClusterScoped: true,
    object: { kind: "Node", spec: { podCIDR: "10.244.9.0/24", taints: [{ key: "a", effect: "NoSchedule" }] } },
  },
  {
    resource: "persistentvolumes",
    apiVersion: "v1",
    isClusterScoped: true,
    object: {
      kind: "PersistentVolume",
      spec: { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], hostPath: { path: "/data" } },
    },
  },
  {
    resource: "persistentvolumeclaims",
    apiVersion: "v1",
    object: {
      kind: "PersistentVolumeClaim",
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, storageClassName: "sample" },
    },
  },
  {
    resource: "deployments",
    apiVersion: "apps/v1",
    object: { kind: "Deployment", spec: { ...workload, minReadySeconds: 2 } },
  },
  { resource: "replicasets", apiVersion: "apps/v1", object: { kind: "ReplicaSet", spec: workload } },
  {
    resource: "statefulsets",
    apiVersion: "apps/v1",
    object: { kind: "StatefulSet", spec: { ...workload, serviceName: "web" } },
  },
  {
    resource: "daemonsets",
    apiVersion: "apps/v1",
    object: { kind: "DaemonSet", spec: { selector: { matchLabels: labels }, template } },
  },
  {
    resource: "controllerrevisions",
    apiVersion: "apps/v1",
    object: { kind: "ControllerRevision", revision: 7, data: { spec: { any: ["thing", 1] } } },
  },
  {
    resource: "jobs",
    apiVersion: "batch/v1",
    object: { kind: "Job", spec: { completions: 2, template: jobTemplate } },
  },
  {
    resource: "cronjobs",
    apiVersion: "batch/v1",
    oldApiVersion: "batch/v1beta1",
    object: { kind: "CronJob", spec: { schedule: "*/5 * * * *", jobTemplate: { spec: { template: jobTemplate } } } },
  },
  {
    resource: "horizontalpodautoscalers",
    apiVersion: "autoscaling/v1",
    object: {
      kind: "HorizontalPodAutoscaler",
      spec: {
        scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "sample" },
        minReplicas: 2,
        maxReplicas: 5,
        targetCPUUtilizationPercentage: 70,
      },
    },
  },
  {
    resource: "poddisruptionbudgets",
    apiVersion: "policy/v1",
    oldApiVersion: "policy/v1beta1",
    object: { kind: "PodDisruptionBudget", spec: { maxUnavailable: "25%", selector: { matchLabels: labels } } },
  },
  {
    resource: "ingresses",
    apiVersion: "networking.k8s.io/v1",
    object: {
      kind: "Ingress",
      spec: {
        ingressClassName: "sample",
        defaultBackend: { service: { name: "web", port: { number: 80 } } },
        tls: [{ hosts: ["a.example"], secretName: "tls" }],
        rules: [
          {
            host: "a.example",
            http: {
              paths: [
                { path: "/x", pathType: "Prefix", backend: { service: { name: "web", port: { name: "http" } } } },
              ],
            },
          },
        ],
      },
    },
  },
  {
    resource: "ingressclasses",
    apiVersion: "networking.k8s.io/v1",
    isClusterScoped: true,
    object: { kind: "IngressClass", spec: { controller: "example.com/ingress" } },
  },
  {
    resource: "networkpolicies",
    apiVersion: "networking.k8s.io/v1",
    object: {
      kind: "NetworkPolicy",
      spec: { podSelector: { matchLabels: labels }, ingress: [{ ports: [{ port: 80 }] }], policyTypes: ["Ingress"] },
    },
  },
  { resource: "roles", apiVersion: "rbac.authorization.k8s.io/v1", object: { kind: "Role", rules } },
  {
    resource: "rolebindings",
    apiVersion: "rbac.authorization.k8s.io/v1",
    object: { kind: "RoleBinding", subjects, roleRef: roleRef("Role") },
  },
  {
    resource: "clusterroles",
    apiVersion: "rbac.authorization.k8s.io/v1",
    isClusterScoped: true,
    object: { kind: "ClusterRole", rules },
  },
  {
    resource: "clusterrolebindings",
    apiVersion: "rbac.authorization.k8s.io/v1",
    isClusterScoped: true,
    object: { kind: "ClusterRoleBinding", subjects, roleRef: roleRef("ClusterRole") },
  },
  {
    resource: "leases",
    apiVersion: "coordination.k8s.io/v1",
    object: {
      kind: "Lease",
      spec: { holderIdentity: "a", leaseDurationSeconds: 15, acquireTime: TIME, renewTime: TIME, leaseTransitions: 1 },
    },
  },
  {
    resource: "endpointslices",
    apiVersion: "discovery.k8s.io/v1",
    oldApiVersion: "discovery.k8s.io/v1beta1",
    object: {
      kind: "EndpointSlice",
      addressType: "IPv4",
      endpoints: [{ addresses: ["10.1.2.3"], conditions: { ready: true }, hostname: "h" }],
      ports: [{ name: "http", protocol: "TCP", port: 80 }],
    },
  },
  {
    resource: "priorityclasses",
    apiVersion: "scheduling.k8s.io/v1",
    isClusterScoped: true,
    object: { kind: "PriorityClass", value: 1000, description: "a class" },
  },
  {
    resource: "runtimeclasses",
    apiVersion: "node.k8s.io/v1",
    isClusterScoped: true,
    object: { kind: "RuntimeClass", handler: "runc" },
  },
  {
    resource: "storageclasses",
    apiVersion: "storage.k8s.io/v1",
    isClusterScoped: true,
    object: { kind: "StorageClass", provisioner: "example.com/disk", parameters: { type: "fast" } },
  },
];
