import type { Shape } from "./shape.js";

/**
 * The types of a pod's fields, as far as this kubelet reads them.
 * Mirrors k8s.io/api/core/v1/types.go (PodSpec, Container, Volume, ...).
 */

const TEXTS: Shape = ["text"];
const TEXT_MAP: Shape = { "*": "text" };
const QUANTITIES: Shape = { "*": "quantity" };
const KEY_REF: Shape = { name: "text", key: "text", optional: "boolean" };
const NAME_REF: Shape = { name: "text", optional: "boolean" };
const FIELD_REF: Shape = { apiVersion: "text", fieldPath: "text" };
const RESOURCE_REF: Shape = { containerName: "text", resource: "text", divisor: "quantity" };

const ENV: Shape = {
  name: "text",
  value: "text",
  valueFrom: { fieldRef: FIELD_REF, resourceFieldRef: RESOURCE_REF, configMapKeyRef: KEY_REF, secretKeyRef: KEY_REF },
};

const HANDLER: { readonly [field: string]: Shape } = {
  exec: { command: TEXTS },
  httpGet: {
    path: "text",
    port: "number-or-text",
    host: "text",
    scheme: "text",
    httpHeaders: [{ name: "text", value: "text" }],
  },
  tcpSocket: { port: "number-or-text", host: "text" },
};

const PROBE: Shape = {
  ...HANDLER,
  grpc: { port: "integer", service: "text" },
  initialDelaySeconds: "integer",
  timeoutSeconds: "integer",
  periodSeconds: "integer",
  successThreshold: "integer",
  failureThreshold: "integer",
  terminationGracePeriodSeconds: "integer",
};

const SECURITY_CONTEXT: { readonly [field: string]: Shape } = {
  runAsUser: "integer",
  runAsGroup: "integer",
  runAsNonRoot: "boolean",
  seccompProfile: { type: "text", localhostProfile: "text" },
  seLinuxOptions: TEXT_MAP,
};

const CONTAINER: Shape = {
  name: "text",
  image: "text",
  command: TEXTS,
  args: TEXTS,
  workingDir: "text",
  ports: [{ name: "text", hostPort: "integer", containerPort: "integer", protocol: "text", hostIP: "text" }],
  envFrom: [{ prefix: "text", configMapRef: NAME_REF, secretRef: NAME_REF }],
  env: [ENV],
  resources: { limits: QUANTITIES, requests: QUANTITIES },
  volumeMounts: [
    {
      name: "text",
      readOnly: "boolean",
      mountPath: "text",
      subPath: "text",
      subPathExpr: "text",
      mountPropagation: "text",
    },
  ],
  livenessProbe: PROBE,
  readinessProbe: PROBE,
  startupProbe: PROBE,
  lifecycle: { postStart: HANDLER, preStop: HANDLER },
  terminationMessagePath: "text",
  terminationMessagePolicy: "text",
  imagePullPolicy: "text",
  restartPolicy: "text",
  securityContext: {
    ...SECURITY_CONTEXT,
    privileged: "boolean",
    readOnlyRootFilesystem: "boolean",
    allowPrivilegeEscalation: "boolean",
    capabilities: { add: TEXTS, drop: TEXTS },
  },
  stdin: "boolean",
  stdinOnce: "boolean",
  tty: "boolean",
};

const ITEMS: Shape = [{ key: "text", path: "text", mode: "integer" }];
const DOWNWARD: Shape = {
  defaultMode: "integer",
  items: [{ path: "text", mode: "integer", fieldRef: FIELD_REF, resourceFieldRef: RESOURCE_REF }],
};

const VOLUME: Shape = {
  name: "text",
  emptyDir: { medium: "text", sizeLimit: "quantity" },
  hostPath: { path: "text", type: "text" },
  configMap: { name: "text", items: ITEMS, defaultMode: "integer", optional: "boolean" },
  secret: { secretName: "text", items: ITEMS, defaultMode: "integer", optional: "boolean" },
  downwardAPI: DOWNWARD,
  projected: {
    defaultMode: "integer",
    sources: [
      {
        serviceAccountToken: { audience: "text", expirationSeconds: "integer", path: "text" },
        configMap: { name: "text", items: ITEMS, optional: "boolean" },
        secret: { name: "text", items: ITEMS, optional: "boolean" },
        downwardAPI: DOWNWARD,
      },
    ],
  },
};

const SPEC: Shape = {
  containers: [CONTAINER],
  initContainers: [CONTAINER],
  volumes: [VOLUME],
  restartPolicy: "text",
  terminationGracePeriodSeconds: "integer",
  activeDeadlineSeconds: "integer",
  dnsPolicy: "text",
  dnsConfig: { nameservers: TEXTS, searches: TEXTS, options: [{ name: "text", value: "text" }] },
  nodeSelector: TEXT_MAP,
  serviceAccountName: "text",
  automountServiceAccountToken: "boolean",
  nodeName: "text",
  hostNetwork: "boolean",
  hostPID: "boolean",
  hostIPC: "boolean",
  shareProcessNamespace: "boolean",
  securityContext: {
    ...SECURITY_CONTEXT,
    fsGroup: "integer",
    supplementalGroups: ["integer"],
    sysctls: [{ name: "text", value: "text" }],
  },
  imagePullSecrets: [{ name: "text" }],
  hostname: "text",
  subdomain: "text",
  setHostnameAsFQDN: "boolean",
  schedulerName: "text",
  tolerations: [{ key: "text", operator: "text", value: "text", effect: "text", tolerationSeconds: "integer" }],
  hostAliases: [{ ip: "text", hostnames: TEXTS }],
  priorityClassName: "text",
  priority: "integer",
  runtimeClassName: "text",
  enableServiceLinks: "boolean",
  readinessGates: [{ conditionType: "text" }],
  preemptionPolicy: "text",
  overhead: QUANTITIES,
  os: { name: "text" },
};

/** A manifest as its author wrote it. */
export const POD_SHAPE: Shape = {
  metadata: {
    name: "text",
    generateName: "text",
    namespace: "text",
    uid: "text",
    labels: TEXT_MAP,
    annotations: TEXT_MAP,
  },
  spec: SPEC,
};
